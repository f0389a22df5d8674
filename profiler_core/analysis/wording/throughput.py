"""Tokens or samples per second, in words."""

from profiler_core.analysis.throughput import Throughput
from profiler_core.units import format_rate


def throughput_sentence(baseline: Throughput | None, candidate: Throughput | None) -> str:
    """Both sides, each with its interval; "" where one has none or they count other things."""
    if baseline is None or candidate is None or baseline.counted != candidate.counted:
        return ""
    return f"{baseline.counted.capitalize()} per second {_rate(baseline)} → {_rate(candidate)}."


def _rate(throughput: Throughput) -> str:
    rate = format_rate(throughput.per_second)
    if throughput.interval is None:
        return rate
    low, high = map(format_rate, throughput.interval)
    return f"{rate} (95 % interval {low} to {high})"

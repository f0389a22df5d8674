"""Measures as text: the page, the report and its Markdown print the same."""

from profiler_core.analysis.measures import Measure
from profiler_core.units import (
    format_change,
    format_count,
    format_duration,
    format_peak,
    format_points,
    format_rate,
    format_ratio,
    format_share,
)


def value_text(measure: Measure, run: int) -> str:
    """The run's value with its unit, or the word in its place; an en dash: not available."""
    value = measure.values[run]
    replacement = measure.word(run)
    if replacement is not None:
        return replacement
    if value is None:
        return "–"
    if measure.unit == "ns":
        return format_duration(value)
    if measure.unit == "bytes":
        return format_peak(value, is_least=measure.is_least(run))
    if measure.unit == "share":
        return format_share(value)
    if measure.unit == "ratio":
        return format_ratio(value)
    return format_rate(value) if measure.unit == "rate" else format_count(value)


def change_text(measure: Measure, run: int) -> str:
    """The change against the baseline: per cent, or points of a share; "" where there is none."""
    value, base = measure.values[run], measure.values[0]
    if measure.comparable and not measure.comparable[run]:
        return ""
    if measure.unit == "share":
        if value is None or base is None:
            return ""
        return format_points(value - base)
    if measure.unit == "ratio":
        return ""
    ratio = measure.change(run)
    return "" if ratio is None else format_change(ratio)

"""Findings about the state of the GPU and of the process: throttled, clocks apart, host at work."""

from profiler_core.analysis.finding_rules.facts import Facts, Finding, Rule
from profiler_core.analysis.telemetry.clock_events import ClockEvent
from profiler_core.analysis.telemetry.fairness import MOST_APART
from profiler_core.analysis.what_if.change import Change
from profiler_core.analysis.wording.telemetry import clock_event
from profiler_core.units import format_share

_AT_LIMIT = 0.98  # of the power limit: the regulator keeps a little below it
_THREAD_BUSY_PCT = 90.0  # of one core; a Python thread that never waits reaches 95 to 100
_GPU_WAITS_PCT = 80.0  # below: a host that spins in a synchronisation has a busy GPU beside it


def clocks_differ(facts: Facts) -> Finding | None:
    """The two runs of a comparison had clocks more than 3 % apart."""
    judged = facts.comparison.fairness if facts.comparison else None
    if judged is None or facts.comparison is None:
        return None
    apart = [
        f"{clocks.clock} {clocks.mhz[0]:.0f} MHz ({facts.comparison.baseline_label}) and "
        f"{clocks.mhz[1]:.0f} MHz ({facts.comparison.label})"
        for clocks in judged.clocks_apart
    ]
    if not apart:
        return None
    return Finding(
        key="clocks_differ",
        title="The comparison is not a fair one: the clocks of the two runs differ.",
        evidence=f"{'; '.join(apart)}; at most {format_share(MOST_APART)} apart is fair.",
        advice="Lock the clocks (nvidia-smi -lgc, -lmc) or let the GPU cool down, and capture both "
        "again in one capture.",
        page="telemetry",
        weight="first",
    )


def throttled(facts: Facts) -> Finding | None:
    """Heat or the hardware held the clocks back."""
    events = _events(facts, "thermal", "hardware")
    sampled = facts.telemetry
    if sampled is None or not events:
        return None
    at_most = None
    if sampled.sm_clock_mhz and sampled.sm_clock_max_mhz:
        at_most = facts.step_ns * max(0.0, 1 - sampled.sm_clock_mhz / sampled.sm_clock_max_mhz)
    temperature = (
        f"; up to {sampled.temperature_max_c:.0f} °C"
        if sampled.temperature_max_c is not None
        else ""
    )
    return Finding(
        key="throttled",
        change=Change("full_clocks"),
        title="The GPU was throttled while this run was measured.",
        evidence=f"{_events_text(events)}{_clock(facts)}{temperature}.",
        advice="See to the cooling and to who else uses this machine, then capture again.",
        page="telemetry",
        prediction=facts.at_most(
            at_most, "which part of the step follows the clock is not in the samples"
        )
        if at_most
        else None,
        weight="first",
    )


def power_cap(facts: Facts) -> Finding | None:
    """The power limit held the clocks back, or the GPU drew all that it may."""
    sampled = facts.telemetry
    if sampled is None:
        return None
    events = _events(facts, "power")
    limit, power = sampled.power_limit_w, sampled.power_w
    at_limit = limit is not None and power is not None and power >= _AT_LIMIT * limit
    if not events and not at_limit:
        return None
    power_used = (
        f"{power:.0f} W of {limit:.0f} W allowed"
        if power is not None and limit is not None
        else "the power limit was reached"
    )
    reasons = f"; {_events_text(events)}" if events else ""
    return Finding(
        key="power_cap",
        title="The GPU ran at its power limit.",
        evidence=f"{power_used}{reasons}{_clock(facts)}.",
        advice="Compare runs under the same limit (nvidia-smi -pl); fewer bytes moved and smaller "
        "types leave more power for the clocks.",
        page="telemetry",
        weight="note",
    )


def host_thread_busy(facts: Facts) -> Finding | None:
    """One thread of the process never rests while the GPU does."""
    sampled = facts.telemetry
    host = sampled.host if sampled else None
    if sampled is None or host is None or sampled.utilization_gpu_pct is None:
        return None
    busiest, busy = host.busiest_thread_pct, sampled.utilization_gpu_pct
    if busiest is None or busiest < _THREAD_BUSY_PCT or busy >= _GPU_WAITS_PCT:
        return None
    mode = "mode='reduce-overhead', " if facts.graphs_may_help else ""
    return Finding(
        key="host_thread_busy",
        title="One thread of the host is always at work while the GPU waits.",
        evidence=f"Busiest thread {busiest:.0f} % of a core, GPU busy {busy:.0f} % of the time "
        "(NVML), without the profiler.",
        advice=f"Give the GPU more to do for each call: a larger batch, {mode}fewer graph breaks.",
        page="telemetry",
        weight="note",
    )


def _events(facts: Facts, *kinds: str) -> list[ClockEvent]:
    events = facts.telemetry.throttling if facts.telemetry else ()
    return [event for event in events if event.kind in kinds]


def _events_text(events: list[ClockEvent]) -> str:
    return "; ".join(map(clock_event, events))


def _clock(facts: Facts) -> str:
    sampled = facts.telemetry
    if sampled is None or sampled.sm_clock_mhz is None:
        return ""
    maximum = f" of {sampled.sm_clock_max_mhz:.0f}" if sampled.sm_clock_max_mhz else ""
    return f"; SM clock {sampled.sm_clock_mhz:.0f}{maximum} MHz"


PLACE = 190
RULES: tuple[Rule, ...] = (clocks_differ, throttled, power_cap, host_thread_busy)

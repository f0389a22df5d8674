"""Findings about backends with an engine of their own: what is opaque, what fell back."""

from profiler_core.analysis.engines import engine_name
from profiler_core.analysis.finding_rules.facts import Facts, Finding, Rule
from profiler_core.units import format_duration, format_share_of

# An engine with less of the step than this hides little.
_MUCH = 0.5


def engine_fell_back(facts: Facts) -> Finding | None:
    """Parts of the model that the backend was given and did not run."""
    engine = facts.record.measurement.engine if facts.record.measurement else None
    if engine is None or not engine.n_fell_back:
        return None
    n = engine.n_fell_back
    reasons = "; ".join(engine.reasons[:2]) or "It gave no reason"
    return Finding(
        key="engine_fell_back",
        title=f"Part of the model did not run in {engine.backend}.",
        evidence=f"{n} part{'s' if n > 1 else ''} fell back to PyTorch or Inductor: {reasons}.",
        advice=f"Replace the operators that {engine.backend} does not take, or keep them out of "
        "its graph; its measured time holds both.",
        page="fusion",
        weight="first",
    )


def engine_opaque(facts: Facts) -> Finding | None:
    """Most of the step lies in calls that no trace can look into."""
    calls = facts.kernels("engine")
    time = facts.per_step(calls)
    device = facts.summary.per_step(facts.pace * facts.summary.kernel_time_ns)
    if not calls or device <= 0 or time < _MUCH * device:
        return None
    n = facts.summary.per_step(sum(call.n for call in calls))
    names = ", ".join(dict.fromkeys(engine_name(kernel.name) for kernel in calls))
    return Finding(
        key="engine_opaque",
        title=f"What {names} does inside is not in the trace.",
        evidence=f"{n:.0f} call{'s' if round(n) != 1 else ''} of it {facts.span}, "
        f"{format_share_of(time, device)} of the profiled work, {format_duration(time)} "
        f"{facts.span}. Step time, numerics, graph breaks and what was replaced are measured; "
        "which operator takes which time, how it was fused and the bytes it moves are not.",
        advice=f"Compare step times; for the inside use {names}'s own profiler.",
        page="fusion",
        weight="note",
    )


PLACE = 170
RULES: tuple[Rule, ...] = (engine_fell_back, engine_opaque)

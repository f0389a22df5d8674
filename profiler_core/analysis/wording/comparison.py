"""What stands beside the figures of a comparison, on a page and in a report alike."""

from collections.abc import Sequence

from profiler_core.analysis.ledger.folding import FoldedGroup
from profiler_core.analysis.ledger.result import FusionLedger
from profiler_core.analysis.side import Side
from profiler_core.analysis.span import IN_TRACE, PER_STEP, Span
from profiler_core.analysis.step_parts import StepParts
from profiler_core.analysis.waterfall import Waterfall
from profiler_core.analysis.wording.sentence import capitalised
from profiler_core.units import format_difference, format_duration, format_share

_CLOCK = {
    "unprofiled": "timed without the profiler",
    "profiled": "on the profiler's clock",
}


# In place of the numbers side by side, where there are none.
NO_NUMBERS = "What is left of a cut trace has no number of a whole step."


def why_no_step_bars(sides: Sequence[Side]) -> str:
    """In place of the bars of the steps, where no run has a whole trace to make them of."""
    what = "whole trace" if any(side.summary is not None for side in sides) else "trace"
    who = "The run has no" if len(sides) == 1 else "No run has a"
    return f"{who} {what}, so where the time went is unknown."


def step_bars_alt(labels: Sequence[str], parts: Sequence[StepParts]) -> str:
    """The bars of the steps, for whoever does not see them."""
    return "; ".join(
        f"{label}: {format_duration(p.step_ns)} "
        f"{IN_TRACE if p.is_whole_trace else PER_STEP}, "
        f"idle {format_duration(p.idle_ns)}"
        for label, p in zip(labels, parts, strict=True)
    )


def difference_note(result: Waterfall, labels: tuple[str, str]) -> str:
    """What the waterfall begins and ends with."""
    before, after = format_duration(result.baseline_ns), format_duration(result.candidate_ns)
    times = f"A step takes {before} in {labels[0]} and {after} in {labels[1]}"
    if result.span == IN_TRACE:
        times = f"The trace of {labels[0]} lasts {before} and that of {labels[1]} {after}"
    return f"{times}, {_CLOCK[result.clock]}; the bars between add up to the difference exactly."


def waterfall_alt(result: Waterfall) -> str:
    """The bars of the waterfall, for whoever does not see them."""
    changes = "; ".join(
        f"{row.label} {format_difference(row.delta_ns)}" for row in result.rows if row.delta_ns
    )
    return f"From {format_duration(result.baseline_ns)} {result.span}: {changes}."


def fusion_note(ledger: FusionLedger, labels: tuple[str, str], time: str) -> str:
    """What the fusion map shows, and how much of both runs it places.

    Args:
        ledger: of the pair.
        labels: what the two are called.
        time: what their times are: "GPU time".
    """
    return (
        f"{capitalised(time)} {ledger.span}, {labels[0]} left, {labels[1]} right, on one scale. "
        "Groups of the same operators are drawn as one; a ribbon shows what became what. "
        f"{format_share(ledger.coverage_baseline)} of the {time} of {labels[0]} and "
        f"{format_share(ledger.coverage_candidate)} of that of {labels[1]} is placed."
    )


def fusion_alt(groups: Sequence[FoldedGroup], time: str, span: Span) -> str:
    """The fusion map, for whoever does not see it."""
    saved = sum(group.delta_ns for group in groups)
    return f"{len(groups)} kinds of groups; {time} {span} {format_difference(saved)}."

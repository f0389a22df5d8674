"""A notice above the numbers of runs of whose traces an unknown part is missing."""

from profiler_core.analysis.trace_notes import WHAT_IS_LEFT
from profiler_core.analysis.wording.sentence import listed
from profiler_core.ui.choice import Choice
from profiler_core.ui.problem_card import problem_card


def show_cut_traces(choice: Choice) -> tuple[str, ...]:
    """Draw one for all such runs, once the page has read its traces; their labels."""
    comparison = choice.comparison
    cut = tuple(
        label
        for label, run in zip(comparison.labels, comparison.runs, strict=True)
        if run.trace is not None and run.trace.tally.is_cut
    )
    if cut:
        what = (
            f"The trace of {cut[0]} is cut: {WHAT_IS_LEFT}"
            if len(cut) == 1
            else f"The traces of {listed(cut)} are cut: their numbers cover what is left of them, "
            "and cannot be compared with other runs'."
        )
        problem_card(
            what,
            "Record it again, or copy it again if the copy ended early: Kineto writes a file "
            "after the profiled steps, and a process that is killed then leaves a part of it.",
        )
    return cut

"""A notice above the numbers of a run of whose trace an unknown part is missing."""

from profiler_core.analysis.trace_notes import WHAT_IS_LEFT
from profiler_core.ui.choice import Choice
from profiler_core.ui.problem_card import problem_card


def show_cut_traces(choice: Choice) -> bool:
    """Draw it for each such run, once the page has read its traces; True: there is one."""
    comparison = choice.comparison
    is_one_cut = False
    for label, run in zip(comparison.labels, comparison.runs, strict=True):
        if run.trace is not None and run.trace.tally.is_cut:
            problem_card(
                f"The trace of {label} is cut: {WHAT_IS_LEFT}",
                "Record it again, or copy it again if the copy ended early: Kineto writes a file "
                "after the profiled steps, and a process that is killed then leaves a part of it.",
            )
            is_one_cut = True
    return is_one_cut

"""A notice above the numbers of runs of whose traces an unknown part is missing."""

from collections.abc import Sequence

from profiler_core.analysis.trace_notes import WHAT_IS_LEFT
from profiler_core.analysis.wording.sentence import listed
from profiler_core.errors import NothingToAnalyse
from profiler_core.ui.choice import Choice
from profiler_core.ui.problem_card import problem_card

_WHY = (
    "Kineto writes a file after the profiled steps, and a process that is killed then leaves a "
    "part of it."
)


def show_cut_traces(choice: Choice) -> tuple[str, ...]:
    """Draw one for all such runs, once the page has read its traces; their labels."""
    comparison = choice.comparison
    cut = tuple(
        label
        for label, run in zip(comparison.labels, comparison.runs, strict=True)
        if run.trace is not None and run.trace.tally.is_cut
    )
    if cut:
        error = cut_traces(cut)
        problem_card(error.problem, error.remedy)
    return cut


def cut_traces(labels: Sequence[str]) -> NothingToAnalyse:
    """Why these runs are compared with none, and what to do."""
    if len(labels) == 1:
        problem = f"The trace of {labels[0]} is cut: {WHAT_IS_LEFT}"
        remedy = f"Record it again, or copy it again if the copy ended early: {_WHY}"
    else:
        remedy = f"Record them again, or copy them again if a copy ended early: {_WHY}"
        problem = (
            f"The traces of {listed(labels)} are cut: their numbers cover what is left of them, "
            "and cannot be compared with other runs'."
        )
    return NothingToAnalyse(problem, remedy=remedy)

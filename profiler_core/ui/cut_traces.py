"""A notice above the numbers of runs of whose traces an unknown part is missing."""

from collections.abc import Sequence

import streamlit as st

from profiler_core.analysis.trace_notes import WHAT_IS_LEFT
from profiler_core.analysis.wording.sentence import listed
from profiler_core.analysis.wording.without_work import COPY_IT_AGAIN
from profiler_core.errors import NothingToAnalyse
from profiler_core.session.run import Run
from profiler_core.ui.choice import Choice, chosen_keys, entry_of, query_of
from profiler_core.ui.links import page_link
from profiler_core.ui.problem_card import problem_card
from profiler_core.ui.reading import run_of

_WHY = (
    "Kineto writes a file after the profiled steps, and a process that is killed then leaves a "
    "part of it."
)


class CutTraces(NothingToAnalyse):
    """Runs of whose traces a part is missing are compared with none."""


def show_cut_traces(choice: Choice) -> tuple[str, ...]:
    """Draw one for all such runs, once the page has read its traces; their labels."""
    comparison = choice.comparison
    cut = tuple(
        label for label, run in zip(comparison.labels, comparison.runs, strict=True) if _is_cut(run)
    )
    if cut:
        error = cut_traces(cut)
        problem_card(error.problem, error.remedy)
    return cut


def show_what_is_left() -> None:
    """The ways on to the pages that show what is left of the chosen runs' traces.

    Kernels shows whole ones alone where there are any, so that the way there is that of a cut one.
    """
    keys = chosen_keys()
    cut = next((key for key in keys if _is_cut(run_of(entry_of(key)))), keys[0])
    with st.container(horizontal=True, key="fs_way_on_cut"):
        page_link("timeline", "See what is left on Timeline", query_of(keys))
        page_link("kernels", "See what is left on Kernels", query_of((cut,)))


def _is_cut(run: Run) -> bool:
    return run.trace is not None and run.trace.tally.is_cut


def cut_traces(labels: Sequence[str]) -> CutTraces:
    """Why these runs are compared with none, and what to do."""
    if len(labels) == 1:
        problem = f"The trace of {labels[0]} is cut: {WHAT_IS_LEFT}"
        remedy = f"{COPY_IT_AGAIN}: {_WHY}"
    else:
        remedy = f"Record them again, or copy them again if a copy ended early: {_WHY}"
        problem = (
            f"The traces of {listed(labels)} are cut: their numbers cover what is left of them, "
            "and cannot be compared with other runs'."
        )
    return CutTraces(problem, remedy=remedy)

"""The overview of runs that have neither a step time nor a trace with events: what they do have.

Somebody who drops a log or a memory snapshot alone has no verdict to read, and should find the
page that answers from it.
"""

from collections.abc import Mapping
from dataclasses import dataclass

import streamlit as st

from profiler_core.analysis.wording.sentence import listed, of_run
from profiler_core.analysis.wording.without_work import how_to_get_work, what_it_holds
from profiler_core.model.run import RunFiles
from profiler_core.ui.choice import Choice
from profiler_core.ui.headline import show_claim
from profiler_core.ui.links import page_link
from profiler_core.ui.overview.headline import entry_facts, state_sentences
from profiler_core.ui.overview.parts import show_what_is_missing
from profiler_core.ui.printed import show_what_failed_printed


@dataclass(frozen=True)
class _Held:
    what: str
    page: str
    link: str


_SNAPSHOT = _Held("a memory snapshot", "memory", "Where the memory went")
_LOG = _Held("a log of the compiler", "compilation", "What the compiler did")
_COUNTERS = "a table of Nsight Compute"  # which no page shows without a trace
_OPEN_TOGETHER = (
    "Open the table of Nsight Compute together with the trace of its run: its numbers are shown "
    "with the kernels of that."
)
_TELEMETRY = _Held("telemetry", "telemetry", "Clocks, power and energy")


def show_unmeasured(choice: Choice) -> None:
    """Say that nothing was timed, what there is instead, and lead to it."""
    runs = choice.comparison.runs
    sources = list(dict.fromkeys(source for run in runs for source in _held(run.files)))
    has_counters = any(run.files.counters is not None for run in runs)
    available = listed([*(each.what for each in sources), *([_COUNTERS] if has_counters else [])])
    lacking = _without_work(choice)
    show_claim(
        entry_facts(choice.baseline),
        (f"{listed(choice.labels)}: no step was timed",),
        [*_grounds(available, lacking), *([_OPEN_TOGETHER] if has_counters else [])],
        warnings=state_sentences(choice),
    )
    show_what_failed_printed(choice)
    with st.container(horizontal=True, key="fs_way_on"):
        for source in sources:
            page_link(source.page, source.link, choice.query)
        page_link("runs", "Upload a trace")
    show_what_is_missing(choice.comparison, "What is not known", tuple(lacking))


def _without_work(choice: Choice) -> dict[str, str]:
    """Of each run whose trace has nothing to measure what it holds -> how to record it."""
    lacking = [
        (label, run.without_work)
        for label, run in zip(choice.labels, choice.comparison.runs, strict=True)
    ]
    is_one = len(lacking) == 1
    return {
        what_it_holds(trace) if is_one else of_run(label, what_it_holds(trace)): how_to_get_work(
            trace
        )
        for label, trace in lacking
        if trace is not None
    }


def _grounds(available: str, lacking: Mapping[str, str]) -> list[str]:
    """Sentences: which files there are, what their traces hold, and what to do.

    Args:
        available: the files that other pages show; "" for none.
        lacking: as `_without_work` has it.
    """
    if lacking:
        other_files = f"Beside it there is {available}." if available else ""
        return [*lacking, other_files, *dict.fromkeys(lacking.values())]
    return [
        f"There is {available or 'nothing that can be shown'} here, and no trace that can be read: "
        "how long a step takes, and where its time goes, is unknown."
    ]


def _held(run: RunFiles) -> list[_Held]:
    sources = [_SNAPSHOT] if run.memory_snapshot else []
    if run.torch_logs or run.torch_trace:
        sources.append(_LOG)
    if run.nvml or run.host:
        sources.append(_TELEMETRY)
    return sources

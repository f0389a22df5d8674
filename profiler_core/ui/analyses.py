"""The analyses behind the pages, computed once a version of the files and shared by sessions."""

from dataclasses import dataclass
from pathlib import Path

import msgspec
import streamlit as st

from profiler_core.analysis.compare import Comparison, compare, make_side
from profiler_core.analysis.kernel_calls import KernelCalls, kernel_calls
from profiler_core.analysis.shared_categories import with_shared_categories
from profiler_core.analysis.summary import Summary, summarise
from profiler_core.errors import FusionscopeError
from profiler_core.model.run import Measurement
from profiler_core.model.trace import Trace
from profiler_core.store.library import Entry
from profiler_core.ui.choice import Choice
from profiler_core.ui.reading import read_run, read_trace, trace_at, trace_path


@dataclass(frozen=True)
class Looked:
    """A comparison as far as the files allow, and what they did not allow."""

    comparison: Comparison
    problems: tuple[tuple[str, str], ...]  # (label of the run, sentence)


def look_at(choice: Choice) -> Looked:
    """Compare the chosen runs. A run whose trace cannot be read is compared without it."""
    summaries: list[Summary | None] = []
    problems = []
    for label, entry in zip(choice.labels, choice.entries, strict=True):
        summary, problem = _summary_or_problem(entry)
        summaries.append(summary)
        if problem is not None:
            problems.append((label, problem))
    shared = iter(with_shared_categories([s for s in summaries if s is not None]))
    sides = [
        make_side(read_run(entry), None if summary is None else next(shared), label=label)
        for label, entry, summary in zip(choice.labels, choice.entries, summaries, strict=True)
    ]
    return Looked(compare(sides[0], sides[1:]), tuple(problems))


def summary_of(entry: Entry) -> Summary:
    """The numbers of one run's trace.

    Raises:
        NothingToAnalyse: the run has no trace.
        BadInput: the trace cannot be read.
    """
    path = trace_path(entry)
    trace = trace_at(path)  # shows progress, so it stays outside of the cache
    measurement = entry.run.measurement
    return _summary(
        path, path.stat().st_mtime_ns, msgspec.json.encode(measurement), trace, measurement
    )


# The first three arguments are the key; those that begin with _ are not looked at.
@st.cache_resource(max_entries=256, show_spinner=False)
def _summary(
    path: Path, mtime_ns: int, measured: bytes, _trace: Trace, _measurement: Measurement | None
) -> Summary:
    del path, mtime_ns, measured
    return summarise(_trace, _measurement)


def calls_of(entry: Entry, kernel: str) -> KernelCalls:
    """The single calls of one kernel in one run."""
    return kernel_calls(read_trace(entry), kernel)


def _summary_or_problem(entry: Entry) -> tuple[Summary | None, str | None]:
    try:
        if read_run(entry).trace is None:
            return None, None
        return summary_of(entry), None
    except FusionscopeError as error:
        return None, error.problem

"""The analyses behind the pages, computed once a version of the files and shared by sessions."""

from dataclasses import dataclass
from pathlib import Path

import msgspec
import streamlit as st

from profiler_core.analysis.compare import ComparedNumbers, Side, compare, make_side
from profiler_core.analysis.compilation.compile_time import CompileTime, compile_time
from profiler_core.analysis.kernel_calls import KernelCalls, kernel_calls
from profiler_core.analysis.kernel_sides import KernelRow, kernel_sides
from profiler_core.analysis.replayed import known_categories
from profiler_core.analysis.shared_categories import sides_of, with_shared_categories
from profiler_core.analysis.summary import Summary, summarise
from profiler_core.errors import FusionscopeError, NothingToAnalyse
from profiler_core.ingest.version import Version, version_of
from profiler_core.model.run import Measurement
from profiler_core.model.trace import Trace
from profiler_core.store.library import Entry
from profiler_core.ui.choice import Choice
from profiler_core.ui.log_reading import compile_log_of
from profiler_core.ui.problem_card import problem_card
from profiler_core.ui.reading import read_run, read_trace, trace_at, trace_path
from profiler_core.ui.telemetry.reading import telemetry_of


@dataclass(frozen=True)
class Looked:
    """A comparison as far as the files allow, and what they did not allow."""

    comparison: ComparedNumbers
    sides: tuple[Side, ...]  # baseline first; kernels in categories that all runs share
    problems: tuple[tuple[str, str], ...]  # (label of the run, sentence)


def look_at(choice: Choice) -> Looked:
    """Compare the chosen runs. A run whose trace cannot be read is compared without it."""
    sides, problems = [], []
    for label, entry in zip(choice.labels, choice.entries, strict=True):
        summary, problem = _summary_or_problem(entry)
        if problem is not None:
            problems.append((label, problem))
        compiling, unread = _compiling_or_problem(entry)
        if unread is not None:
            problems.append((label, unread))
        run = read_run(entry)
        sides.append(
            make_side(run, summary, label=label, compiling=compiling, telemetry=telemetry_of(run))
        )
    comparison = compare(sides[0], sides[1:])
    return Looked(comparison, sides_of(comparison), tuple(problems))


@dataclass(frozen=True)
class Kernels:
    """The kernels of all runs that have a trace."""

    rows: tuple[KernelRow, ...]
    shown: tuple[tuple[int, Entry, str], ...]  # (place in the choice, run, label), as in rows

    @property
    def labels(self) -> tuple[str, ...]:
        """Names of the runs, as in the rows."""
        return tuple(label for _, _, label in self.shown)


def kernels_of(choice: Choice) -> Kernels:
    """Put the kernels of the chosen runs side by side; runs without a readable trace get a card.

    Raises:
        NothingToAnalyse: why the last one cannot be read, where none can.
    """
    shown, summaries, problems = [], [], []
    for number, (entry, label) in enumerate(zip(choice.entries, choice.labels, strict=True)):
        try:
            summaries.append(summary_of(entry))
            shown.append((number, entry, label))
        except FusionscopeError as error:
            problems.append((error.problem, error.remedy))  # not the error: it holds open files
    # Where no run is left, the last card is the page's own: it says why, and ends the page.
    for problem, remedy in problems if shown else problems[:-1]:
        problem_card(problem, remedy)
    if not shown:
        problem, remedy = problems[-1]
        raise NothingToAnalyse(problem, remedy=remedy)
    shared = [s for s in with_shared_categories(summaries) if s is not None]
    return Kernels(kernel_sides(shared), tuple(shown))


def summary_of(entry: Entry) -> Summary:
    """The numbers of one run's trace.

    Raises:
        NothingToAnalyse: the run has no trace.
        BadInput: the trace cannot be read.
    """
    path = trace_path(entry)
    trace = trace_at(path)  # shows progress, so it stays outside of the cache
    measurement = entry.run.measurement
    return _summary(path, version_of(path), msgspec.json.encode(measurement), trace, measurement)


def known_of(choice: Choice) -> dict[str, str]:
    """Categories of replayed kernels, learnt from all chosen runs, so that all pages say the same.

    Returns:
        As `known_categories`; a run whose trace cannot be read teaches nothing.
    """
    return known_categories(_summary_or_problem(entry)[0] for entry in choice.entries)


# The first three arguments are the key; those that begin with _ are not looked at.
@st.cache_resource(max_entries=256, show_spinner=False)
def _summary(
    path: Path, version: Version, measured: bytes, _trace: Trace, _measurement: Measurement | None
) -> Summary:
    del path, version, measured
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


def _compiling_or_problem(entry: Entry) -> tuple[CompileTime | None, str | None]:
    try:
        return compile_time(compile_log_of(read_run(entry))), None
    except FusionscopeError as error:
        return None, error.problem

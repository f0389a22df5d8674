"""The reports behind the memory page, made once a version of the files and shared by sessions."""

from dataclasses import dataclass
from pathlib import Path

import msgspec
import streamlit as st

from profiler_core.analysis.memory.comparison import MemoryComparison, compare_memory
from profiler_core.analysis.memory.report import MemoryReport, memory_report
from profiler_core.errors import BadInput, FusionscopeError
from profiler_core.ingest.memory_snapshot.open import MODULE, is_cached, load_cached
from profiler_core.ingest.version import Version, versions_of
from profiler_core.model.memory_snapshot import MemorySnapshot
from profiler_core.model.run import Measurement
from profiler_core.model.trace import Trace
from profiler_core.store.library import Entry
from profiler_core.ui.choice import Choice
from profiler_core.ui.fusion.data import fused
from profiler_core.ui.reading import read_run, trace_at
from profiler_core.ui.trace_reader import TraceReaders


@dataclass(frozen=True)
class Remembered:
    """One run's memory, as far as its files go."""

    label: str
    number: int  # 0: the baseline; its place in the choice
    entry: Entry
    report: MemoryReport
    problems: tuple[tuple[str, str], ...]  # (problem, remedy) of files that could not be read


def remembered(choice: Choice, numbers: tuple[int, ...]) -> tuple[Remembered, ...]:
    """The reports of some of the chosen runs; a file that cannot be read is a problem of it."""
    return tuple(_one(number, choice.labels[number], choice.entries[number]) for number in numbers)


def compared(choice: Choice, baseline: Remembered, candidate: Remembered) -> MemoryComparison:
    """The candidate against the baseline, through the ledger where both have a trace."""
    paths = tuple(path for entry in (baseline.entry, candidate.entry) for path in _paths(entry))
    number = candidate.number - 1
    return _compared(paths, versions_of(paths), choice, number, baseline.report, candidate.report)


# Arguments that begin with _ are not part of the key.
@st.cache_resource(max_entries=32, show_spinner=False)
def _compared(
    paths: tuple[Path, ...],
    versions: tuple[Version, ...],
    _choice: Choice,
    _number: int,
    _baseline: MemoryReport,
    _candidate: MemoryReport,
) -> MemoryComparison:
    del paths, versions
    return compare_memory(_baseline, _candidate, lambda: fused(_choice, _number).ledger)


def _one(number: int, label: str, entry: Entry) -> Remembered:
    run = read_run(entry)
    problems: list[tuple[str, str]] = []
    traces: list[Trace | None] = []
    for path in (run.trace, run.trace_stacks):
        try:
            traces.append(None if path is None else trace_at(path))
        except FusionscopeError as error:
            traces.append(None)
            problems.append((f"{label}: {error.problem}", error.remedy))
    snapshot = None
    if run.memory_snapshot is not None:
        try:
            snapshot = _snapshot_at(run.memory_snapshot)
        except FusionscopeError as error:
            problems.append((f"{label}: {error.problem}", error.remedy))
    paths = _paths(entry)
    report = _report(
        paths,
        versions_of(paths),
        msgspec.json.encode(run.record.measurement),
        (traces[0], traces[1], snapshot),
        run.record.measurement,
    )
    return Remembered(label, number, entry, report, tuple(problems))


def _paths(entry: Entry) -> tuple[Path, ...]:
    run = read_run(entry)
    found = (run.trace, run.trace_stacks, run.memory_snapshot, *run.torch_trace)
    return tuple(path for path in found if path is not None)


@st.cache_resource(max_entries=64, show_spinner=False)
def _report(
    paths: tuple[Path, ...],
    versions: tuple[Version, ...],
    measured: bytes,
    _files: tuple[Trace | None, Trace | None, MemorySnapshot | None],
    _measurement: Measurement | None,
) -> MemoryReport:
    del paths, versions, measured
    trace, stacks, snapshot = _files
    return memory_report(trace, stacks, snapshot, _measurement)


def _snapshot_at(path: Path) -> MemorySnapshot:
    """The snapshot in a file; another process reads its pickle the first time.

    Raises:
        BadInput: it is no snapshot, hostile or damaged.
    """
    if not is_cached(path):
        for _ in _readers().read(path):
            continue  # a snapshot has no progress to show: most take less than a second
    return _snapshot(path, path.stat().st_mtime_ns)


@st.cache_resource(show_spinner=False)
def _readers() -> TraceReaders:
    return TraceReaders(MODULE)


@st.cache_resource(max_entries=32, show_spinner=False)
def _snapshot(path: Path, mtime_ns: int) -> MemorySnapshot:
    del mtime_ns
    snapshot = load_cached(path)
    if snapshot is None:
        raise BadInput(
            f"The columns of {path.name} are damaged.", remedy="Reload the page to read it anew."
        )
    return snapshot

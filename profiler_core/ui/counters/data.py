"""Counters of the chosen runs, joined with their traces once a version and shared by sessions.

The columns that are asked for are split off by polars, without Python's lock; what is left to
Python is some milliseconds for a usual file, so it is read here and not in a process of its own.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import streamlit as st

from profiler_core.analysis.counters.estimate import estimated_bytes
from profiler_core.analysis.counters.groups import MeasuredLedger, measured_ledger
from profiler_core.analysis.counters.join import Joined, join
from profiler_core.analysis.counters.kernels import KernelCounters, counters_by_trace_name
from profiler_core.analysis.counters.report import counter_notes, joined_notes
from profiler_core.analysis.ledger.ledger import FusionLedger
from profiler_core.analysis.ledger.sides import LedgerSide
from profiler_core.analysis.work import device_work
from profiler_core.ingest.counters.reader import RunCounters, read_run_counters
from profiler_core.ingest.version import Version, versions_of
from profiler_core.model.inductor import InductorLog
from profiler_core.model.run import RunFiles
from profiler_core.model.trace import Trace
from profiler_core.store.library import Entry
from profiler_core.ui.compilation.data import generated_code
from profiler_core.ui.reading import read_run, read_trace


@dataclass(frozen=True)
class RunMeasured:
    """Counters of one run. None: it has none that belong to its trace; `notes` say why."""

    joined: Joined | None = None
    kernels: Mapping[str, KernelCounters] | None = None  # of a step, by the trace's names
    notes: tuple[str, ...] = ()


def counters_of(run: RunFiles) -> RunCounters:
    """The counters of a run; a damaged file is a problem inside."""
    if run.counters is None:
        return read_run_counters(run)  # no file is opened: it may say why there is none
    return _read(run.counters, run.counters.stat().st_mtime_ns, run)


def measured_run(entry: Entry) -> RunMeasured:
    """The counters of a run beside its trace.

    Raises:
        NothingToAnalyse: the run has no trace.
        BadInput: the trace cannot be read.
    """
    run = read_run(entry)
    found = counters_of(run)
    if run.counters is None or run.trace is None or found.counters is None:
        return RunMeasured(notes=found.problems)
    paths = (run.counters, run.trace, *run.torch_trace)
    code = generated_code(entry)
    return _joined(paths, versions_of(paths), run, read_trace(entry), code)


def measured_groups(ledger: FusionLedger, entries: Sequence[Entry]) -> MeasuredLedger | None:
    """Counters of a ledger's groups; None where neither run has any.

    Args:
        ledger: of the pair.
        entries: the baseline and the candidate.
    """
    left, right = (measured_run(entry).joined for entry in entries)
    return measured_ledger(ledger, left, right) if left or right else None


# Arguments that begin with _ are not part of the key.
@st.cache_resource(max_entries=64, show_spinner=False)
def _read(path: Path, mtime_ns: int, _run: RunFiles) -> RunCounters:
    del path, mtime_ns
    return read_run_counters(_run)


@st.cache_resource(max_entries=64, show_spinner=False)
def _joined(
    paths: tuple[Path, ...],
    versions: tuple[Version, ...],
    _run: RunFiles,
    _trace: Trace,
    _code: InductorLog | None,
) -> RunMeasured:
    del paths, versions
    counters = counters_of(_run).counters
    work = device_work(_trace)
    joined = None if counters is None else join(counters, work)
    if counters is None or joined is None:
        return RunMeasured()
    code = _code if _code and _code.says_something else None
    estimates = estimated_bytes(LedgerSide(_trace, code))
    return RunMeasured(
        joined,
        counters_by_trace_name(joined, work, estimates),
        (*counter_notes(counters), *joined_notes(joined)),
    )

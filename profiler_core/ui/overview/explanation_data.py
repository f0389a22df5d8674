"""Why a candidate differs, made once a version of the files and shared by sessions."""

from pathlib import Path
from typing import cast

import msgspec
import streamlit as st

from profiler_core.analysis.compare import Side
from profiler_core.analysis.compilation.report import compilation_report
from profiler_core.analysis.compilation.skipped_frames import Other, others_of
from profiler_core.analysis.explanation import Explanation, Material, explain
from profiler_core.analysis.findings import Finding, run_findings
from profiler_core.analysis.summary import Summary
from profiler_core.errors import FusionscopeError
from profiler_core.ingest.version import Version, versions_of
from profiler_core.model.compilation import CompileLog
from profiler_core.model.inductor import InductorLog
from profiler_core.model.run import RunFiles
from profiler_core.store.library import Entry
from profiler_core.ui.analyses import Looked
from profiler_core.ui.choice import Choice
from profiler_core.ui.compilation.data import generated_code
from profiler_core.ui.counters.data import counters_of
from profiler_core.ui.fusion.data import fused
from profiler_core.ui.log_reading import compile_log_of
from profiler_core.ui.reading import read_run, read_trace


def explained(choice: Choice, looked: Looked, number: int) -> Explanation:
    """Waterfall, ledger and findings of one candidate; what fails is a note in it.

    Args:
        choice: the runs.
        looked: their comparison.
        number: which candidate.

    Raises:
        BadInput: the trace cannot be read.
    """
    runs = [read_run(entry) for entry in choice.entries]
    paths = tuple(path for run in runs for path in _looked_at(run))
    records = msgspec.json.encode([run.record for run in runs])
    key = (paths, versions_of(paths), records, choice.labels)
    return _explanation(key, number, choice, looked)


def _looked_at(run: RunFiles) -> tuple[Path, ...]:
    """Every file of a run that says something in its waterfall, its ledger or its findings."""
    single = (run.trace, run.trace_stacks, run.counters, run.nvml, run.host)
    return (*(path for path in single if path), *run.torch_logs, *run.torch_trace)


# Arguments that begin with _ are not part of the key.
@st.cache_resource(max_entries=64, show_spinner=False)
def _explanation(
    key: tuple[tuple[Path, ...], tuple[Version, ...], bytes, tuple[str, ...]],
    number: int,
    _choice: Choice,
    _looked: Looked,
) -> Explanation:
    del key
    return explain(
        _looked.comparison,
        number,
        _counted(_choice.baseline, _looked.sides[0]),
        _material(_choice, _looked, number),
        others=_others(_choice, number),
        make_ledger=lambda: fused(_choice, number).ledger,
    )


def _material(choice: Choice, looked: Looked, number: int) -> Material:
    entry = choice.candidates[number]
    readable = looked.comparison.sides[number].summary is not None
    counters = counters_of(read_run(entry))
    return Material(
        read_trace(entry) if readable else None,
        _code(entry),
        _log(entry),
        counters=counters.counters,
        problems=counters.problems,
    )


def _counted(entry: Entry, side: Side) -> Material:
    """The baseline's counters with the trace that they are joined with; nothing without."""
    found = counters_of(read_run(entry))
    if found.counters is None or side.summary is None:
        return Material(problems=found.problems)
    return Material(read_trace(entry), counters=found.counters)


def _others(choice: Choice, number: int) -> tuple[Other, ...]:
    """Only where frames were skipped: nobody else asks what was lost."""
    log = _log(choice.candidates[number])
    if log is None or not log.frame_skips:
        return ()
    told = [
        (label, read_run(entry).record, _log(entry))
        for label, entry in zip(choice.labels, choice.entries, strict=True)
    ]
    return others_of(told, number + 1)


def _log(entry: Entry) -> CompileLog | None:
    """A log that cannot be read is said among the comparison's problems, and costs nothing else."""
    try:
        return compile_log_of(read_run(entry))
    except FusionscopeError:
        return None


def _code(entry: Entry) -> InductorLog | None:
    """None too where it cannot be read: the ledger asks for it itself, and says so."""
    try:
        return generated_code(entry)
    except FusionscopeError:
        return None


def run_found(choice: Choice, looked: Looked) -> tuple[Finding, ...] | None:
    """What stands out in the baseline alone; None: it has no trace that can be read.

    Raises:
        BadInput: the trace cannot be read.
    """
    side = looked.sides[0]
    if side.summary is None:
        return None
    paths = _looked_at(read_run(choice.baseline))
    return _run_found((paths, versions_of(paths)), choice.baseline, side)


@st.cache_resource(max_entries=64, show_spinner=False)
def _run_found(
    key: tuple[tuple[Path, ...], tuple[Version, ...]], _entry: Entry, _side: Side
) -> tuple[Finding, ...]:
    del key
    trace, log, record = read_trace(_entry), _log(_entry), _side.run.record
    report = None
    if log is not None:
        report = compilation_report(log, trace=trace, measurement=record.measurement)
    summary = cast("Summary", _side.summary)
    return run_findings(trace, summary, record, report, _side.telemetry)

"""What the page about compiling reads: logs, reports, kept source lines, generated code."""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import msgspec
import streamlit as st

from profiler_core.analysis.compilation.report import (
    CompilationReport,
    compilation_report,
    says_something,
)
from profiler_core.analysis.compilation.skipped_frames import Other, others_of
from profiler_core.analysis.step_time import step_time_ns
from profiler_core.errors import FusionscopeError
from profiler_core.ingest.inductor.apart import read_inductor_apart
from profiler_core.ingest.kept_sources import read_kept_sources
from profiler_core.ingest.version import Version, versions_of
from profiler_core.model.compilation import CompileLog
from profiler_core.model.inductor import InductorLog
from profiler_core.model.run import RunFiles
from profiler_core.store.library import Entry
from profiler_core.ui.choice import Choice
from profiler_core.ui.log_reading import compile_log_of
from profiler_core.ui.reading import read_run, read_trace


@dataclass(frozen=True)
class Compiled:
    """One run whose compiler said something."""

    label: str
    entry: Entry
    report: CompilationReport
    without_trace: str | None  # why there are no costs; None: there are


def compiled_runs(choice: Choice) -> tuple[Compiled, ...]:
    """The chosen runs that have logs with anything in them, in their order.

    Raises:
        BadInput: a log cannot be read.
    """
    found = []
    for label, entry in zip(choice.labels, choice.entries, strict=True):
        run = read_run(entry)
        log = compile_log_of(run)
        if log is not None and _has_a_page(log):
            baseline = choice.baseline if entry is not choice.baseline else None
            others = _others(choice, entry) if log.frame_skips else ()
            found.append(_report(label, entry, run, log, baseline, others))
    return tuple(found)


def source_lines(entry: Entry, file: str) -> Mapping[int, str]:
    """The lines of `file` that the capture kept, by number; empty where it kept none.

    Only sources.json is read: a path that a log names is never opened.
    """
    path = read_run(entry).sources
    if path is None:
        return {}
    return _sources(path, path.stat().st_mtime_ns).get(file, {})


def generated_code(entry: Entry) -> InductorLog | None:
    """Graphs and generated kernels of a run; None without a structured log."""
    paths = read_run(entry).torch_trace
    return _inductor(paths, versions_of(paths)) if paths else None


def _has_a_page(log: CompileLog) -> bool:
    return bool(says_something(log) or log.perf_hints or log.fusion_decisions)


def _others(choice: Choice, entry: Entry) -> tuple[Other, ...]:
    """The other chosen runs of the same workload, timed."""
    runs = [read_run(one) for one in choice.entries]
    told = [
        (label, run.record, compile_log_of(run))
        for label, run in zip(choice.labels, runs, strict=True)
    ]
    return others_of(told, choice.entries.index(entry))


def _report(
    label: str,
    entry: Entry,
    run: RunFiles,
    log: CompileLog,
    baseline: Entry | None,
    others: tuple[Other, ...],
) -> Compiled:
    ours = step_time_ns(run.record.measurement)
    theirs = step_time_ns(baseline.run.measurement) if baseline else None
    saved = theirs - ours if ours is not None and theirs is not None else None
    trace, reason = None, None
    if run.trace is None:
        reason = "This run has no trace, so nothing here has a price."
    else:
        try:
            trace = read_trace(entry)
        except FusionscopeError as error:
            reason = f"{error.problem} So nothing here has a price."
    paths = (*run.torch_logs, *run.torch_trace, *((run.trace,) if trace else ()))
    measured = msgspec.json.encode(run.record.measurement)
    report = _judged(paths, versions_of(paths), measured, saved, others, log, trace, run)
    return Compiled(label, entry, report, reason)


# Arguments that begin with _ are not part of the key.
@st.cache_resource(max_entries=64, show_spinner=False)
def _judged(
    paths: tuple[Path, ...],
    versions: tuple[Version, ...],
    measured: bytes,
    saved_ns: float | None,
    others: tuple[Other, ...],
    _log: CompileLog,
    _trace: object,
    _run: RunFiles,
) -> CompilationReport:
    del paths, versions, measured
    return compilation_report(
        _log,
        trace=_trace,  # type: ignore[arg-type]  # object: Streamlit would hash a Trace's annotation
        measurement=_run.record.measurement,
        saved_ns=saved_ns,
        others=others,
    )


@st.cache_resource(max_entries=16, show_spinner=False)
def _inductor(paths: tuple[Path, ...], versions: tuple[Version, ...]) -> InductorLog:
    del versions
    return read_inductor_apart(paths)


@st.cache_resource(max_entries=64, show_spinner=False)
def _sources(path: Path, mtime_ns: int) -> dict[str, dict[int, str]]:
    del mtime_ns
    return read_kept_sources(path)

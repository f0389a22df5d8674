"""How pages read the files of a run: in processes of their own, with progress, never here.

Decoding JSON holds Python's lock and would freeze every other session for as long as it takes,
so a trace that is met for the first time is read by a subprocess (`trace_reader.py`) that writes
columns; this process only maps those.
"""

from collections.abc import Sequence
from pathlib import Path
from typing import TypeVar

import msgspec
import streamlit as st

from profiler_core.analysis.ranks.job import Job
from profiler_core.errors import BadInput, NothingToAnalyse
from profiler_core.ingest import open as traces
from profiler_core.ingest.compile_log.reader import read_compile_log
from profiler_core.ingest.logs_apart import read_compile_log_apart, read_inductor_apart
from profiler_core.ingest.memory_snapshot import open as snapshots
from profiler_core.ingest.run import open_run
from profiler_core.model.compilation import CompileLog
from profiler_core.model.inductor import InductorLog
from profiler_core.model.memory_snapshot import MemorySnapshot
from profiler_core.model.run import RunFiles
from profiler_core.model.trace import Trace
from profiler_core.ranks.find import RankFiles
from profiler_core.ranks.job_cache import cached_job
from profiler_core.session.run import Run
from profiler_core.store.library import Entry
from profiler_core.ui.problem_card import escape_markdown
from profiler_core.ui.trace_reader import TraceReaders
from profiler_core.units import format_bytes
from profiler_core.worker.protocol import Progress

Columns = TypeVar("Columns", Trace, MemorySnapshot)

# Nobody can capture again what came from elsewhere without its trace.
_HOW_TO_GET_A_TRACE = {
    "upload": "Upload it once more together with its trace, or choose another run.",
    "path": "Put its trace beside its other files, or choose another run.",
}


class PageReading:
    """The reading of every Run that a page looks at (`session.reading.Reading`)."""

    def bring_trace(self, path: Path) -> None:
        """Draw progress while a subprocess reads the trace for the first time."""
        if traces.is_cached(path):
            return
        bar = st.empty()
        for progress in TraceReaders().read(path):
            bar.progress(progress.share, text=_sentence(path, progress))
        bar.empty()

    def trace(self, path: Path) -> Trace:
        """Map the trace's columns."""
        return _mapped(traces.load_cached(path), path)

    def bring_snapshot(self, path: Path) -> None:
        """Wait for the process that reads a snapshot's pickle for the first time."""
        if not snapshots.is_cached(path):
            for _ in TraceReaders(snapshots.MODULE).read(path):
                continue  # a snapshot has no progress to show: most take less than a second

    def snapshot(self, path: Path) -> MemorySnapshot:
        """Map the snapshot's columns."""
        return _mapped(snapshots.load_cached(path), path)

    def compile_log(self, files: RunFiles) -> CompileLog | None:
        """What the compiler said; large logs are read by a subprocess."""
        return read_compile_log(files, read_compile_log_apart)

    def code(self, paths: Sequence[Path]) -> InductorLog:
        """Graphs and kernels; large logs are read by a subprocess."""
        return read_inductor_apart(paths)

    def bring_job(self, source: str, rank_files: RankFiles) -> None:
        """Draw progress while a subprocess combines the ranks for the first time."""
        if cached_job(rank_files) is not None:
            return
        bar = st.empty()
        for progress in TraceReaders("profiler_core.ranks").read(Path(source)):
            n_read, total = progress.done or 0, progress.total or len(rank_files.files)
            text = f"Reading {n_read} of {total} ranks of {rank_files.name.replace('`', '')}"
            if progress.stage == "queued":
                text = escape_markdown(progress.text)
            bar.progress(progress.share, text=text)
        bar.empty()

    def job(self, rank_files: RankFiles) -> Job:
        """As the subprocess left it."""
        job = cached_job(rank_files)
        if job is None:
            raise BadInput(
                f"The ranks of {rank_files.name} could not be kept.", remedy="Reload the page."
            )
        return job


_PAGE_READING = PageReading()


def run_of(entry: Entry) -> Run:
    """The run behind an entry, with its record as the library sees it.

    Raises:
        NotARun: nothing that can be read lies there any more.
    """
    files = msgspec.structs.replace(open_run(entry.path), record=entry.full_run)
    return Run(files, reading=_PAGE_READING)


def read_trace(entry: Entry) -> Trace:
    """The trace of a run; shows progress while a subprocess reads it for the first time.

    Raises:
        NothingToAnalyse: the run has no trace.
        BadInput: the file is no trace, or exceeds a limit.
    """
    run = run_of(entry)
    trace_path(entry, run)
    return run.required_trace()


def trace_path(entry: Entry, run: Run | None = None) -> Path:
    """Where the trace of a run lies.

    Args:
        entry: of the library.
        run: the same, where it is open already.

    Raises:
        NothingToAnalyse: the run has no trace.
    """
    path = (run or run_of(entry)).files.trace
    if path is None:
        raise NothingToAnalyse(
            f"The run “{entry.variant}” has no trace"
            + (f": {entry.run.error}" if entry.run.error else "."),
            remedy=_HOW_TO_GET_A_TRACE.get(
                entry.origin, "Capture it again, or choose another run."
            ),
        )
    return path


def _mapped(columns: Columns | None, path: Path) -> Columns:
    if columns is None:
        raise BadInput(
            f"The columns of {path.name} are damaged.", remedy="Reload the page to read it anew."
        )
    return columns


def _sentence(path: Path, progress: Progress) -> str:
    if progress.stage == "queued":
        return escape_markdown(progress.text)
    size = format_bytes(progress.total or path.stat().st_size)
    name = path.name if path.parent.name == "" else f"{path.parent.name}/{path.name}"
    return f"Reading `{name.replace('`', '')}` for the first time ({size})"

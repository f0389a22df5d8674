"""Traces and runs for the pages: read once a version, shared by all sessions, never parsed here.

Decoding JSON holds Python's lock and would freeze every other session for as long as it takes,
so a trace that is met for the first time is read by a subprocess (`trace_reader.py`) that writes
columns; this process only maps those.
"""

from pathlib import Path

import msgspec
import streamlit as st

from profiler_core.errors import BadInput, NothingToAnalyse
from profiler_core.ingest.open import is_cached, load_cached
from profiler_core.ingest.run import open_run
from profiler_core.ingest.version import Version, version_of
from profiler_core.model.run import RunFiles
from profiler_core.model.trace import Trace
from profiler_core.store.library import Entry
from profiler_core.ui.trace_reader import Progress, TraceReaders
from profiler_core.units import format_bytes

# Nobody can capture again what came from elsewhere without its trace.
_HOW_TO_GET_A_TRACE = {
    "upload": "Upload it once more together with its trace, or choose another run.",
    "path": "Put its trace beside its other files, or choose another run.",
}


def read_run(entry: Entry) -> RunFiles:
    """The run behind an entry: which files it has, and its record as the library sees it.

    Raises:
        NotARun: nothing that can be read lies there any more.
    """
    return msgspec.structs.replace(open_run(entry.path), record=entry.run)


def read_trace(entry: Entry) -> Trace:
    """The trace of a run; shows progress while a subprocess reads it for the first time.

    Raises:
        NothingToAnalyse: the run has no trace.
        BadInput: the file is no trace, or exceeds a limit.
    """
    return trace_at(trace_path(entry))


def trace_path(entry: Entry) -> Path:
    """Where the trace of a run lies.

    Raises:
        NothingToAnalyse: the run has no trace.
    """
    run = read_run(entry)
    if run.trace is None:
        raise NothingToAnalyse(
            f"The run “{entry.variant}” has no trace"
            + (f": {entry.run.error}" if entry.run.error else "."),
            remedy=_HOW_TO_GET_A_TRACE.get(
                entry.origin, "Capture it again, or choose another run."
            ),
        )
    return run.trace


def trace_at(path: Path) -> Trace:
    """The trace in a file; as `read_trace`."""
    if not is_cached(path):
        _read_with_progress(path)
    return _trace(path, version_of(path))


def _read_with_progress(path: Path) -> None:
    place = st.empty()
    for progress in _readers().read(path):
        place.progress(_fraction(progress), text=_sentence(path, progress))
    place.empty()


def _fraction(progress: Progress) -> float:
    if not progress.bytes_total:
        return 0.0
    return min(1.0, (progress.bytes_read or 0) / progress.bytes_total)


def _sentence(path: Path, progress: Progress) -> str:
    size = format_bytes(progress.bytes_total or path.stat().st_size)
    name = path.name if path.parent.name == "" else f"{path.parent.name}/{path.name}"
    return f"Reading `{name.replace('`', '')}` for the first time ({size})"


@st.cache_resource(show_spinner=False)
def _readers() -> TraceReaders:
    return TraceReaders()


# cache_resource hands every session the same object without copying it, which is safe because
# nobody writes to a Trace. version only retires the entry of a changed file or choice.
@st.cache_resource(max_entries=32, show_spinner=False)
def _trace(path: Path, version: Version) -> Trace:
    del version
    trace = load_cached(path)
    if trace is None:
        raise BadInput(
            f"The columns of {path.name} are damaged.", remedy="Reload the page to read it anew."
        )
    return trace

"""The compiler's logs of a run, read once a version of the files and shared by sessions."""

from pathlib import Path

import streamlit as st

from profiler_core.ingest.compile_log.apart import read_apart
from profiler_core.ingest.compile_log.reader import read_compile_log
from profiler_core.ingest.version import Version, versions_of
from profiler_core.model.compilation import CompileLog
from profiler_core.model.run import RunFiles


def compile_log_of(run: RunFiles) -> CompileLog | None:
    """What the logs of the run say; None without logs.

    Raises:
        BadInput: a log cannot be read.
    """
    paths = (*run.torch_logs, *run.torch_trace)
    return _read(paths, versions_of(paths), run) if paths else None


# Arguments that begin with _ are not part of the key.
@st.cache_resource(max_entries=64, show_spinner=False)
def _read(
    paths: tuple[Path, ...], versions: tuple[Version, ...], _run: RunFiles
) -> CompileLog | None:
    del paths, versions
    return read_compile_log(_run, read_apart)

"""Read large logs in another process; see `ingest/apart.py`."""

from collections.abc import Sequence
from pathlib import Path

from profiler_core.ingest.apart import are_large, ask_child
from profiler_core.ingest.compile_log.reader import read_compile_log_files
from profiler_core.model.compilation import CompileLog


def read_apart(
    paths: Sequence[Path], *, torch_version: str | None, requested: frozenset[str]
) -> CompileLog:
    """As `read_compile_log_files`, in a process of its own where the files are large.

    Raises:
        BadInput: a file cannot be read or is no text.
    """
    if not are_large(paths):
        return read_compile_log_files(paths, torch_version=torch_version, requested=requested)
    words = {
        "paths": [str(path.absolute()) for path in paths],
        "torch_version": torch_version,
        "asked": sorted(requested),
    }
    return ask_child("profiler_core.ingest.compile_log", words, CompileLog)

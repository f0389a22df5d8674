"""Large logs read in another process; see `apart.py`."""

from collections.abc import Sequence
from pathlib import Path

from profiler_core.ingest.apart import are_large, ask_child
from profiler_core.ingest.compile_log.reader import read_compile_log_files
from profiler_core.ingest.inductor.reader import read_inductor
from profiler_core.model.compilation import CompileLog
from profiler_core.model.inductor import InductorLog


def read_compile_log_apart(
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


def read_inductor_apart(paths: Sequence[Path]) -> InductorLog:
    """As `read_inductor`, in a process of its own where the files are large.

    Raises:
        BadInput: a file cannot be read.
    """
    if not are_large(paths):
        return read_inductor(paths)
    words = {"paths": [str(path.absolute()) for path in paths]}
    return ask_child("profiler_core.ingest.inductor", words, InductorLog)

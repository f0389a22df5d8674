"""Read large structured logs for their graphs in another process; see `ingest/apart.py`."""

from collections.abc import Sequence
from pathlib import Path

from profiler_core.ingest.apart import are_large, ask_child
from profiler_core.ingest.inductor.reader import read_inductor
from profiler_core.model.inductor import InductorLog


def read_inductor_apart(paths: Sequence[Path]) -> InductorLog:
    """As `read_inductor`, in a process of its own where the files are large.

    Raises:
        BadInput: a file cannot be read.
    """
    if not are_large(paths):
        return read_inductor(paths)
    words = {"paths": [str(path.absolute()) for path in paths]}
    return ask_child("profiler_core.ingest.inductor", words, InductorLog)

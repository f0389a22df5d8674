"""The door of ingest: one function in, one model out."""

from pathlib import Path

from profiler_core.ingest.kineto import read_kineto
from profiler_core.model.trace import Trace


def open_trace(path: Path) -> Trace:
    """Read a trace, from the columnar cache where it was read before."""
    return read_kineto(path)

"""The product's reading of captures that many tests ask: each is opened once in a process."""

from functools import cache
from pathlib import Path

from profiler_core.ingest.open import open_trace
from profiler_core.model.trace import Trace


@cache
def trace_of(path: Path) -> Trace:
    """The trace of a file that no test changes, with the tables that were derived from it so far.

    Not for a test of how it is opened, or of what is derived of it first.
    """
    return open_trace(path)

"""Reads one trace and indexes it for the timeline, in a process of its own.

    python -m profiler_core.timeline PATH

It speaks as `ingest/reading_process.py` says, with {"indexing": n_events} when it has read. The web
process never does this itself: one second of it freezes every session.
"""

import sys
from pathlib import Path
from typing import Any

from profiler_core.ingest.reading_process import read_one, say
from profiler_core.model.trace import Trace
from profiler_core.timeline.cache import index_trace


def _index(path: Path, trace: Trace) -> dict[str, Any]:
    say({"indexing": trace.n_events})
    index_trace(path, trace)
    return {}


if __name__ == "__main__":
    sys.exit(read_one(sys.argv[1:], _index))

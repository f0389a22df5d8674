"""Reads one trace in a process of its own and leaves its columns in the cache.

    python -m profiler_core.ingest PATH

It speaks as `reading_process` says, and ends with {"done": true, "n_events": …, "n_skipped": …}.
"""

import sys
from pathlib import Path
from typing import Any

from profiler_core.ingest.reading_process import read_one
from profiler_core.model.trace import Trace


def _tally(_path: Path, trace: Trace) -> dict[str, Any]:
    return {"n_events": trace.tally.n_events, "n_skipped": trace.tally.n_skipped}


if __name__ == "__main__":
    sys.exit(read_one(sys.argv[1:], _tally))

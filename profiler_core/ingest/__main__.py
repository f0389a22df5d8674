"""Reads one trace in a process of its own and leaves its columns in the cache.

    python -m profiler_core.ingest PATH

It speaks as `worker/protocol.py` says; the result is {"n_events": …, "n_skipped": …}.
"""

import sys
from pathlib import Path
from typing import Any

from profiler_core.ingest.reading_process import read_one
from profiler_core.model.trace import Trace
from profiler_core.worker.protocol import Report


def _tally(_path: Path, trace: Trace, _report: Report) -> dict[str, Any]:
    return {"n_events": trace.tally.n_events, "n_skipped": trace.tally.n_skipped}


if __name__ == "__main__":
    sys.exit(read_one(_tally))

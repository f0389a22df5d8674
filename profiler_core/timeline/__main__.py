"""Reads one trace and indexes it for the timeline, in a process of its own.

    python -m profiler_core.timeline PATH

It speaks as `worker/protocol.py` says, with the stage "indexing" when it has read. The web
process never does this itself: one second of it freezes every session.
"""

import sys
from pathlib import Path
from typing import Any

from profiler_core.ingest.reading_process import read_one
from profiler_core.model.trace import Trace
from profiler_core.timeline.cache import index_trace
from profiler_core.worker.protocol import Progress, Report


def _index(path: Path, trace: Trace, report: Report) -> dict[str, Any]:
    report(Progress(trace.n_events, stage="indexing"))
    index_trace(path, trace)
    return {}


if __name__ == "__main__":
    sys.exit(read_one(_index))

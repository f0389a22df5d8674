"""Reads one memory snapshot in a process of its own and leaves its columns in the cache.

    python -m profiler_core.ingest.memory_snapshot PATH

It speaks as `worker/protocol.py` says; the result is {"n_events": …}.
"""

import sys
from pathlib import Path

from profiler_core.ingest.memory_snapshot.reader import read_into_cache
from profiler_core.worker.protocol import Report, answer


def _read(_report: Report) -> dict[str, int]:
    return {"n_events": read_into_cache(Path(sys.argv[1]))}


if __name__ == "__main__":
    sys.exit(answer(_read))

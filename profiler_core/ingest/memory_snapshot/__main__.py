"""Reads one memory snapshot in a process of its own and leaves its columns in the cache.

    python -m profiler_core.ingest.memory_snapshot PATH

Prints one JSON object: {"done": true, "n_events": …}, or {"problem": …, "remedy": …} with exit
status 2.
"""

import json
import sys
from pathlib import Path

from profiler_core.errors import FusionscopeError
from profiler_core.ingest.memory_snapshot.reader import read_into_cache


def _main(path: str) -> int:
    try:
        answer: dict[str, object] = {"done": True, "n_events": read_into_cache(Path(path))}
        status = 0
    except FusionscopeError as error:
        answer = {"problem": error.problem, "remedy": error.remedy}
        status = error.exit_status
    sys.stdout.write(json.dumps(answer) + "\n")
    return status


if __name__ == "__main__":
    sys.exit(_main(sys.argv[1]))

"""Reads one trace and indexes it for the timeline, in a process of its own.

    python -m profiler_core.timeline PATH

Standard output, one JSON object a line: {"bytes_read": …, "bytes_total": …} while it reads,
{"indexing": n_events} when it has read, then {"done": true} or {"problem": …, "remedy": …} with
exit status 2. The web process never does this itself: one second of it freezes every session.
"""

import json
import signal
import sys
from pathlib import Path
from types import FrameType
from typing import Any

from profiler_core.errors import BadInput, Cancelled, FusionscopeError
from profiler_core.ingest.open import open_trace
from profiler_core.timeline.cache import index_trace


def _say(line: dict[str, Any]) -> None:
    sys.stdout.write(json.dumps(line) + "\n")
    sys.stdout.flush()


def _stop(_signal: int, _frame: FrameType | None) -> None:
    raise Cancelled("Indexing the trace was stopped.", remedy="Open the timeline again.")


def main(arguments: list[str]) -> int:
    """Index the trace at `arguments[0]`; returns the exit status."""
    signal.signal(signal.SIGTERM, _stop)
    signal.signal(signal.SIGINT, _stop)
    try:
        if len(arguments) != 1:
            raise BadInput("Exactly one path is needed.", remedy="Pass the path of a trace.")
        path = Path(arguments[0])
        trace = open_trace(
            path, lambda read, total: _say({"bytes_read": read, "bytes_total": total})
        )
        _say({"indexing": trace.n_events})
        index_trace(path, trace)
    except FusionscopeError as error:
        _say({"problem": error.problem, "remedy": error.remedy})
        return error.exit_status
    _say({"done": True})
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))

"""Reads one trace in a process of its own and leaves its columns in the cache.

    python -m profiler_core.ingest PATH

Standard output, one JSON object a line: {"bytes_read": …, "bytes_total": …} while it reads, then
{"done": true, "n_events": …, "n_skipped": …} or {"problem": …, "remedy": …} with exit status 2.
SIGTERM and SIGINT stop it, with nothing left behind.
"""

import json
import signal
import sys
from pathlib import Path
from types import FrameType
from typing import Any

from profiler_core.errors import BadInput, Cancelled, FusionscopeError
from profiler_core.ingest.open import open_trace


def _say(line: dict[str, Any]) -> None:
    sys.stdout.write(json.dumps(line) + "\n")
    sys.stdout.flush()


def _stop(_signal: int, _frame: FrameType | None) -> None:
    raise Cancelled("Reading the trace was stopped.", remedy="Open it again to read it.")


def main(arguments: list[str]) -> int:
    """Read the trace at `arguments[0]`; returns the exit status."""
    signal.signal(signal.SIGTERM, _stop)
    signal.signal(signal.SIGINT, _stop)
    try:
        if len(arguments) != 1:
            raise BadInput("Exactly one path is needed.", remedy="Pass the path of a trace.")
        trace = open_trace(
            Path(arguments[0]),
            lambda read, total: _say({"bytes_read": read, "bytes_total": total}),
        )
    except FusionscopeError as error:
        _say({"problem": error.problem, "remedy": error.remedy})
        return error.exit_status
    tally = trace.tally
    _say({"done": True, "n_events": tally.n_events, "n_skipped": tally.n_skipped})
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))

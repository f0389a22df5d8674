"""What a process that reads one trace says to whoever started it.

Standard output, one JSON object a line: {"bytes_read": …, "bytes_total": …} while it reads, then
what its work returned with "done": true, or {"problem": …, "remedy": …} with exit status 2. SIGTERM
and SIGINT stop it, with nothing left behind.
"""

import json
import signal
import sys
from collections.abc import Callable
from pathlib import Path
from types import FrameType
from typing import Any

from profiler_core.errors import BadInput, Cancelled, FusionscopeError
from profiler_core.ingest.open import open_trace
from profiler_core.model.trace import Trace

Work = Callable[[Path, Trace], dict[str, Any]]


def say(line: dict[str, Any]) -> None:
    """One line to the process that waits."""
    sys.stdout.write(json.dumps(line) + "\n")
    sys.stdout.flush()


def _stop(_signal: int, _frame: FrameType | None) -> None:
    raise Cancelled("Reading the trace was stopped.", remedy="Open it again to read it.")


def read_one(arguments: list[str], work: Work) -> int:
    """Read the trace at `arguments[0]` and do the work with it; returns the exit status."""
    signal.signal(signal.SIGTERM, _stop)
    signal.signal(signal.SIGINT, _stop)
    try:
        if len(arguments) != 1:
            raise BadInput("Exactly one path is needed.", remedy="Pass the path of a trace.")
        path = Path(arguments[0])
        trace = open_trace(
            path, lambda read, total: say({"bytes_read": read, "bytes_total": total})
        )
        answer = work(path, trace)
    except FusionscopeError as error:
        say({"problem": error.problem, "remedy": error.remedy})
        return error.exit_status
    say({"done": True, **answer})
    return 0

"""The work of a process that reads one trace: progress in bytes, and a clean stop."""

import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

from profiler_core.errors import BadInput
from profiler_core.ingest.open import open_trace
from profiler_core.model.trace import Trace
from profiler_core.worker.protocol import Progress, Report, answer

Work = Callable[[Path, Trace, Report], dict[str, Any]]


def read_one(work: Work) -> int:
    """Read the trace that the command line names and do the work with it; the exit status."""

    def read(report: Report) -> dict[str, Any]:
        if len(sys.argv) != 2:
            raise BadInput("Exactly one path is needed.", remedy="Pass the path of a trace.")
        path = Path(sys.argv[1])
        return work(path, open_trace(path, lambda n, total: report(Progress(n, total))), report)

    return answer(read, can_cancel=True)

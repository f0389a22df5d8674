"""A verb that writes a file, for a page: `python -m profiler_core.cli report RUN… -o FILE`.

It speaks as `worker/protocol.py` says, so that a failure is a record and no printed sentence; the
result is null. People type `python -m profiler_core`.
"""

import sys

from profiler_core.cli.main import run_verb
from profiler_core.worker.protocol import Report, answer


def _run(_report: Report) -> None:
    run_verb(sys.argv[1], sys.argv[1:])


if __name__ == "__main__":
    sys.exit(answer(_run))

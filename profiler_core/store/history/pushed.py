"""`python -m profiler_core.store.history.pushed`: record the runs of a file that was pushed.

A process of its own, so that no archive and no JSON is unpacked in the web server. It reads a
`Push` from its standard input, and speaks as `worker/protocol.py` says; the result is `Pushed`.
"""

import sys
from dataclasses import dataclass

import msgspec

from profiler_core.errors import BadInput
from profiler_core.store.history.audit import acting_via
from profiler_core.store.history.receiving import record_upload
from profiler_core.worker.protocol import Report, answer


@dataclass(frozen=True)
class Push:
    """Whose file is to be recorded. via: by what means the audit says it was done."""

    upload_id: str
    person: str
    via: str


@dataclass(frozen=True)
class Pushed:
    """What became of it. notes: a sentence for each file that is in no run."""

    run_ids: tuple[str, ...]
    notes: tuple[str, ...]


def _record(_report: Report) -> Pushed:
    push = msgspec.json.decode(sys.stdin.buffer.read(), type=Push)
    try:
        with acting_via(push.via):
            recorded, notes = record_upload(push.upload_id, person=push.person)
    except OSError as error:
        raise BadInput(
            f"The files could not be kept: {error.strerror}.",
            remedy="Make room on the server's disk.",
        ) from error
    return Pushed(tuple(run.run_id for run in recorded), notes)


if __name__ == "__main__":
    sys.exit(answer(_record))

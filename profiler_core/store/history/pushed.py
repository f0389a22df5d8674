"""`python -m profiler_core.store.history.pushed UPLOAD_ID`: record the runs of a pushed file.

A process of its own, so that no archive and no JSON is unpacked in the web server. It speaks as
`worker/protocol.py` says; the result is `Pushed`.
"""

import argparse
import sys
from dataclasses import dataclass

from profiler_core.errors import ServerFault
from profiler_core.store.history.audit import acting_via
from profiler_core.store.history.receiving import record_upload
from profiler_core.store.uploads import Accepted
from profiler_core.worker.protocol import Report, answer


@dataclass(frozen=True)
class Pushed(Accepted):
    """What became of the file; the runs by their ids, too."""

    run_ids: tuple[str, ...]


def _record(_report: Report) -> Pushed:
    parser = argparse.ArgumentParser(prog="profiler_core.store.history.pushed")
    parser.add_argument("upload_id")
    parser.add_argument("--owner", required=True)
    parser.add_argument("--via", default="")
    arguments = parser.parse_args()
    try:
        with acting_via(arguments.via):
            runs, notes = record_upload(arguments.upload_id, person=arguments.owner)
    except OSError as error:
        raise ServerFault(
            f"The files could not be kept: {error.strerror}.",
            remedy="Make room on the server's disk.",
        ) from error
    return Pushed(tuple(run.key for run in runs), notes, tuple(run.run_id for run in runs))


if __name__ == "__main__":
    sys.exit(answer(_record))

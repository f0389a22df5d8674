"""Puts one job together in processes of its own and leaves it in the cache.

    python -m profiler_core.ranks PLACE

Standard output as of `ingest.reading_process`, in ranks instead of bytes.
"""

import signal
import sys
from types import FrameType

from profiler_core.errors import Cancelled, FusionscopeError
from profiler_core.ingest.reading_process import say
from profiler_core.ranks.find import find_ranks
from profiler_core.ranks.job_at import job_of
from profiler_core.ranks.kept import keep_job


def _stop(_signal: int, _frame: FrameType | None) -> None:
    raise Cancelled("Reading the ranks was stopped.", remedy="Open the page again.")


def _main(place: str) -> int:
    signal.signal(signal.SIGTERM, _stop)
    signal.signal(signal.SIGINT, _stop)
    try:
        found = find_ranks(place)
        job = job_of(
            found, progress=lambda done, total: say({"bytes_read": done, "bytes_total": total})
        )
        keep_job(found, job)
    except FusionscopeError as error:
        say({"problem": error.problem, "remedy": error.remedy})
        return error.exit_status
    say({"done": True, "n_ranks": len(job.ranks)})
    return 0


if __name__ == "__main__":
    sys.exit(_main(sys.argv[1]))

"""Puts one job together in processes of its own and leaves it in the cache.

    python -m profiler_core.ranks PLACE

It speaks as `worker/protocol.py` says, in ranks; the result is {"n_ranks": …}.
"""

import sys

from profiler_core.ranks.find import find_ranks
from profiler_core.ranks.job_at import job_of
from profiler_core.ranks.job_cache import keep_job
from profiler_core.worker.protocol import Progress, Report, answer


def _read(report: Report) -> dict[str, int]:
    ranks = find_ranks(sys.argv[1])
    job = job_of(ranks, progress=lambda n_done, total: report(Progress(n_done, total)))
    keep_job(ranks, job)
    return {"n_ranks": len(job.ranks)}


if __name__ == "__main__":
    sys.exit(answer(_read, can_cancel=True))

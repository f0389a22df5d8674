"""Puts one job together in processes of its own and leaves it in the cache.

    python -m profiler_core.ranks PLACE

It speaks as `worker/protocol.py` says, in ranks; the result is {"n_ranks": …}.
"""

import sys

from profiler_core.ranks.find import find_ranks
from profiler_core.ranks.job_of import kept_job
from profiler_core.worker.protocol import Progress, Report, answer


def _read(report: Report) -> dict[str, int]:
    ranks = find_ranks(sys.argv[1])
    job = kept_job(ranks, progress=lambda n_done, total: report(Progress(n_done, total)))
    return {"n_ranks": len(job.ranks)}


if __name__ == "__main__":
    sys.exit(answer(_read, can_cancel=True))

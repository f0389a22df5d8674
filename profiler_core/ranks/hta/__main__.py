"""Runs HTA in a process of its own, so that a crash or a leak of HTA stays there.

    python -m profiler_core.ranks.hta PLACE [PLACE_OF_THE_BASELINE]

It speaks as `worker/protocol.py` says; the result is an `answer.HtaAnswer`.
"""

import sys

from profiler_core.ranks.find import find_ranks
from profiler_core.ranks.hta.answer import HtaAnswer
from profiler_core.ranks.hta.ask import ask_hta
from profiler_core.ranks.job_of import kept_job
from profiler_core.worker.protocol import Report, answer


def _ask(_report: Report) -> HtaAnswer:
    location, *baseline = sys.argv[1:3]
    ranks = find_ranks(location)
    return ask_hta(ranks, kept_job(ranks), find_ranks(baseline[0]) if baseline else None)


if __name__ == "__main__":
    sys.exit(answer(_ask))

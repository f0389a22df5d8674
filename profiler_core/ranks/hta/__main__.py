"""Asks HTA in a process of its own, so that nothing that it does can hurt who asked.

    python -m profiler_core.ranks.hta PLACE [PLACE_OF_THE_BASELINE]

Prints the answer as one JSON object (`answer.HtaAnswer`), or {"problem", "remedy"} with the
error's exit status.
"""

import json
import sys

import msgspec

from profiler_core.errors import FusionscopeError
from profiler_core.ranks.find import find_ranks
from profiler_core.ranks.hta.ask import ask_hta
from profiler_core.ranks.job_at import job_of
from profiler_core.ranks.kept import keep_job, kept_job


def _main(place: str, baseline: str | None = None) -> int:
    try:
        found = find_ranks(place)
        job = kept_job(found)
        if job is None:
            job = job_of(found)
            keep_job(found, job)
        answer = ask_hta(found, job, find_ranks(baseline) if baseline else None)
    except FusionscopeError as error:
        print(json.dumps({"problem": error.problem, "remedy": error.remedy}))
        return error.exit_status
    sys.stdout.write(msgspec.json.encode(answer).decode() + "\n")
    return 0


if __name__ == "__main__":
    sys.exit(_main(*sys.argv[1:3]))

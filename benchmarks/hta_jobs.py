"""HolisticTraceAnalysis beside our numbers on jobs of two H200s, where both define the same thing.

    python -m benchmarks.hta_jobs [JOB/VARIANT …]    all of tests/fixtures/jobs.tar.xz by default

A line for each job: figures on which both agree, of how many that both have, by analysis; then the
late rank that HTA names, our straggler, and the rank that our critical path says is late. A kernel
or a sleep of 8 ms was planted on rank 1 of the jobs "spin" and "sleep".
"""

import sys
from collections import Counter

from profiler_core.ranks.hta.process import hta_answer
from profiler_core.session.job import jobs_at
from tests.larger import FIXTURES, unpacked


def main() -> None:
    """Print the table."""
    folder = unpacked(FIXTURES / "jobs.tar.xz")
    every = sorted(str(run.parent.relative_to(folder)) for run in folder.glob("*/*/run.json"))
    total: Counter[tuple[str, bool]] = Counter()
    for name in sys.argv[1:] or every:
        ((placed),) = jobs_at(str(folder / name))
        job = placed.job
        answer = hta_answer(placed.source, placed.rank_files, None)
        compared = [a for a in answer.analyses if a.status in ("agrees", "differs")]
        counts: Counter[tuple[str, bool]] = Counter()
        for analysis in compared:
            counts[analysis.title, analysis.status == "agrees"] += len(analysis.figures)
        total += counts
        late = job.critical.late.rank if job.critical and job.critical.late else None
        theirs = next(a for a in answer.analyses if a.title == "Straggler")
        named = theirs.figures[0].texts[0] if theirs.figures else theirs.status
        ours = job.straggler.rank if job.straggler else None
        print(f"{name}: {_counts(counts)}; late: HTA {named}, straggler {ours}, critical {late}")
    print(f"all: {_counts(total)}")


def _counts(counts: "Counter[tuple[str, bool]]") -> str:
    titles = dict.fromkeys(title for title, _ in counts)
    return ", ".join(
        f"{title} {counts[title, True]} of {counts[title, True] + counts[title, False]}"
        for title in titles
    )


if __name__ == "__main__":
    main()

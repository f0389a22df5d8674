"""Which rank of jobs is shown beside each other, where their ranks run other programs."""

from collections.abc import Sequence

from profiler_core.analysis.ranks.job_ledger import runs_same_kernels
from profiler_core.session.run import Run


def rank_of_all(runs: Sequence[Run]) -> int | None:
    """The rank whose kernels stand for all of several jobs; None: each job shows its own.

    The rank for which the others wait most may be one stage of a pipeline in the baseline and
    another one in a candidate. Where these launch other kernels, all jobs show the candidate's: of
    several such candidates the first one's whose rank every job has read.

    Args:
        runs: the baseline first.
    """
    baseline, *candidates = runs
    read = [{cost.rank for cost in run.job.costs} for run in runs if run.job is not None]
    for candidate in candidates:
        rank = candidate.shown_rank
        if rank is None or baseline.shown_rank in (None, rank):
            continue
        if all(rank in ranks for ranks in read) and _runs_other(baseline, rank):
            return rank
    return None


def _runs_other(run: Run, rank: int) -> bool:
    own, other = run.worked_trace, run.worked_trace_of(rank)
    return own is not None and other is not None and not runs_same_kernels(own, other)

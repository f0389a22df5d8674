"""The ledger of a job: what its groups take on every rank."""

from collections.abc import Mapping
from typing import Annotated

from profiler_core.analysis.ranks.job_ledger import JobLedger, Spread
from profiler_core.answers.record import Answer, means


class SpreadAnswer(Answer, frozen=True):
    """One side of a group over the ranks, ns per step, with nothing beside its kernels."""

    total_ns: float
    least_ns: float
    median_ns: float
    most_ns: float
    slowest: Annotated[int, means("the rank where it is longest")]
    by_rank: Annotated[Mapping[str, float], means("of every rank that was read")]


class JobGroupAnswer(Answer, frozen=True):
    """A group over all ranks."""

    group: Annotated[int | None, means("place in `groups`; null: only other ranks have it")]
    title: str
    baseline: Annotated[SpreadAnswer, means("{keys}")]
    candidate: Annotated[SpreadAnswer, means("likewise")]


class SlowerAnswer(Answer, frozen=True):
    """Groups of one title that are slower on one rank only."""

    side: Annotated[str, means("`baseline` or `candidate`")]
    title: str
    n: Annotated[int, means("groups of this title", "count")]
    rank: Annotated[int, means("that is slower")]
    excess_ns: Annotated[float, means("more than the median of the others, per step", "ns")]


class OverRanksAnswer(Answer, frozen=True):
    """The ledger of a job of ranks."""

    ranks: Annotated[tuple[int, ...], means("that were read")]
    n_ranks: Annotated[int, means("of the job", "count")]
    own_ledgers: Annotated[
        tuple[int, ...], means("ranks that run other kernels, with a ledger of their own")
    ]
    groups: Annotated[tuple[JobGroupAnswer, ...], means("{keys}")]
    slower: Annotated[tuple[SlowerAnswer, ...], means("slower on one rank only: {keys}")]
    notes: tuple[str, ...]


def over_ranks_answer(job: JobLedger) -> OverRanksAnswer:
    """The keys of `fusion.over_ranks`."""
    return OverRanksAnswer.of(
        job,
        groups=tuple(
            JobGroupAnswer.of(
                group,
                baseline=spread_answer(group.baseline),
                candidate=spread_answer(group.candidate),
            )
            for group in job.groups
        ),
        slower=slower_answers(job),
    )


def slower_answers(job: JobLedger) -> tuple[SlowerAnswer, ...]:
    """What is slower on one rank only, the baseline's before the candidate's."""
    return tuple(
        SlowerAnswer.of(
            slower, side=name, rank=slower.spread.slowest, excess_ns=slower.spread.excess_ns
        )
        for side, name in enumerate(("baseline", "candidate"))
        for slower in job.slower(side)
    )


def spread_answer(spread: Spread) -> SpreadAnswer:
    """One side of a group over the ranks."""
    return SpreadAnswer.of(spread, by_rank={str(rank): ns for rank, ns in spread.by_rank.items()})

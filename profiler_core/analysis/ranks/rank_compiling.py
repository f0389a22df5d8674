"""What compiling cost each rank of a job, and how long the others waited for it meanwhile.

Logs and traces of ranks tell the time of their hosts' clocks since 1970: compilations last for
milliseconds to minutes, so what clocks of several hosts differ by does not matter beside them.
"""

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass

from profiler_core.analysis.compilation.compile_time import compile_time
from profiler_core.analysis.ranks.waiting import RankCost
from profiler_core.analysis.wording.sentence import listed
from profiler_core.model.compilation import CompileLog, Recompile

_FIRST_EPOCH_NS = 10**18  # of 2001: a trace whose axis begins before says no time of day
# Kernels are tried and graphs recorded in the first calls: it is no compile time, and waited for.
_ALL = ("forward", "backward", "runtime")
Spans = list[tuple[int, int]]  # (start, end), epoch ns


@dataclass(frozen=True)
class RankCompiling:
    """Compiling on one rank, as its logs say; None where they tell no time, as text logs do."""

    rank: int
    seconds: float | None  # each instant once
    n_compilations: int | None
    recompiles: tuple[Recompile, ...]
    # While no other rank compiled: before the next collective, others wait so long. None where
    # the logs of one of the ranks tell no time: it may have compiled meanwhile.
    alone_s: float | None
    made_wait_s: float | None  # another waited in collectives of the profiled steps meanwhile
    has_log: bool = True  # of its own, with or without times


def compiling_of_ranks(
    logs: Mapping[int, CompileLog | None], costs: Sequence[RankCost] = ()
) -> tuple[RankCompiling, ...]:
    """By rank; () where no log tells a time.

    Args:
        logs: of each rank that was looked at; a log of several ranks counts with its own alone.
        costs: of `Job`: who waited for whom in the profiled steps.
    """
    spans = {rank: _compiling(log, rank, ("forward", "backward")) for rank, log in logs.items()}
    if not any(spans.values()):
        return ()
    rows = []
    all_told = all(spans.values())
    for rank, log in logs.items():
        time = compile_time(_of_rank(log, rank)) if log is not None and spans[rank] else None
        others = _merged(span for other, own in spans.items() if other != rank for span in own)
        waited_ns = [
            _both_ns(_compiling(log, rank, _ALL), _waiting(cost, rank))
            for cost in costs
            if cost.rank != rank and cost.origin_ns > _FIRST_EPOCH_NS
        ]
        alone_ns = sum(end - start for start, end in spans[rank]) - _both_ns(spans[rank], others)
        rows.append(
            RankCompiling(
                rank=rank,
                seconds=time.seconds if time is not None else None,
                n_compilations=time.n_compilations if time is not None else None,
                recompiles=_of_rank(log, rank).recompiles if log is not None else (),
                alone_s=min(alone_ns / 1e9, time.seconds)
                if time is not None and all_told
                else None,
                made_wait_s=max(waited_ns, default=0) / 1e9 if time is not None else None,
                has_log=log is not None,
            )
        )
    return tuple(sorted(rows, key=lambda row: row.rank))


def without_log(ranks: Sequence[RankCompiling]) -> tuple[str, ...]:
    """A sentence that names the ranks of whose compiling nothing is known; () where all are."""
    numbers = [str(row.rank) for row in ranks if not row.has_log]
    if not numbers:
        return ()
    ranks_text = f"rank{'' if len(numbers) == 1 else 's'} {listed(numbers)}"
    return (f"No log of its own: {ranks_text}. What was compiled there is not known.",)


def _of_rank(log: CompileLog, rank: int) -> CompileLog:
    """The log with what is of this rank, or of none that it names."""
    own = (None, rank)
    return CompileLog(
        compilations=tuple(c for c in log.compilations if c.rank in own),
        recompiles=tuple(r for r in log.recompiles if r.rank in own),
    )


def _compiling(log: CompileLog | None, rank: int, directions: Collection[str]) -> Spans:
    compilations = _of_rank(log, rank).compilations if log is not None else ()
    return _merged(
        (c.start_ns, c.start_ns + c.dur_ns)
        for c in compilations
        if c.direction in directions and c.start_ns is not None and c.dur_ns is not None
    )


def _waiting(cost: RankCost, awaited: int) -> Spans:
    """When a rank waited for another one."""
    return _merged(
        (cost.origin_ns + wait.ts_ns, cost.origin_ns + wait.ts_ns + wait.wait_ns)
        for wait in cost.waits
        if wait.last_rank == awaited
    )


def _merged(spans: Iterable[tuple[int, int]]) -> Spans:
    merged: Spans = []
    for start, end in sorted(spans):
        if merged and start <= merged[-1][1]:
            merged[-1] = (merged[-1][0], max(end, merged[-1][1]))
        else:
            merged.append((start, end))
    return merged


def _both_ns(left: Spans, right: Spans) -> int:
    """Length of what is in both; each is merged."""
    return sum(
        max(0, min(end, until) - max(start, begin)) for start, end in left for begin, until in right
    )

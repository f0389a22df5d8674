"""The stages of a pipeline, by who sends to whom, and the time that its schedule leaves idle.

A batch goes through the stages in microbatches. Each stage stands still until its first one has
come and while the last one is on its way through the others: with GPipe and with 1F1B the work of
one microbatch, forward and backward, on all other stages, whatever the hosts do.
"""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from itertools import chain

import polars as pl

from profiler_core.analysis.steps import Window
from profiler_core.model.trace import Trace

_ONCE_PER_STEP = ("optimizer", "communication")  # work that is not cut into microbatches


@dataclass(frozen=True)
class Stage:
    """One rank of a pipeline. ranks: of all its stages, in their order."""

    ranks: tuple[int, ...]
    n_microbatches: int


def stage_of(trace: Trace, window: Window, rank: int) -> Stage | None:
    """The stage that a rank is, by its sends and receives; None where they are no pipeline's.

    In each step the first stage sends first, every other one receives first, and each exchanges
    the same number of microbatches with a neighbour in each direction. Ranks that pass something
    around in a ring all begin alike.
    """
    between_two = pl.col("to_rank").is_not_null() | pl.col("from_rank").is_not_null()
    calls = trace.collectives.filter(between_two).sort("ts_ns")
    if not calls.height:
        return None
    in_steps = [
        pl.col("ts_ns").is_between(step.host_ts_ns, step.host_ts_ns + step.host_dur_ns)
        for step in window.steps
    ]
    calls = calls.filter(pl.any_horizontal(in_steps)) if in_steps else calls.clear()
    groups = calls["group_ranks"].unique().to_list()
    ranks = _ranks(groups[0]) if len(groups) == 1 else ()
    if rank not in ranks:
        return None
    firsts = [calls.filter(of_step).head(1) for of_step in in_steps]
    sends_first = [bool(first["to_rank"].is_not_null().any()) for first in firsts if first.height]
    counts = calls.group_by("to_rank", "from_rank").len()["len"].unique().to_list()
    n, rest = divmod(max(counts), len(in_steps))
    is_first = rank == ranks[0]
    if len(counts) > 1 or rest or any(first is not is_first for first in sends_first):
        return None
    return Stage(ranks, n)


def bubble_ns(
    rank: int,
    stages: Mapping[int, Stage | None],
    work_ns: Mapping[int, Mapping[str, float]],
) -> float:
    """What the schedule leaves idle at least on a stage, ns per step; 0 without a pipeline.

    Args:
        rank: whose stage it is.
        stages: of all ranks that are here.
        work_ns: of the same ranks by category, per step.
    """
    stage = stages.get(rank)
    if stage is None or any(stages.get(other) != stage for other in stage.ranks):
        return 0.0
    others = chain.from_iterable(work_ns[r].items() for r in stage.ranks if r != rank)
    return sum(ns for kind, ns in others if kind not in _ONCE_PER_STEP) / stage.n_microbatches


def take_bubble(
    idle_ns: Mapping[str, float], waiting: str, bubble: str, ns: float
) -> dict[str, float]:
    """Idle time by cause with the bubble as one of them: of the waiting, then of the hosts'.

    Then of the step's end, where the last stage is through and others still work.

    Args:
        idle_ns: per step by cause.
        waiting: the cause that is waiting for each other.
        bubble: the cause that the bubble becomes.
        ns: what the schedule leaves idle.
    """
    waited_ns = min(ns, idle_ns.get(waiting, 0.0))
    hosts = {cause: own for cause, own in idle_ns.items() if cause.startswith("host_") and own > 0}
    of_hosts_ns = min(ns - waited_ns, sum(hosts.values()))
    kept = 1 - of_hosts_ns / sum(hosts.values()) if hosts else 1.0
    left = {**idle_ns, **{cause: own * kept for cause, own in hosts.items()}}
    of_tail_ns = max(0.0, min(ns - waited_ns - of_hosts_ns, left.get("tail", 0.0)))
    if of_tail_ns:
        left["tail"] -= of_tail_ns
    taken_ns = waited_ns + of_hosts_ns + of_tail_ns
    return {**left, waiting: left.get(waiting, 0.0) - waited_ns, bubble: taken_ns}


def _ranks(text: str | None) -> tuple[int, ...]:
    try:
        ranks = json.loads(text or "")
    except ValueError:  # torch cuts the list of a large group
        return ()
    return tuple(ranks) if isinstance(ranks, list) else ()

"""What an agent may ask of memory, the GPU's state and limits, and of sweeps and ranks.

As in `tools.py`, names, docstrings and parameters are what it reads.
"""

import dataclasses
from typing import Annotated

import msgspec

from profiler_core.agents.answer import FEW_ROWS
from profiler_core.agents.runs import Candidate, pair_of, path_of, run_at
from profiler_core.analysis.gate.limits import limits_of
from profiler_core.analysis.memory.churn import Churn
from profiler_core.analysis.memory.live import LiveSet
from profiler_core.answers.gate import GateAnswer, gate_answer
from profiler_core.answers.memory import MemoryPeaks, SegmentsAnswer, memory_answer
from profiler_core.answers.ranks import JobAnswer, RanksAnswer, ranks_answer
from profiler_core.answers.record import means
from profiler_core.answers.sweep import SweepAnswer, sweep_answer
from profiler_core.answers.telemetry import TelemetryAnswer, telemetry_answer
from profiler_core.cli.sweep_runs import sweep_at
from profiler_core.session.job import jobs_at

_MOST_ARRIVALS, _MOST_RANKS = 3, 8  # of a job of thousands, and of a step of hundreds

_OF_MEMORY = means("as in [memory](json.md#memory), of its rows the largest")


class MemoryShort(MemoryPeaks, frozen=True):
    """Where the memory of a run went, the largest rows of each list."""

    live_at_peak: Annotated[LiveSet | None, _OF_MEMORY]
    churn: Annotated[Churn | None, _OF_MEMORY]
    segments: Annotated[SegmentsAnswer | None, means("as in [memory](json.md#memory)")]


def memory(run: str, limit: int = FEW_ROWS) -> MemoryShort:
    """Where the memory of a run went: its peaks, what was live then, what a step allocates.

    limit: rows of each list, the largest first.
    """
    answer = memory_answer(run_at(run))
    live, churn = answer.live_at_peak, answer.churn
    return MemoryShort.of(
        answer,
        live_at_peak=live and dataclasses.replace(live, rows=live.rows[: max(1, limit)]),
        churn=churn and dataclasses.replace(churn, rows=churn.rows[: max(1, limit)]),
    )


def telemetry(run: str) -> TelemetryAnswer:
    """The GPU while a run was timed: utilisation, power, energy, clocks and what held them down."""
    opened = run_at(run)
    return telemetry_answer(opened.record, *opened.required_telemetry(), opened.metrics)


def gate(baseline: str, candidate: Candidate, limits: dict[str, str] | None = None) -> GateAnswer:
    """Is the candidate within limits: pass, regression or cannot judge, and why for each limit.

    limits: quantity to limit, as {"step_time": "+3%", "graph_breaks": "+0", "peak_memory": "2GB"};
    a sign makes it a change against the baseline. Default: step_time +3%.
    """
    pair = pair_of(baseline, candidate)
    return gate_answer(pair.gate(limits_of(limits or {}), []), pair.labels)


def sweep(run: str) -> SweepAnswer:
    """A sweep over batch size or another option: from which value on compiling pays, each point.

    run: any run of any of its points, or the folder of a sweep.
    """
    return sweep_answer(sweep_at(path_of(run)))


def ranks(run: str) -> RanksAnswer:
    """Who waits for whom among the ranks of a distributed job, and in which collectives.

    run: the id of a run of several ranks, or a folder of rank traces, or a whole capture.
    Of the collectives the three that are waited for longest; `ranks --json` has all, and steps.
    """
    answer = ranks_answer(jobs_at(str(path_of(run))))
    return msgspec.structs.replace(answer, jobs=tuple(map(_in_brief, answer.jobs)))


def _in_brief(job: JobAnswer) -> JobAnswer:
    """Without single steps, ranks beyond those that wait or are waited for most, and repetitions.

    A group of one rank says again what the rank's own entry says.
    """
    by_wait = sorted(job.arrivals, key=lambda arrival: arrival.wait_ns, reverse=True)
    by_effect = sorted(
        job.ranks, key=lambda rank: max(rank.waited_ns, rank.made_wait_ns), reverse=True
    )[:_MOST_RANKS]
    own_entries = {(rank.rank,) for rank in by_effect}
    return msgspec.structs.replace(
        job,
        arrivals=tuple(by_wait[:_MOST_ARRIVALS]),
        ranks=tuple(msgspec.structs.replace(rank, steps=()) for rank in by_effect),
        alike=tuple(group for group in job.alike if tuple(group.ranks) not in own_entries),
    )


SPECIAL = (memory, telemetry, gate, sweep, ranks)

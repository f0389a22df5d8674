"""The ranks of one job, or of several side by side."""

from collections.abc import Mapping, Sequence
from typing import Annotated

from profiler_core.analysis.ranks.alike import AlikeRanks
from profiler_core.analysis.ranks.claim import Claim, claim_of
from profiler_core.analysis.ranks.comparison import overlap_share
from profiler_core.analysis.ranks.critical import CriticalPath
from profiler_core.analysis.ranks.job import CollectiveRow, Straggler
from profiler_core.analysis.ranks.links import Link
from profiler_core.analysis.ranks.matching import Arrival
from profiler_core.analysis.ranks.rank_compiling import without_log
from profiler_core.analysis.ranks.rank_time import StepTime
from profiler_core.analysis.wording.ranks import headline, without_profiler
from profiler_core.analysis.wording.sentence import plain
from profiler_core.answers.record import Answer, means
from profiler_core.ranks.hta.answer import HtaAnswer
from profiler_core.session.job import PlacedJob, compared
from profiler_core.session.rank_compiling import compiling_of

_OF_ALL = means("of all ranks together")


class RankTimes(Answer, frozen=True):
    """One rank, per step: means over the steps that all ranks have."""

    rank: int
    step_ns: float
    compute_ns: float
    communication_ns: float
    exposed_communication_ns: float
    exposed_copy_ns: float
    idle_ns: float
    waited_ns: float
    made_wait_ns: float
    n_last: float
    overlap_share: float | None


class RankAnswer(RankTimes, frozen=True):
    """One rank with its single steps."""

    steps: Annotated[tuple[StepTime, ...], means("{keys}")]


class HeldClockAnswer(Answer, frozen=True):
    """What held a clock back."""

    name: Annotated[str, means("NVML's")]
    share: Annotated[float, means("of the samples")]


class SlowClockAnswer(Answer, frozen=True):
    """The lower clock of the late rank's GPU."""

    mhz: float
    others_mhz: Annotated[float, means("median of the other ranks")]
    cost_ns: Annotated[float, means("of what the rank works more, by its clock, per step")]
    held_by: Annotated[tuple[HeldClockAnswer, ...], means("{keys}")]
    is_profiled: Annotated[bool, means("sampled in the profiled steps; else in all of the run's")]


class LatenessAnswer(Answer, frozen=True):
    """What the late rank needs more than the others, ns per step."""

    rank: int
    total_ns: Annotated[float, means("what the others wait for it")]
    in_bubble_ns: Annotated[
        float, means("of that what fills its pipeline's bubble, without which no step is shorter")
    ]
    work_ns: Annotated[Mapping[str, float], means("by category")]
    idle_ns: Annotated[Mapping[str, float], means("by cause")]
    stalled_ns: Annotated[float, means("of the idle time, while its host stood still")]
    clock: Annotated[
        SlowClockAnswer | None, means("{keys}; null: no lower one makes it late, or none is known")
    ]


class CriticalPathAnswer(Answer, frozen=True):
    """The job's step along the rank that the others wait for, ns per step, profiled."""

    rank: int
    shown: Annotated[int, means("the rank whose work, kernels and groups are shown")]
    step_ns: Annotated[float, means("of the slowest rank; the parts below sum to it")]
    work_ns: Annotated[
        Mapping[str, float], means("by category, as it costs alone; communication: transfers")
    ]
    slowed_ns: Annotated[float, means("what kernels took longer beside transfers")]
    slowed_by_waiting_ns: Annotated[float, means("… beside collectives that waited")]
    overlap_ns: Annotated[float, means("below 0: what streams ran at the same time")]
    idle_ns: Annotated[Mapping[str, float], means("by cause")]
    waited_ns: Annotated[Mapping[str, float], means("exposed, by the rank that came last")]
    late: LatenessAnswer | None


class MeshAnswer(Answer, frozen=True):
    """One dimension of the mesh that the process groups make."""

    label: str
    size: int


class RankCompilingAnswer(Answer, frozen=True):
    """Compiling on one rank, as its own logs say."""

    rank: int
    seconds: Annotated[float | None, means("each instant once; null where its logs tell no time")]
    n_compilations: int | None
    n_recompiles: int
    alone_s: Annotated[
        float | None,
        means("while no other rank compiled; null unless all ranks' logs tell times"),
    ]
    made_wait_s: Annotated[
        float | None, means("another rank waited in collectives of the profiled steps meanwhile")
    ]


class JobAnswer(Answer, frozen=True):
    """One job."""

    source: Annotated[str, means("the place")]
    headline: Annotated[str, means("who waits for whom, in one sentence")]
    claim: Annotated[
        Claim,
        means(
            "the same: {keys}",
            waiting="`for_rank`, `in_turn`, `none`, `untold`, `no_rank`",
            step_ns="unprofiled; null: it was not timed, and the claim is of the profiled steps",
            late_ns="what the others wait for the rank, without the profiler",
            untold_ns="profiled waiting that may be the profiler's doing",
        ),
    ]
    without_profiler: Annotated[
        str, means("what the profiled steps say otherwise, in one sentence; else empty")
    ]
    ranks: Annotated[tuple[RankAnswer, ...], means("one entry a rank: {keys}")]
    collectives: Annotated[
        tuple[CollectiveRow, ...],
        means(
            "one entry a kind and group size, per step and rank: {keys}",
            bus_bandwidth="bytes a second",
        ),
    ]
    arrivals: Annotated[
        tuple[Arrival, ...], means("the collectives of a step in launch order: {keys}")
    ]
    n_steps: Annotated[int, means("steps that all ranks have")]
    world_size: Annotated[int | None, means("ranks of the job as its traces say")]
    missing: Annotated[tuple[int, ...], means("ranks of the job that are not here")]
    step_ns: Annotated[float | None, _OF_ALL]
    wait_share: Annotated[float | None, _OF_ALL]
    compute_imbalance: Annotated[float | None, _OF_ALL]
    skew_ns: Annotated[float | None, _OF_ALL]
    overlap_share: Annotated[float | None, _OF_ALL]
    straggler: Annotated[
        Straggler | None,
        means("the claim's rank in the profiled steps: {keys}; null where it does not stand out"),
    ]
    critical_path: Annotated[
        CriticalPathAnswer | None,
        means("{keys}; null for one rank, and where the ranks have no step in common"),
    ]
    mesh: Annotated[
        tuple[MeshAnswer, ...],
        means("dimensions of the process groups, nearest ranks first: {keys}"),
    ]
    alike: Annotated[
        tuple[AlikeRanks, ...],
        means(
            "groups of ranks that behave alike (within 2 % of the step), the largest first; times "
            "are means per step: {keys}",
            where="coordinates that only they share, or the ranks",
        ),
    ]
    links: Annotated[
        tuple[Link, ...],
        means(
            "groups of ranks whose collectives other groups have too, the slowest first: {keys}",
            slower="its time over the median of the others",
            bus_bandwidth="bytes a second",
            others_bandwidth="likewise, at that median",
        ),
    ]
    compiling: Annotated[
        tuple[RankCompilingAnswer, ...],
        means("one entry a rank: {keys}; empty where no log tells it"),
    ]
    on_gpu: Annotated[bool, means("false: operators, and the collectives of gloo's threads")]
    notes: Annotated[
        tuple[str, ...], means("what was guessed, left out or could not be told, sentences")
    ]


class MeasureAnswer(Answer, frozen=True):
    """One measure of several jobs."""

    key: str
    label: str
    unit: Annotated[str, means("`ns`, `share`, `rank`, `bytes_per_s`")]
    values: Annotated[tuple[float | None, ...], means("one a job")]


class RanksAnswer(Answer, frozen=True):
    """`ranks`."""

    jobs: Annotated[tuple[JobAnswer, ...], means("one entry a place, baseline first, see below")]
    comparison: Annotated[tuple[MeasureAnswer, ...], means("for several jobs: {keys}")]
    hta: Annotated[
        HtaAnswer | None,
        means(
            "with `--hta`, else null: {keys}",
            status="`agrees`, `differs`, `alone`, `failed`, `absent`",
        ),
    ] = None


def ranks_answer(jobs: Sequence[PlacedJob], hta: HtaAnswer | None = None) -> RanksAnswer:
    """Of jobs side by side, the baseline first."""
    return RanksAnswer(tuple(map(_job, jobs)), tuple(map(MeasureAnswer.of, compared(jobs))), hta)


def _job(placed: PlacedJob) -> JobAnswer:
    job, compiling = placed.timed, compiling_of(placed)
    claim = claim_of(job)
    is_named = job.straggler is not None and job.straggler.rank == claim.rank
    return JobAnswer.of(
        job,
        source=placed.source,
        headline=plain(headline(job)),
        claim=claim,
        straggler=job.straggler if is_named else None,
        without_profiler=without_profiler(job),
        overlap_share=overlap_share(job),
        ranks=tuple(map(RankAnswer.of, job.ranks)),
        mesh=tuple(map(MeshAnswer.of, job.mesh)),
        critical_path=_critical(job.critical),
        compiling=tuple(
            RankCompilingAnswer.of(row, n_recompiles=len(row.recompiles)) for row in compiling
        ),
        notes=(*job.notes, *without_log(compiling)),
    )


def _critical(path: CriticalPath | None) -> CriticalPathAnswer | None:
    if path is None:
        return None
    late = None
    if path.late is not None:
        clock = path.late.clock
        held_by = tuple(map(HeldClockAnswer.of, clock.held_by)) if clock is not None else ()
        late = LatenessAnswer.of(
            path.late,
            total_ns=path.late.total_ns,
            in_bubble_ns=path.late_in_bubble_ns,
            clock=SlowClockAnswer.of(clock, held_by=held_by) if clock is not None else None,
        )
    waited_ns = {str(rank): ns for rank, ns in path.waited_ns.items()}
    return CriticalPathAnswer.of(path, late=late, waited_ns=waited_ns)

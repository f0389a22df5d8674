"""Where the memory of one run went."""

from typing import Annotated

from profiler_core.analysis.memory.churn import Churn
from profiler_core.analysis.memory.live import LiveSet
from profiler_core.analysis.memory.segments import Pool
from profiler_core.analysis.memory.snapshot import Origin
from profiler_core.answers.record import Answer, means
from profiler_core.session.run import Run


class NamedRun(Answer, frozen=True):
    """Which run it is."""

    name: str
    variant: str


class SegmentsAnswer(Answer, frozen=True):
    """The allocator's segments when the snapshot was taken."""

    device: int
    reserved_bytes: int
    allocated_bytes: int
    free_bytes: int
    split_free_bytes: int
    whole_free_bytes: int
    private_free_bytes: int
    largest_free_bytes: int
    rounding_bytes: int | None
    n_segments: int
    n_free_blocks: int
    pools: Annotated[tuple[Pool, ...], means("{keys}")]


class OriginAnswer(Answer, frozen=True):
    """What tensors were made for."""

    label: str
    operator: str | None
    path: tuple[str, ...]
    n: int
    bytes: int


class SnapshotAnswer(Answer, frozen=True):
    """The history of a snapshot."""

    device: int
    peak_bytes: int
    before_bytes: int
    live: Annotated[tuple[OriginAnswer, ...], means("{keys}")]
    allocations: Annotated[tuple[OriginAnswer, ...], means("the same of all that was allocated")]


class MemoryPeaks(Answer, frozen=True):
    """What was reached, and what that rests on."""

    run: Annotated[NamedRun, means("{keys}")]
    peak_reserved_bytes: Annotated[
        int | None, means("the most that the allocator held from the device", "bytes")
    ]
    peak_allocated_bytes: Annotated[int | None, means("the most that tensors held", "bytes")]
    peaks_are_least: Annotated[
        bool, means("they are of what is left of a cut trace: the run's own are at least these")
    ]
    source: Annotated[str | None, means("where the two come from, in words")]
    before_bytes: Annotated[
        int | None,
        means("of the allocated peak, what was there before profiled steps", "bytes"),
    ]
    n_steps: Annotated[int, means("what is divided by, for numbers per step", "count")]
    notes: Annotated[
        tuple[str, ...], means("one sentence for each thing that the files do not allow")
    ]


class MemoryAnswer(MemoryPeaks, frozen=True):
    """`memory`."""

    live_at_peak: Annotated[
        LiveSet | None,
        means("{keys}; before_bytes and the rows sum to peak_bytes"),
    ]
    churn: Annotated[Churn | None, means("per step: {keys}; the rows sum to the other two")]
    segments: Annotated[SegmentsAnswer | None, means("of the snapshot: {keys}", "bytes")]
    snapshot: Annotated[SnapshotAnswer | None, means("its history: {keys}")]


def memory_answer(opened: Run) -> MemoryAnswer:
    """Of one run."""
    report = opened.memory
    segments, history = report.segments, report.history
    return MemoryAnswer.of(
        report,
        run=NamedRun.of(opened.record),
        peak_reserved_bytes=report.peaks.reserved_bytes,
        peak_allocated_bytes=report.peaks.allocated_bytes,
        peaks_are_least=report.peaks.is_least,
        source=report.peaks.source,
        live_at_peak=report.live,
        segments=segments and SegmentsAnswer.of(segments, n_segments=len(segments.segments)),
        snapshot=history
        and SnapshotAnswer.of(
            history,
            history.live,
            live=_origins(history.live.rows),
            allocations=_origins(history.largest),
        ),
        notes=memory_notes(opened),
    )


def memory_notes(opened: Run) -> tuple[str, ...]:
    """Notes on missing memory data, and on files that cannot be read."""
    problems = opened.problems("trace", "stacks", "memory snapshot")
    return (*opened.memory.notes, *(problem.problem for problem in problems))


def _origins(rows: tuple[tuple[Origin, int, int], ...]) -> tuple[OriginAnswer, ...]:
    return tuple(OriginAnswer.of(origin, n=n, bytes=size) for origin, n, size in rows)

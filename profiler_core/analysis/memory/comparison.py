"""Two runs' memory beside each other: what changed, and what bounds the change.

Words are made of it by `wording.memory`.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

from profiler_core.analysis.ledger.result import FusionLedger
from profiler_core.analysis.memory.report import MemoryReport, span_beside
from profiler_core.analysis.memory.vanished import Vanished, vanished_by_group, vanished_by_source
from profiler_core.analysis.span import PER_STEP, Span
from profiler_core.errors import FusionscopeError


@dataclass(frozen=True)
class Held:
    """Of what one run reserves at its peak; the four add up to it. Bytes."""

    made_bytes: int  # by the step at its allocated peak, outside of CUDA graphs' pools
    before_bytes: int  # in use since before the step; beside CUDA graphs in use outside of pools
    free_bytes: int  # reserved, not in use, in no private pool
    pool_bytes: int  # in private pools of CUDA graphs


@dataclass(frozen=True)
class MemoryComparison:
    """Baseline and candidate; bytes. None: one of the two lacks what it needs."""

    peak_of: Literal["reserved", "allocated"] | None  # what both have; reserved first
    peak_bytes: tuple[int, int] | None
    there_before: float | None  # share of the baseline's allocated peak; compiling keeps it
    of_step_bytes: tuple[int | None, int | None]  # of the allocated peaks, made by the step
    pool_bytes: int  # in private pools of the candidate's CUDA graphs
    vanished: Vanished | None
    problem: str | None  # why `vanished` is None
    least: tuple[bool, bool] = (False, False)  # are its peaks of what is left of a cut trace?
    held: tuple[Held, Held] | None = None  # what the reserved peaks consist of
    # What the profiled steps make at most, where the allocator's peak is of other steps; else None.
    of_profiled_bytes: tuple[int | None, int | None] = (None, None)
    span: Span = PER_STEP  # IN_TRACE: no trace marks steps, and all that it holds is its "step"


def compare_memory(
    baseline: MemoryReport,
    candidate: MemoryReport,
    make_ledger: Callable[[], FusionLedger] | None = None,
) -> MemoryComparison:
    """Join two reports.

    Args:
        baseline: one run.
        candidate: the other.
        make_ledger: called only where both runs have [memory] events; may raise what users can
            understand, and then the snapshots' source lines are used.
    """
    vanished, problem = _vanished(baseline, candidate, make_ledger)
    peak_of, peak_bytes = _peaks(baseline, candidate)
    # What a whole trace without steps makes is nothing that a step makes, nor is a part of one.
    is_one_span = baseline.span == candidate.span and not (baseline.is_cut or candidate.is_cut)
    of_steps = (
        _of_step(baseline) if is_one_span else None,
        _of_step(candidate) if is_one_span and candidate.live is not None else None,
    )
    peak = baseline.peaks.allocated_bytes
    held = _both_held(baseline, candidate) if peak_of == "reserved" and is_one_span else None
    return MemoryComparison(
        peak_of=peak_of,
        peak_bytes=peak_bytes,
        there_before=None if of_steps[0] is None or not peak else 1 - of_steps[0] / peak,
        least=(baseline.peaks.is_least, candidate.peaks.is_least),
        of_step_bytes=of_steps,
        of_profiled_bytes=(
            (_of_profiled(baseline), _of_profiled(candidate)) if is_one_span else (None, None)
        ),
        pool_bytes=candidate.segments.private_bytes if candidate.segments else 0,
        vanished=vanished,
        problem=problem,
        held=held,
        span=span_beside((baseline, candidate)),
    )


def _vanished(
    baseline: MemoryReport,
    candidate: MemoryReport,
    make_ledger: Callable[[], FusionLedger] | None,
) -> tuple[Vanished | None, str | None]:
    problem = None
    if baseline.replays or candidate.replays:
        return None, (
            "What fusion removed cannot be told beside CUDA graphs: a replay allocates nothing, "
            "and buffers that moved to a graph's private pool would look as if they had vanished. "
            'Take a run without CUDA graphs (mode "default") to see it.'
        )
    if baseline.made is not None and candidate.made is not None and make_ledger is not None:
        try:
            return (
                vanished_by_group(
                    make_ledger(),
                    baseline.made,
                    candidate.made,
                    (baseline.n_steps, candidate.n_steps),
                ),
                None,
            )
        except FusionscopeError as error:
            problem = error.problem
    if baseline.history is not None and candidate.history is not None:
        return vanished_by_source(baseline.history, candidate.history), None
    return None, problem or (
        "What vanished needs the single allocations of both runs: [memory] events, or snapshots "
        "with their history. A CUDA graph's replay makes neither."
    )


def _peaks(
    baseline: MemoryReport, candidate: MemoryReport
) -> tuple[Literal["reserved", "allocated"] | None, tuple[int, int] | None]:
    """The peaks that both have: of what was reserved, else of what was allocated."""
    if baseline.peaks.is_least or candidate.peaks.is_least:
        return None, None
    reserved = baseline.peaks.reserved_bytes, candidate.peaks.reserved_bytes
    if reserved[0] and reserved[1] is not None:
        return "reserved", (reserved[0], reserved[1])
    allocated = baseline.peaks.allocated_bytes, candidate.peaks.allocated_bytes
    if allocated[0] and allocated[1] is not None:
        return "allocated", (allocated[0], allocated[1])
    return None, None


def _both_held(baseline: MemoryReport, candidate: MemoryReport) -> tuple[Held, Held] | None:
    before, after = _held(baseline), _held(candidate)
    return None if before is None or after is None else (before, after)


def _held(report: MemoryReport) -> Held | None:
    """The parts of its reserved peak; None: the files do not say them."""
    reserved, segments = report.peaks.reserved_bytes or 0, report.segments
    if not report.replays:
        made, before = _of_step(report), report.before_bytes
        if made is None or before is None or made + before > reserved:
            return None
        return Held(made, before, reserved - made - before, 0)
    outside = report.outside_pools
    if outside is None or segments is None:
        return None
    parts = outside.made_bytes, outside.before_bytes, outside.free_bytes
    return Held(*parts, segments.private_bytes)


def _of_profiled(report: MemoryReport) -> int | None:
    """What the profiled steps make at most; None: as much as the step of the allocated peak."""
    made = report.made_by_step_bytes
    return None if made is None or _of_step(report) in (None, made) else made


def _of_step(report: MemoryReport) -> int | None:
    """What the step makes of the allocated peak; the rest was there before it."""
    before, peak = report.before_bytes, report.peaks.allocated_bytes
    return peak - before if before is not None and peak and 0 <= before <= peak else None

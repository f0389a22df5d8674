"""Two runs' memory beside each other: what changed, and what bounds the change."""

from collections.abc import Callable
from dataclasses import dataclass

from profiler_core.analysis.ledger.result import FusionLedger
from profiler_core.analysis.memory.report import MemoryReport
from profiler_core.analysis.memory.vanished import Vanished, vanished_by_group, vanished_by_source
from profiler_core.errors import FusionscopeError
from profiler_core.units import format_bytes, format_change, format_share


@dataclass(frozen=True)
class MemoryComparison:
    """Baseline and candidate. None: one of the two lacks what it needs."""

    headline: str
    bound: str | None  # what keeps the peak from changing more
    vanished: Vanished | None
    problem: str | None  # why `vanished` is None


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
    return MemoryComparison(
        _headline(baseline, candidate), _bound(baseline, candidate), vanished, problem
    )


def _vanished(
    baseline: MemoryReport,
    candidate: MemoryReport,
    make_ledger: Callable[[], FusionLedger] | None,
) -> tuple[Vanished | None, str | None]:
    problem = None
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


def _headline(baseline: MemoryReport, candidate: MemoryReport) -> str:
    baseline_bytes, candidate_bytes = baseline.peaks.reserved_bytes, candidate.peaks.reserved_bytes
    if baseline_bytes is None or candidate_bytes is None or not baseline_bytes:
        baseline_bytes, candidate_bytes = (
            baseline.peaks.allocated_bytes,
            candidate.peaks.allocated_bytes,
        )
        if baseline_bytes is None or candidate_bytes is None or not baseline_bytes:
            return "The files do not say the peaks of both runs."
        verb = "allocates"
    else:
        verb = "reserves"
    ratio = candidate_bytes / baseline_bytes
    if abs(ratio - 1) < 0.02:
        return f"The candidate {verb} as much as the baseline: {format_bytes(candidate_bytes)}."
    return (
        f"The candidate {verb} {_in_words(ratio)} at its peak: {format_bytes(candidate_bytes)} "
        f"against {format_bytes(baseline_bytes)}."
    )


def _in_words(ratio: float) -> str:
    """A change as people say it: "7 % less", "12 % more", "×11.2 as much"."""
    change = format_change(ratio)
    ending = {"−": " less", "+": " more"}.get(change[0])
    return change[1:] + ending if ending else change + " as much"


def _bound(baseline: MemoryReport, candidate: MemoryReport) -> str | None:
    """What compiling cannot touch, and what a graph's pool costs."""
    sentences = []
    before, peak = baseline.before_bytes, baseline.peaks.allocated_bytes
    if before is not None and peak and 0 <= before <= peak:
        of_step = peak - before
        sentences.append(
            f"{format_share(before / peak)} of what the baseline has allocated at its peak was "
            f"there before the step (weights, inputs, optimizer state), and compiling cannot "
            f"change it; {format_bytes(of_step)} are made by the step."
        )
        candidate_before, after = candidate.before_bytes, candidate.peaks.allocated_bytes
        if (
            candidate_before is not None
            and after
            and 0 <= candidate_before <= after
            and candidate.live is not None
        ):
            sentences.append(f"In the candidate it is {format_bytes(after - candidate_before)}.")
    pools = candidate.segments.private_bytes if candidate.segments else 0
    if pools:
        sentences.append(
            f"{format_bytes(pools)} of what the candidate reserves belong to the private pools of "
            "its CUDA graphs: they are kept between replays."
        )
    return " ".join(sentences) or None

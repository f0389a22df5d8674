"""Everything a report shows, whatever its format."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime

from profiler_core.analysis.compare import CandidateComparison, ComparedNumbers, Side
from profiler_core.analysis.compilation.report import (
    CompilationReport,
    compilation_report,
    says_something,
)
from profiler_core.analysis.compilation.skipped_frames import Other
from profiler_core.analysis.explanation import (
    Explanation,
    Material,
    explanations,
    others_beside,
)
from profiler_core.analysis.headline import leading
from profiler_core.analysis.kernel_sides import KernelRow, kernel_sides
from profiler_core.analysis.shared_categories import sides_of
from profiler_core.model.review import Review


@dataclass(frozen=True)
class Contents:
    """One comparison with what explains it. Runs are in their order, the baseline first."""

    comparison: ComparedNumbers
    sides: tuple[Side, ...]  # kernels in categories that all runs share
    explanations: tuple[Explanation, ...]  # of the candidates
    compilations: tuple[CompilationReport | None, ...]  # of all runs; None: no compiler spoke
    kernels: tuple[KernelRow, ...]  # of the runs in kernel_runs
    kernel_runs: tuple[int, ...]  # places of the runs that have a trace
    made_at: str  # ISO 8601, UTC
    is_redacted: bool = False
    review: Review | None = None  # what a team made of it
    review_url: str = ""  # where it is to be found; empty: nobody said

    @property
    def labels(self) -> tuple[str, ...]:
        """What the runs are called."""
        return tuple(side.label for side in self.sides)

    @property
    def lead(self) -> CandidateComparison | None:
        """The candidate that the headline is about."""
        return leading(self.comparison)

    @property
    def order(self) -> tuple[int, ...]:
        """Places of the candidates, the leading one first."""
        numbers = range(len(self.comparison.candidates))
        return tuple(sorted(numbers, key=lambda n: self.comparison.candidates[n] is not self.lead))

    @property
    def time_word(self) -> str:
        """What the kernels' times are."""
        on_gpu = any(s.summary is not None and s.summary.device_kind == "gpu" for s in self.sides)
        return "GPU time" if on_gpu else "operator time"


def gather(
    comparison: ComparedNumbers, materials: Sequence[Material], *, now: datetime | None = None
) -> Contents:
    """Run the analyses that a report needs.

    Args:
        comparison: at least a baseline.
        materials: the files of the baseline, then of each candidate.
        now: when the report is made; this moment by default.
    """
    beside = others_beside(comparison, materials)
    sides = sides_of(comparison)
    with_trace = tuple(number for number, side in enumerate(sides) if side.summary is not None)
    summaries = [side.summary for side in sides if side.summary is not None]
    moment = (now or datetime.now(UTC)).astimezone(UTC)
    return Contents(
        comparison=comparison,
        sides=sides,
        explanations=explanations(comparison, materials),
        compilations=tuple(
            _compilation(comparison, number, material, beside[number])
            for number, material in enumerate(materials)
        ),
        kernels=kernel_sides(summaries),
        kernel_runs=with_trace,
        made_at=moment.isoformat(timespec="seconds"),
    )


def _compilation(
    comparison: ComparedNumbers, number: int, material: Material, others: Sequence[Other]
) -> CompilationReport | None:
    log = material.compile_log
    if log is None or not says_something(log):
        return None
    side = (comparison.baseline, *comparison.sides)[number]
    saved = None
    if number:
        time = comparison.candidates[number - 1].step_time
        if time.clock == "unprofiled" and None not in (time.baseline_ns, time.candidate_ns):
            saved = float((time.baseline_ns or 0) - (time.candidate_ns or 0))
    return compilation_report(
        log,
        trace=material.trace,
        measurement=side.run.record.measurement,
        saved_ns=saved,
        others=others,
    )

"""Everything a report shows of a comparison or of one run, whatever the format."""

from dataclasses import dataclass
from datetime import UTC, datetime

from profiler_core.analysis.compare import CandidateComparison, ComparedNumbers
from profiler_core.analysis.compilation.report import CompilationReport
from profiler_core.analysis.explanation import Explanation
from profiler_core.analysis.findings import Finding
from profiler_core.analysis.kernel_sides import KernelRow
from profiler_core.analysis.ranks.job import Job
from profiler_core.analysis.run_labels import names_together
from profiler_core.analysis.side import Side
from profiler_core.analysis.span import Span
from profiler_core.analysis.verdict import leading
from profiler_core.model.review import Review
from profiler_core.session.comparison import Comparison
from profiler_core.session.run import RunFindings


@dataclass(frozen=True)
class Contents:
    """One comparison, or one run, with what explains it. The baseline is the first run."""

    comparison: ComparedNumbers
    sides: tuple[Side, ...]  # kernels in categories that all runs share
    explanations: tuple[Explanation, ...]  # of the candidates
    compilations: tuple[CompilationReport | None, ...]  # of all runs; None: no compiler spoke
    jobs: tuple[Job | None, ...]  # of all runs; None: it ran as one process
    kernels: tuple[KernelRow, ...]  # of the runs in kernel_runs
    kernels_span: Span  # what their times are of: "per step", or of a cut trace "in the trace"
    kernel_runs: tuple[int, ...]  # places of the runs with a trace, on GPUs where one is
    made_at: str  # ISO 8601, UTC
    alone: RunFindings | None = None  # of the only run; None: there are candidates
    left_out: tuple[str, ...] = ()  # what the numbers leave out, one sentence each
    is_redacted: bool = False
    review: Review | None = None  # what a team made of it
    review_url: str = ""  # where it can be opened; empty: unknown

    @property
    def labels(self) -> tuple[str, ...]:
        """What the runs are called."""
        return tuple(side.label for side in self.sides)

    @property
    def subject(self) -> str:
        """What was run."""
        records = [side.run.record for side in self.sides]
        names = [record.name for record in records if record.name]
        return records[0].workload or names_together(names) or "Comparison"

    @property
    def title(self) -> str:
        """What the report is about, in a few words: "bert: default against eager"."""
        baseline, *candidates = self.labels
        runs = f"{', '.join(candidates)} against {baseline}" if candidates else baseline
        says_no_more = self.subject in ("Comparison", names_together(self.labels))
        return runs if says_no_more else f"{self.subject}: {runs}"

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
    def findings(self) -> tuple[tuple[str, tuple[Finding, ...]], ...]:
        """Each candidate's label with what stands out in it; of a run alone its own."""
        if self.alone is not None:
            return ((self.labels[0], self.alone.findings or ()),)
        return tuple(
            (label, explanation.findings or ())
            for label, explanation in zip(self.labels[1:], self.explanations, strict=True)
        )

    @property
    def time_word(self) -> str:
        """What the kernels' times are."""
        on_gpu = any(s.summary is not None and s.summary.device_kind == "gpu" for s in self.sides)
        return "GPU time" if on_gpu else "operator time"


def gather(comparison: Comparison, *, now: datetime | None = None) -> Contents:
    """Ask the runs and their pairs what a report shows.

    Args:
        comparison: a baseline, with candidates or alone.
        now: when the report is made; this moment by default.
    """
    kernel_runs = comparison.on_one_axis(comparison.traced)
    kernels, span = comparison.kernels_told(kernel_runs)
    moment = (now or datetime.now(UTC)).astimezone(UTC)
    return Contents(
        comparison=comparison.judged,
        sides=comparison.sides,
        explanations=tuple(pair.explanation for pair in comparison.pairs),
        compilations=tuple(
            comparison.compilation_of(index) if run.compiler_spoke else None
            for index, run in enumerate(comparison.runs)
        ),
        jobs=tuple(run.job for run in comparison.runs),
        kernels=kernels,
        kernels_span=span,
        kernel_runs=kernel_runs,
        made_at=moment.isoformat(timespec="seconds"),
        alone=None if comparison.pairs else comparison.baseline.alone,
        left_out=comparison.left_out,
    )

"""What an agent may ask first. Names, docstrings and parameters are what it reads: they are short.

Times are ns per step unless the key says otherwise; absent data is null. docs/mcp.md defines keys.
"""

from collections.abc import Mapping
from typing import Annotated

from msgspec import UNSET, UnsetType

from profiler_core.agents.answer import FEW_ROWS, Page, bounds, page_of
from profiler_core.agents.compiler import COMPILER
from profiler_core.agents.fusion import FUSION
from profiler_core.agents.kernels import KERNELS, KernelRow, kernel_rows
from profiler_core.agents.modules import MODULES
from profiler_core.agents.runs import Candidate, compared, pair_of, run_at
from profiler_core.agents.special import SPECIAL
from profiler_core.analysis.finding_rules.facts import Page as DashboardPage
from profiler_core.analysis.step_time import step_time_ns
from profiler_core.answers.compare import CandidateAnswer, CandidateNumbers, comparison_answer
from profiler_core.answers.explanation import (
    BarHead,
    FindingAnswer,
    FindingDetails,
    FindingHead,
    FusionTotals,
    finding_answer,
)
from profiler_core.answers.overlap import OverlapRowAnswer
from profiler_core.answers.record import Answer, means
from profiler_core.answers.summary import SummaryNumbers, summary_answer
from profiler_core.store import catalogue, library

# The tool that shows more of a finding: by its key, else by the dashboard's page of it.
_TOOLS_OF_KEYS = {
    "graph_breaks": "graph_breaks",
    "frame_skipped": "graph_breaks",
    "recompiles": "recompiles",
    "cudagraphs_skipped": "cudagraphs",
}
_TOOLS_OF_PAGES: Mapping[DashboardPage, str] = {
    "overview": "compare",
    "kernels": "kernels",
    "fusion": "fusion_groups",
    "timeline": "compare",  # its waterfall says what the device waits for
    "compilation": "compile_time",
    "memory": "memory",
    "telemetry": "telemetry",
    "ranks": "ranks",
}


class RunRow(Answer, frozen=True):
    """A run of the library."""

    id: str
    variant: str
    status: str
    step_time_ns: float | None


class SweepOf(Answer, frozen=True):
    """The sweep that a run is a point of."""

    id: str
    name: str
    value: object


class ListedComparison(Answer, frozen=True):
    """A baseline with its candidates."""

    id: Annotated[str, means("of the capture, which `compare` takes as `baseline`")]
    workload: str
    created_at: str
    baseline: Annotated[RunRow, means("{keys}")]
    candidates: Annotated[tuple[RunRow, ...], means("as `baseline`")]
    sweep: Annotated[SweepOf | UnsetType, means("{keys}; absent where it is of none")] = UNSET
    n_ranks: Annotated[int | UnsetType, means("absent where there is one")] = UNSET
    has_counters: Annotated[bool | UnsetType, means("absent where none were asked for")] = UNSET


class RunsPage(Page, frozen=True):
    """Comparisons."""

    rows: tuple[ListedComparison, ...]


class SummaryShort(SummaryNumbers, frozen=True):
    """A summary without what has tools of its own."""

    n_steps: Annotated[int, means("profiled steps, which totals are over")]
    kernels: Annotated[tuple[KernelRow, ...], means("the longest, as `kernels` has them")]
    findings: Annotated[tuple[FindingHead, ...], means("{keys}")]


class FusionShort(FusionTotals, frozen=True):
    """The ledger in totals."""

    n_groups: int


class OverlapShort(Answer, frozen=True):
    """What became of the exchange of two jobs."""

    rows: Annotated[
        tuple[OverlapRowAnswer, ...], means("one entry a kind and process group: {keys}")
    ]
    sentences: tuple[str, ...]


class CandidateShort(CandidateNumbers, frozen=True):
    """A candidate without what has tools of its own."""

    waterfall: Annotated[tuple[BarHead, ...], means("{keys}")]
    fusion: Annotated[FusionShort | None, means("{keys}")]
    overlap: Annotated[OverlapShort | None, means("of two jobs of ranks; null elsewhere: {keys}")]
    findings: Annotated[tuple[FindingHead, ...], means("{keys}")]


class ComparisonShort(Answer, frozen=True):
    """A comparison."""

    baseline: Annotated[str, means("its label")]
    candidates: Annotated[tuple[CandidateShort, ...], means("{keys}")]


class FindingToAsk(FindingDetails, frozen=True):
    """A finding, and which tool shows more of it."""

    tool: Annotated[str, means("that shows more")]


class Findings(Answer, frozen=True):
    """What stands out."""

    findings: Annotated[tuple[FindingToAsk, ...], means("the most important first: {keys}")]
    notes: tuple[str, ...]


def list_runs(contains: str = "", offset: int = 0, limit: int = 20) -> RunsPage:
    """List comparisons: own captures and uploads, newest first, then samples. Gives run ids.

    contains: only those whose id, workload, variants, GPU or torch hold this text.
    """
    first, size = bounds(offset, limit)
    shown = catalogue.groups(catalogue.Wanted(phrase=contains), offset=first, limit=size)
    return page_of(RunsPage, [_listed(group) for group in shown.groups], shown.n_all, first)


def summary(run: str) -> SummaryShort:
    """One run in numbers, totals over its profiled window: busy, idle and why, launches, memory."""
    opened = run_at(run)
    answer = summary_answer(opened)
    return SummaryShort.of(
        answer,
        n_steps=opened.required_summary().n_steps,
        kernels=tuple(kernel_rows(answer.kernels)[:FEW_ROWS]),
        findings=tuple(map(FindingHead.of, answer.findings or ())),
    )


def compare(baseline: str, candidate: Candidate = "") -> ComparisonShort:
    """Compare runs: verdict, numbers per step as [baseline, candidate], waterfall, findings.

    baseline: a run's id; or a capture's id alone, for all of its runs. candidate: one or several.
    """
    answer = comparison_answer(compared(baseline, candidate))
    return ComparisonShort(answer.baseline.label, tuple(map(_short_candidate, answer.candidates)))


def findings(baseline: str, candidate: Candidate = "") -> Findings:
    """What stands out, most important first, with evidence, advice and time at stake per step.

    candidate: compared with the baseline; without it only `baseline` is looked at. Each names the
    lines of code that it is about, and the tool that shows more.
    """
    if not candidate:
        run = run_at(baseline)
        run.required_trace()
        stands_out, notes = run.alone.findings, run.alone.notes
    else:
        pair = pair_of(baseline, candidate)
        stands_out, notes = pair.findings, pair.explanation.notes
    return Findings(tuple(_to_ask(finding_answer(entry)) for entry in stands_out or ()), notes)


TOOLS = (list_runs, summary, compare, findings, *FUSION, *MODULES, *COMPILER, *KERNELS, *SPECIAL)


def _to_ask(finding: FindingAnswer) -> FindingToAsk:
    tool = _TOOLS_OF_KEYS.get(finding.key) or _TOOLS_OF_PAGES[finding.page]
    return FindingToAsk.of(finding, tool=tool)


def _listed(group: library.Comparable) -> ListedComparison:
    run = group.baseline.run
    counters = run.measurement.counters if run.measurement is not None else None
    return ListedComparison(
        group.key,
        run.workload or run.name,
        group.created_at,
        _run_row(group.baseline),
        tuple(map(_run_row, group.candidates)),
        sweep=UNSET if run.sweep is None else SweepOf.of(run.sweep),
        n_ranks=run.world_size if run.world_size > 1 else UNSET,
        has_counters=UNSET if counters is None else counters.problem is None,
    )


def _run_row(entry: library.Entry) -> RunRow:
    run = entry.run
    return RunRow(entry.key, entry.variant, run.status, step_time_ns(run.measurement))


def _short_candidate(candidate: CandidateAnswer) -> CandidateShort:
    fusion = candidate.fusion
    return CandidateShort.of(
        candidate,
        waterfall=tuple(map(BarHead.of, candidate.waterfall or ())),
        fusion=fusion and FusionShort.of(fusion, n_groups=len(fusion.groups)),
        overlap=candidate.overlap and OverlapShort.of(candidate.overlap),
        findings=tuple(map(FindingHead.of, candidate.findings or ())),
    )

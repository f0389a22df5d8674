"""What an agent may ask. Names, docstrings and parameters are what it reads, so they are short.

Times are ns per step unless the key says otherwise; absent data is null. docs/json.md defines keys.
"""

import dataclasses

from msgspec import UNSET, UnsetType
from msgspec.structs import replace

from profiler_core.agents.answer import Page, page
from profiler_core.agents.kernel_names import named, short_names
from profiler_core.agents.runs import compared, compiled, run_at
from profiler_core.analysis.kernels import KernelTotal
from profiler_core.analysis.ledger.result import FusionGroup
from profiler_core.analysis.step_time import step_time_ns
from profiler_core.answers.compare import CandidateAnswer, CandidateNumbers, comparison_answer
from profiler_core.answers.explanation import (
    BarHead,
    FindingAnswer,
    FindingHead,
    FusionTotals,
    GroupAnswer,
    finding_answer,
    fusion_answer,
)
from profiler_core.answers.logs import (
    BreakCostAnswer,
    FrameSkipAnswer,
    logs_answer,
)
from profiler_core.answers.record import Answer
from profiler_core.answers.summary import SummaryNumbers, summary_answer
from profiler_core.errors import BadInput
from profiler_core.model.compilation import LimitHit
from profiler_core.model.inductor import KernelDefinition
from profiler_core.session.run import Run
from profiler_core.store import library

_CODE_CHARACTERS = 6_000  # of one page of generated code
_FEW_ROWS = 10


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
    """A baseline with its candidates; the last three are absent where a run is an ordinary one."""

    id: str
    workload: str
    created_at: str
    baseline: RunRow
    candidates: tuple[RunRow, ...]
    sweep: SweepOf | UnsetType = UNSET
    n_ranks: int | UnsetType = UNSET
    has_counters: bool | UnsetType = UNSET


class SummaryShort(SummaryNumbers, frozen=True):
    """A summary without what has tools of its own."""

    n_steps: int
    kernels: tuple[KernelTotal, ...]
    findings: tuple[FindingHead, ...]


class FusionShort(FusionTotals, frozen=True):
    """The ledger in totals."""

    n_groups: int


class CandidateShort(CandidateNumbers, frozen=True):
    """A candidate without what has tools of its own."""

    waterfall: tuple[BarHead, ...]
    fusion: FusionShort | None
    findings: tuple[FindingHead, ...]


class ComparisonShort(Answer, frozen=True):
    """A comparison; baseline is its label."""

    baseline: str
    candidates: tuple[CandidateShort, ...]


class Findings(Answer, frozen=True):
    """What stands out."""

    findings: tuple[FindingAnswer, ...]
    notes: tuple[str, ...]


class GroupRow(Answer, frozen=True):
    """A group of the ledger in a line; `fusion_group` takes its number."""

    group: int
    title: str
    kind: str
    phase: str
    module: str | None
    source: str | None
    n_kernels: tuple[float, float]
    class_steps: tuple[int, int]
    baseline_ns: int
    candidate_ns: int
    delta_ns: int
    confidence: str


class NumberedGroup(GroupAnswer, frozen=True):
    """A group of the ledger in full."""

    group: int
    title: str


class BreaksPage(Page, frozen=True):
    """Graph breaks, and what they lead to."""

    frame_skips: tuple[FrameSkipAnswer, ...]
    graph_break_cost: BreakCostAnswer | None
    lower_bound: tuple[str, ...]


class RecompilesPage(Page, frozen=True):
    """Recompilations, and what they lead to."""

    recompile_limit_hits: tuple[LimitHit, ...]
    recompile_cost_ns: int | None
    lower_bound: tuple[str, ...]


class GroupsPage(Page, frozen=True):
    """Fusion groups, and how the ledger knows them."""

    known_by: str
    undecidable_baseline: float | None
    undecidable_candidate: float | None


class KernelsPage(Page, frozen=True):
    """Kernels by name."""

    n_steps: int


class KernelAnswer(Answer, frozen=True, kw_only=True):
    """One kernel with a page of its generated code; code is null where no log has it."""

    n_steps: int
    name: str
    category: str
    n: int
    time_ns: int
    mean_ns: float
    min_ns: int
    max_ns: int
    tensor_cores: bool | None
    compile_id: str | None
    code: str | None
    note: str | UnsetType = UNSET
    inputs: tuple[str, ...] | UnsetType = UNSET
    nodes: tuple[str, ...] | UnsetType = UNSET
    n_code_characters: int | UnsetType = UNSET
    next_code_offset: int | UnsetType = UNSET


def list_runs(contains: str = "", offset: int = 0, limit: int = 20) -> Page:
    """List comparisons: own captures and uploads, newest first, then samples. Gives run ids.

    contains: only those whose id or workload holds this text.
    """
    rows = [_listed(group) for group in library.comparisons()]
    wanted_text = contains.lower()
    shown = [row for row in rows if wanted_text in f"{row.id} {row.workload}".lower()]
    return page(Page, shown, offset, limit)


def summary(run: str) -> SummaryShort:
    """One run in numbers, totals over its profiled window: busy, idle and why, launches, memory."""
    opened = run_at(run)
    answer = summary_answer(opened)
    return SummaryShort.of(
        answer,
        n_steps=opened.required_summary().n_steps,
        kernels=tuple(_short_kernels(answer.kernels)[:_FEW_ROWS]),
        findings=tuple(map(FindingHead.of, answer.findings or ())),
    )


def compare(baseline: str, candidate: str | list[str] | None = None) -> ComparisonShort:
    """Compare runs: verdict, numbers per step as [baseline, candidate], waterfall, findings.

    baseline: a run's id; or a capture's id alone, for all of its runs. candidate: one or several.
    """
    candidates = [candidate] if isinstance(candidate, str) else candidate or []
    answer = comparison_answer(compared(baseline, candidates))
    return ComparisonShort(answer.baseline.label, tuple(map(_short_candidate, answer.candidates)))


def findings(baseline: str, candidate: str = "") -> Findings:
    """What stands out, most important first, with evidence, advice and time at stake per step.

    candidate: compared with the baseline; without it only `baseline` is looked at.
    """
    if not candidate:
        run = run_at(baseline)
        run.required_trace()
        stands_out, notes = run.alone.findings, run.alone.notes
    else:
        pair = compared(baseline, [candidate]).pairs[0]
        stands_out, notes = pair.findings, pair.explanation.notes
    return Findings(tuple(map(finding_answer, stands_out or ())), notes)


def fusion_groups(
    baseline: str,
    candidate: str,
    contains: str = "",
    kind: str = "",
    offset: int = 0,
    limit: int = _FEW_ROWS,
) -> GroupsPage:
    """Which operators of the baseline became which kernels, by how much the time changed.

    contains: text in the title, module, source lines or kernel names. kind: matched, removed,
    "only in the candidate" or unmatched. Ask fusion_group for one of them in full.
    """
    ledger = compared(baseline, [candidate]).pairs[0].ledger
    wanted_text = contains.lower()
    rows = [
        _group_row(number, group, answer)
        for number, (group, answer) in enumerate(
            zip(ledger.groups, fusion_answer(ledger).groups, strict=True)
        )
        if kind in ("", group.kind) and (not wanted_text or wanted_text in _searched(group))
    ]
    rows.sort(key=lambda row: -abs(row.delta_ns))
    return page(GroupsPage, rows, offset, limit, ledger)


def fusion_group(baseline: str, candidate: str, group: int) -> NumberedGroup:
    """One fusion group in full: operators, kernels, bytes, source lines, evidence."""
    ledger = compared(baseline, [candidate]).pairs[0].ledger
    if not 0 <= group < len(ledger.groups):
        raise BadInput(
            f"There is no group {group}: they are numbered from 0 to {len(ledger.groups) - 1}.",
            remedy="Take a number from fusion_groups.",
        )
    details = fusion_answer(ledger).groups[group]
    return NumberedGroup.of(details, group=group, title=ledger.groups[group].title)


def graph_breaks(run: str, offset: int = 0, limit: int = _FEW_ROWS) -> BreaksPage:
    """Where torch.compile gave up a graph: place, reason, cost per step, remedy; skipped frames."""
    answer = logs_answer(compiled(run))
    return page(BreaksPage, answer.graph_breaks, offset, limit, answer)


def recompiles(run: str, offset: int = 0, limit: int = _FEW_ROWS) -> RecompilesPage:
    """What was compiled again: place, failed guards, seconds it cost, remedy; limit hits."""
    answer = logs_answer(compiled(run))
    return page(RecompilesPage, answer.recompiles, offset, limit, answer)


def kernels(run: str, contains: str = "", offset: int = 0, limit: int = _FEW_ROWS) -> KernelsPage:
    """Kernels of a run by name, longest first; totals over the profiled window, in ns.

    Names of more than 160 characters are shortened; `kernel` takes them so.
    """
    of_trace = run_at(run).required_summary()
    rows = [
        short
        for kernel_total, short in zip(
            of_trace.kernels, _short_kernels(of_trace.kernels), strict=True
        )
        if contains.lower() in kernel_total.name.lower()
    ]
    return page(KernelsPage, rows, offset, limit, of_trace)


def kernel(run: str, name: str, code_offset: int = 0) -> KernelAnswer:
    """One kernel: its time, and the code that Inductor generated for it, in pages.

    name: as kernels gives it; its beginning is enough where it is the only one.
    """
    opened = run_at(run)
    of_trace = opened.required_summary()
    by_name = {row.name: row for row in of_trace.kernels}
    fitting = named(name, list(by_name))
    if len(fitting) != 1:
        raise BadInput(
            f"{len(fitting)} kernels of {run} are called {name[:200]}.",
            remedy="Take a name from kernels.",
        )
    definition, compile_id = _definition(opened, fitting[0])
    answer = KernelAnswer.of(
        by_name[fitting[0]], n_steps=of_trace.n_steps, compile_id=compile_id, code=None
    )
    if definition is None:
        return replace(answer, note="No structured log has its generated code.")
    first = max(0, code_offset)
    end = first + _CODE_CHARACTERS
    return replace(
        answer,
        inputs=tuple(f"{label}: {shape}" for label, shape in definition.inputs),
        nodes=tuple(f"{node} <- {', '.join(aten)}" for node, aten in definition.nodes),
        code=definition.source[first:end],
        n_code_characters=len(definition.source),
        next_code_offset=end if end < len(definition.source) else UNSET,
    )


READING = (
    *(list_runs, summary, compare, findings, fusion_groups, fusion_group),
    *(graph_breaks, recompiles, kernels, kernel),
)


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
        findings=tuple(map(FindingHead.of, candidate.findings or ())),
    )


def _short_kernels(rows: tuple[KernelTotal, ...]) -> list[KernelTotal]:
    shown = short_names([row.name for row in rows])
    return [dataclasses.replace(row, name=shown[row.name]) for row in rows]


def _group_row(number: int, group: FusionGroup, answer: GroupAnswer) -> GroupRow:
    sides = enumerate((group.baseline, group.candidate))
    before, after = (group.per_step(side.n_kernels, index) for index, side in sides)
    return GroupRow.of(
        answer,
        group,
        group=number,
        source=group.sources[0][0] if group.sources else None,
        n_kernels=(before, after),
        delta_ns=answer.candidate_ns - answer.baseline_ns,
    )


def _searched(group: FusionGroup) -> str:
    names = [k.name for side in (group.baseline, group.candidate) for k in side.kernels]
    sources = [text for source in group.sources for text in source]
    return " ".join([group.title, group.module or "", *sources, *names]).lower()


def _definition(run: Run, name: str) -> tuple[KernelDefinition | None, str | None]:
    code = run.code
    for graph in code.graphs if code else ():
        for kernel_name, definition in graph.kernels.items():
            # On the CPU the trace says graph_0_cpp_fused_…, the module cpp_fused_….
            if name == kernel_name or name.endswith(f"_{kernel_name}"):
                return definition, graph.compile_id
    return None, None

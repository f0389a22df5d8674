"""What the compiler said of a run."""

from collections.abc import Mapping
from typing import Annotated

from profiler_core.analysis.compilation.compile_time import CompileTime
from profiler_core.analysis.compilation.compiled_calls import RegionTax
from profiler_core.analysis.compilation.recompiles import RecompileReport
from profiler_core.analysis.compilation.report import BreakReport, CompilationReport
from profiler_core.analysis.compilation.skipped_frames import LostGain
from profiler_core.analysis.compilation.tracing import MOST_FUNCTIONS, TracingTime
from profiler_core.answers.explanation import Place
from profiler_core.answers.record import Answer, means
from profiler_core.model.compilation import (
    Compilation,
    CompileFailure,
    FusionDecision,
    LimitHit,
    PerfHint,
)


class GraphBreakAnswer(Answer, frozen=True):
    """One distinct graph break."""

    file: str
    line: int
    function: Annotated[str, means("the place Dynamo names")]
    reason: str
    kind: str
    gb_id: str | None
    n: int
    compile_ids: tuple[str, ...]
    cost_ns: Annotated[float | None, means("its share of `graph_break_cost`")]
    remedy: str
    what: str
    url: str
    explanation: str | None
    hints: tuple[str, ...]
    user_place: Annotated[Place, means("the innermost line outside of libraries")]
    ranks: tuple[int, ...]


class FrameSkipAnswer(Answer, frozen=True):
    """A function that runs eager because of a break inside of it."""

    file: str | None
    line: Annotated[int | None, means("the break")]
    function: str | None
    function_line: int | None
    reason: str
    kind: str
    gb_id: str | None
    n: int
    compile_ids: tuple[str, ...]
    remedy: str
    url: str
    explanation: str | None
    hints: tuple[str, ...]
    user_place: Place | None
    ranks: tuple[int, ...]


class RecompileAnswer(Answer, frozen=True):
    """One recompilation."""

    file: str
    line: int
    function: str
    compile_id: str | None
    reasons: Annotated[tuple[str, ...], means("guards that failed, the telling one first")]
    kind: str
    cost_ns: Annotated[int | None, means("its compilation")]
    step: Annotated[int | None, means("that paid for it, 0 is the first call")]
    remedy: str
    what: str
    url: str
    guard_code: str | None
    guard_line: int | None
    rank: int | None


class CompilationAnswer(Answer, frozen=True):
    """One compilation."""

    compile_id: str
    direction: Annotated[str, means("`forward`, `backward`, `runtime`")]
    seconds: float | None
    function: str | None
    file: str | None
    line: int | None
    start_ns: Annotated[int | None, means("epoch")]
    phase_ns: Annotated[Mapping[str, int], means("torch's own totals, which nest")]
    cache: Mapping[str, str]
    guard_count: int | None
    graph_op_count: int | None
    graph_node_count: int | None
    restart_reasons: tuple[str, ...]
    fail_type: str | None
    fail_reason: str | None
    rank: int | None


class CudaGraphAnswer(Answer, frozen=True):
    """A CUDA graph that was not recorded, recorded again or split."""

    kind: Annotated[str, means("`skip`, `re-record`, `partition`")]
    reason: str
    cause: str
    file: str | None
    line: int | None
    n: int
    compile_ids: tuple[str, ...]
    at_stake_ns: Annotated[float | None, means("per step, if it were replayed")]
    remedy: str
    url: str


class CoverageAnswer(Answer, frozen=True):
    """What CUDA graphs replay."""

    n_kernels: float
    n_replayed: float
    kernel_share: float | None
    kernel_time_ns: float
    replayed_time_ns: float
    time_share: float | None
    n_launches: float
    n_graph_launches: float
    launches_saved: float
    clock: str


class BreakCostAnswer(Answer, frozen=True):
    """All breaks together."""

    n_crossings: float
    cost_ns: float
    range_ns: tuple[float, float]
    step_ns: float
    without_ns: float
    host_work_ns: Annotated[float, means("profiled")]
    clock: str
    bound: Annotated[str, means("`host`, `device`")]
    n_steps: int
    n_replayed_steps: Annotated[int, means("fewer in very long traces, spread evenly")]


TRACING = means(
    "how long Dynamo traced each function, over all frames until the warm-up ended; null before "
    "torch 2.15: {keys}",
    "ns",
    framework_ns="PyTorch's own functions, without what they call",
    functions=f"the user's and those of libraries, at most {MOST_FUNCTIONS}, longest first: "
    "`function`, `file`, `line` (the first of the function), `n` (visits), `own_ns` (without the "
    "functions that it calls), `total_ns` (with them)",
    n_functions="all of these",
)


class LogsAnswer(Answer, frozen=True):
    """`logs`; values that no source has are null."""

    torch_version: Annotated[
        str | None,
        means("exact, where a log or run.json says it; else null, and see the range"),
    ]
    torch_version_range: Annotated[
        tuple[str, str] | None,
        means('oldest and newest that the wording allows, `""`: open'),
    ]
    sources: Annotated[tuple[str, ...], means("`structured` (TORCH_TRACE), `text` (TORCH_LOGS)")]
    graph_breaks: Annotated[
        tuple[GraphBreakAnswer, ...],
        means("one for each distinct (file, line, reason), most expensive first: {keys}"),
    ]
    frame_skips: Annotated[
        tuple[FrameSkipAnswer, ...],
        means("functions that run eager because of a break inside them: {keys}"),
    ]
    skipped_frames_lost: Annotated[
        LostGain | None,
        means(
            "all skipped frames together, per step: {keys}; null where none was skipped; with "
            "`--baseline RUN`",
            "ns",
            ns="null: cannot be known",
            source="`compared` with a run that skips nothing, `estimated`: an upper bound",
            sentence="what it rests on, or why it is not known",
        ),
    ]
    recompiles: Annotated[tuple[RecompileAnswer, ...], means("one for each: {keys}")]
    recompile_limit_hits: Annotated[tuple[LimitHit, ...], means("{keys}")]
    compilations: Annotated[
        tuple[CompilationAnswer, ...],
        means("attempts that left no code and what the first calls do among them: {keys}"),
    ]
    failures: Annotated[
        tuple[CompileFailure, ...],
        means(
            "compiler errors: {keys}",
            suppressed="true: ran eager; false: ended the program; null: not told",
        ),
    ]
    perf_hints: Annotated[tuple[PerfHint, ...], means("{keys}")]
    cudagraph_skips: Annotated[tuple[CudaGraphAnswer, ...], means("{keys}")]
    cudagraph_coverage: Annotated[
        CoverageAnswer | None, means("{keys}, per step; null without a GPU trace")
    ]
    fusion_refusals: Annotated[tuple[FusionDecision, ...], means("from TORCH_LOGS=fusion: {keys}")]
    graph_break_cost: Annotated[
        BreakCostAnswer | None,
        means("all breaks together whose cost is known, per step: {keys}", "ns"),
    ]
    regions: Annotated[
        tuple[RegionTax, ...],
        means(
            "per compiled region and step, profiled: {keys}",
            "ns",
            n="0 without an id: outside of a region",
            lookup_ns="guards",
            is_missed="no region, but lookups in which no compiled code fitted",
            is_backward="no region, but compiled backwards",
        ),
    ]
    compile_time: Annotated[
        CompileTime | None,
        means(
            "{keys}",
            "s",
            seconds="each instant once",
            n_compilations="that left code",
            runtime_seconds="autotuning, recording CUDA graphs: not in `seconds`",
            recording_seconds="of `runtime_seconds`: recording CUDA graphs",
        ),
    ]
    tracing: Annotated[TracingTime | None, TRACING]
    recompile_cost_ns: Annotated[int | None, means("all recompiles together", "ns")]
    break_even_steps: Annotated[int | None, means("with `--baseline RUN`", "count")]
    no_break_even: Annotated[
        str | None, means("why there are none, as in [compare](#compare); null without a baseline")
    ]
    runs_eager_only: Annotated[
        bool | None, means("frames were skipped and no compiled region is left in the trace")
    ]
    warnings: Annotated[
        tuple[str, ...], means("lines of the log that change how the run must be read")
    ]
    lower_bound: Annotated[
        tuple[str, ...],
        means(
            "`part: sentence` for each part of this answer that the source and version cannot show "
            "in full"
        ),
    ]
    n_lines: Annotated[int, means("lines read", "count")]
    n_unparsed: Annotated[
        int, means("records of a known kind that could not be understood", "count")
    ]
    unparsed: Annotated[tuple[str, ...], means("the first of them")]
    other_records: Annotated[
        Mapping[str, int], means("records that were counted and set aside, by kind", "count")
    ]
    repairs: Annotated[Mapping[str, int], means("what was mended", "count")]


def logs_answer(report: CompilationReport) -> LogsAnswer:
    """All records and causes of the report."""
    log, cost = report.log, report.break_cost
    return LogsAnswer.of(
        log,
        report,
        torch_version_range=log.version_range,
        graph_breaks=tuple(map(break_answer, report.breaks)),
        frame_skips=tuple(
            FrameSkipAnswer.of(
                skip.event,
                skip,
                kind=skip.cause.key,
                remedy=skip.change,
                explanation=skip.event.explanation or None,
                user_place=Place.of(skip.place) if skip.place else None,
            )
            for skip in report.skips
        ),
        skipped_frames_lost=report.lost,
        recompiles=tuple(map(_recompile, report.recompiles)),
        recompile_limit_hits=log.limit_hits,
        compilations=tuple(map(_compilation, log.compilations)),
        cudagraph_skips=_cudagraphs(report),
        cudagraph_coverage=None if report.coverage is None else CoverageAnswer.of(report.coverage),
        fusion_refusals=log.fusion_decisions,
        graph_break_cost=None if cost is None else BreakCostAnswer.of(cost, n_crossings=cost.n),
        recompile_cost_ns=report.recompile_ns,
        runs_eager_only=report.eager_only,
        lower_bound=tuple(f"{bound.about}: {bound.sentence}" for bound in log.lower_bound),
    )


def break_answer(report: BreakReport) -> GraphBreakAnswer:
    """One entry of `graph_breaks`."""
    event = report.event
    return GraphBreakAnswer.of(
        event,
        report,
        report.cause,
        kind=report.cause.key,
        remedy=report.cause.change,
        explanation=event.explanation or None,
        user_place=Place.of(report.place),
    )


def _recompile(report: RecompileReport) -> RecompileAnswer:
    reasons = report.event.reasons
    return RecompileAnswer.of(
        report.event,
        report,
        report.cause,
        reasons=tuple(reason.guard for reason in reasons),
        kind=report.cause.key,
        remedy=report.cause.change,
        guard_code=reasons[0].code or None if reasons else None,
        guard_line=reasons[0].line if reasons else None,
    )


def _compilation(compilation: Compilation) -> CompilationAnswer:
    dur_ns = compilation.dur_ns
    return CompilationAnswer.of(compilation, seconds=None if dur_ns is None else dur_ns / 1e9)


def _cudagraphs(report: CompilationReport) -> tuple[CudaGraphAnswer, ...]:
    """Skips, re-recordings and partitions; with what a step could gain where a trace tells."""
    stakes = {stake.event: stake for stake in report.coverage.stakes} if report.coverage else {}
    return tuple(
        CudaGraphAnswer.of(
            event,
            cause=cause.key,
            at_stake_ns=stakes[event].at_stake_ns if event in stakes else None,
            remedy=cause.change,
            url=cause.url,
        )
        for event, cause in report.cudagraphs
    )

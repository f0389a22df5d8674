"""What the compiler did, for agents: breaks, recompiles, CUDA graphs and where its time went.

As in `tools.py`, names, docstrings and parameters are what it reads.
"""

from typing import Annotated

from profiler_core.agents.answer import FEW_ROWS, Page, page
from profiler_core.agents.runs import compiled
from profiler_core.analysis.compilation.compile_time import CompileTime
from profiler_core.analysis.compilation.recompiles import RecompileGroup, recompile_groups
from profiler_core.analysis.compilation.tracing import TracingTime
from profiler_core.answers.logs import (
    BreakCostAnswer,
    CompilationAnswer,
    CoverageAnswer,
    CudaGraphAnswer,
    FrameSkipAnswer,
    GraphBreakAnswer,
    logs_answer,
)
from profiler_core.answers.record import Answer, means
from profiler_core.model.compilation import CompileFailure, LimitHit

_OF_LOGS = means("as in [logs](json.md#logs)")
_MOST_GUARDS = 3


class BreaksPage(Page, frozen=True):
    """Graph breaks, and what they lead to."""

    frame_skips: Annotated[tuple[FrameSkipAnswer, ...], _OF_LOGS]
    graph_break_cost: Annotated[BreakCostAnswer | None, _OF_LOGS]
    lower_bound: Annotated[tuple[str, ...], _OF_LOGS]
    rows: Annotated[tuple[GraphBreakAnswer, ...], means("{keys}")]


class RecompiledAnswer(Answer, frozen=True):
    """The recompilations of one function for one cause."""

    function: str
    file: str
    line: int
    n: int
    cost_ns: Annotated[int | None, means("all of them together", "ns")]
    steps: Annotated[tuple[int, ...], means("that paid for them, 0 is the first call")]
    kind: str
    guards: Annotated[tuple[str, ...], means(f"that failed, at most {_MOST_GUARDS}")]
    guard_code: Annotated[str | None, means("the line of code behind the first")]
    guard_line: int | None
    what: str
    remedy: str
    url: str


class RecompilesPage(Page, frozen=True):
    """Recompilations by function and cause, the longest first, and what they lead to."""

    recompile_limit_hits: Annotated[tuple[LimitHit, ...], _OF_LOGS]
    recompile_cost_ns: Annotated[int | None, _OF_LOGS]
    lower_bound: Annotated[tuple[str, ...], _OF_LOGS]
    rows: Annotated[tuple[RecompiledAnswer, ...], means("{keys}")]


class CudaGraphsPage(Page, frozen=True):
    """What CUDA graphs replay, and what they skip, record again or split."""

    cudagraph_coverage: Annotated[CoverageAnswer | None, _OF_LOGS]
    rows: Annotated[tuple[CudaGraphAnswer, ...], means("{keys}")]


class CompileTimePage(Page, frozen=True):
    """Where the compiler's time went."""

    compile_time: Annotated[CompileTime | None, _OF_LOGS]
    tracing: Annotated[TracingTime | None, _OF_LOGS]
    recompile_cost_ns: Annotated[int | None, _OF_LOGS]
    failures: Annotated[tuple[CompileFailure, ...], _OF_LOGS]
    rows: Annotated[tuple[CompilationAnswer, ...], means("{keys}")]


def graph_breaks(run: str, offset: int = 0, limit: int = FEW_ROWS) -> BreaksPage:
    """Where torch.compile gave up a graph: file and line, reason, PyTorch's hints, cost per step.

    Skipped frames, which run eager, stand beside them. user_place is the innermost line of the
    user's own code, file and line where Dynamo stopped.
    """
    answer = logs_answer(compiled(run))
    return page(BreaksPage, answer.graph_breaks, offset, limit, answer)


def recompiles(run: str, offset: int = 0, limit: int = FEW_ROWS) -> RecompilesPage:
    """What was compiled again, by function and cause: failed guards, what it cost, remedy."""
    report = compiled(run)
    rows = [_recompiled(group) for group in recompile_groups(report.recompiles)]
    return page(RecompilesPage, rows, offset, limit, logs_answer(report))


def cudagraphs(run: str, offset: int = 0, limit: int = FEW_ROWS) -> CudaGraphsPage:
    """What CUDA graphs skipped, recorded again or split, why, what is at stake, and the remedy."""
    answer = logs_answer(compiled(run))
    return page(CudaGraphsPage, answer.cudagraph_skips, offset, limit, answer)


def compile_time(run: str, offset: int = 0, limit: int = FEW_ROWS) -> CompileTimePage:
    """Where the compiler's time went: seconds in all, each compilation (longest first), errors.

    tracing says which functions Dynamo traced longest (captures of torch 2.15 on). compare says
    from how many steps on it pays.
    """
    answer = logs_answer(compiled(run))
    rows = sorted(answer.compilations, key=lambda entry: -(entry.seconds or 0.0))
    return page(CompileTimePage, rows, offset, limit, answer)


def _recompiled(group: RecompileGroup) -> RecompiledAnswer:
    reasons = [report.event.reasons[0] for report in group.recompiles if report.event.reasons]
    return RecompiledAnswer.of(
        group,
        group.cause,
        n=len(group.recompiles),
        kind=group.cause.key,
        guards=group.guards[:_MOST_GUARDS],
        guard_code=reasons[0].code or None if reasons else None,
        guard_line=reasons[0].line if reasons else None,
        remedy=group.cause.change,
    )


COMPILER = (graph_breaks, recompiles, cudagraphs, compile_time)

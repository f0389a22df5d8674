"""What the compiler said, judged: causes, remedies, and costs where a trace is there to ask."""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum

from profiler_core.analysis.compilation.causes import (
    DECIDING_VALUE,
    LOOP_CHANGE,
    PYTORCHS_OWN,
    Cause,
    break_cause,
    cudagraph_cause,
    registry_url,
)
from profiler_core.analysis.compilation.compile_time import CompileTime, compile_time
from profiler_core.analysis.compilation.compiled_calls import RegionTax, region_taxes
from profiler_core.analysis.compilation.cost import CompileCost, NoBreakEven
from profiler_core.analysis.compilation.cudagraph_coverage import (
    CudaGraphCoverage,
    cudagraph_coverage,
)
from profiler_core.analysis.compilation.graph_break_cost import BreakCost, graph_break_cost
from profiler_core.analysis.compilation.recompiles import (
    RecompileReport,
    n_untimed,
    recompile_reports,
)
from profiler_core.analysis.compilation.skipped_frames import LostGain, Other, lost_gain
from profiler_core.analysis.compilation.tracing import TracingTime, tracing_time
from profiler_core.analysis.engines import engines_in
from profiler_core.analysis.step_time import step_time_ns
from profiler_core.analysis.work import host_steps
from profiler_core.model.compilation import (
    CompileLog,
    CudaGraphEvent,
    Frame,
    FrameSkip,
    GraphBreak,
    LimitHit,
)
from profiler_core.model.run import Measurement
from profiler_core.model.trace import Trace

# Library code: what a user can change lies outside of it. So is what runs a captured step, and not
# the built-in workloads beside it.
LIBRARY = re.compile(
    r"site-packages/|dist-packages/|lib/python3\.\d+/|<frozen |/torch/nn/|/torch/_dynamo/"
    r"|profiler_core/capture/child/(?!models\.py|workloads\.py)"
    r"|^[A-Za-z]:/(?:[^/]+/)*Lib/"  # Python's own on Windows, and its site-packages
)
# Requests to tell PyTorch's developers: nothing that a user can change.
_TO_PYTORCH = re.compile(r"(?:report|file) an issue", re.IGNORECASE)


@dataclass(frozen=True)
class BreakReport:
    """One break: what, why, what to change, and its part of what all breaks cost."""

    event: GraphBreak
    cause: Cause
    place: Frame  # the user's own line: the innermost frame outside of libraries
    url: str  # PyTorch's page about this very break, else about its kind
    cost_ns: float | None  # per step; its share of the cost of all breaks, by host work; None: the
    # trace shows no compiled call after it

    @property
    def advice(self) -> str:
        """What to change: PyTorch's own hints about this break, where they help, else ours."""
        return _advice(self.event.hints, self.cause)

    @property
    def title(self) -> str:
        """Its kind and the user's line: "print · model/block.py:12"."""
        return f"{self.cause.label} · {place_text(self.place.file, self.place.line)}"

    @property
    def innermost(self) -> Frame | None:
        """Where Dynamo stopped, which `place` called; None where that is the same line."""
        event = self.event
        if (event.file, event.line) == (self.place.file, self.place.line):
            return None
        return Frame(event.file, event.line, event.function)


@dataclass(frozen=True)
class SkipReport:
    """One frame that runs eager because of a break inside it."""

    event: FrameSkip
    cause: Cause
    place: Frame | None
    change: str
    url: str

    @property
    def title(self) -> str:
        """The kind of its break and the user's line: "print · model/block.py:12"."""
        file, line = (self.place.file, self.place.line) if self.place else (None, None)
        return f"{self.cause.label} · {place_text(file, line)}"


@dataclass(frozen=True)
class EagerFunctions:
    """How many functions run eager, each once, whatever it was given up for how often."""

    skipped: int  # because of a break inside, in every step
    limited: int  # since the recompile limit, for new inputs
    partly: int  # of `limited`: what follows a graph break, not the whole function

    @property
    def n(self) -> int:
        """All of them."""
        return self.skipped + self.limited


class Unpriced(StrEnum):
    """Why what a break costs is not known, as a clause."""

    NO_TRACE = "the run has no trace"
    NO_STEPS = "the trace has no steps"
    NO_CALL = "the trace shows no compiled call after it"


@dataclass(frozen=True)
class CompilationReport:
    """All of it. Skipped frames come first: they lose the whole function, not a step's overhead."""

    log: CompileLog
    skips: tuple[SkipReport, ...]  # in the order of the log
    breaks: tuple[BreakReport, ...]  # most expensive first
    recompiles: tuple[RecompileReport, ...]
    compile_time: CompileTime | None
    tracing: TracingTime | None  # by function; None: this torch did not time it
    recompile_ns: int | None  # all recompiles together whose time is known
    cost: CompileCost | None  # of the run beside a baseline; None: there is none
    break_cost: BreakCost | None  # None: see `unpriced`
    unpriced: Unpriced  # why a break has no cost, where one has none
    cudagraphs: tuple[tuple[CudaGraphEvent, Cause], ...]  # all but what was simply recorded
    coverage: CudaGraphCoverage | None
    regions: tuple[RegionTax, ...]
    lost: LostGain | None  # by all skipped frames together; None: none was skipped
    engine: str | None  # compiles when it is first called, of which the log says nothing
    eager_only: bool | None  # frames were skipped and no compiled region is left in the trace

    def place_of(self, broken: BreakReport) -> int | None:
        """The place of a break in the log, which names it in addresses; None: it is not in it."""
        events = enumerate(self.log.graph_breaks)
        # Not by equality: two breaks may be alike in all that the log says of them.
        return next((position for position, event in events if event is broken.event), None)

    @property
    def limited(self) -> tuple[LimitHit, ...]:
        """The first hit of each function that met the recompile limit, on whatever rank."""
        first: dict[tuple[object, ...], LimitHit] = {}
        for hit in self.log.limit_hits:
            first.setdefault((hit.function, hit.file, hit.line, hit.is_rest), hit)
        return tuple(first.values())

    @property
    def eager_functions(self) -> EagerFunctions:
        """By what made them run eager."""
        events = (skip.event for skip in self.skips)
        skipped = {
            (e.function, e.function_line if e.function else (e.file, e.line)) for e in events
        }
        limited = self.limited
        return EagerFunctions(len(skipped), len(limited), sum(hit.is_rest for hit in limited))

    @property
    def n_untimed_recompiles(self) -> int:
        """Recompiles that `recompile_ns` lacks the time of; 0 where it is of none."""
        return n_untimed(self.recompiles)

    @property
    def n_unpriced_breaks(self) -> int:
        """Breaks whose cost is not known, of those that `break_cost` is said of; 0: of none."""
        n = sum(1 for each in self.breaks if each.cost_ns is None)
        # Where no compiled call tells whose it is, the cost is of all of them together.
        return n if n < len(self.breaks) else 0

    @property
    def break_even_steps(self) -> int | None:
        """After how many steps compiling has paid for itself; None: see `no_break_even`."""
        return self.cost.break_even_steps if self.cost else None

    @property
    def no_break_even(self) -> NoBreakEven | None:
        """Why no number of steps does; None beside steps, and without a baseline."""
        return self.cost.no_break_even if self.cost else None


def compilation_report(
    log: CompileLog,
    *,
    trace: Trace | None = None,
    measurement: Measurement | None = None,
    compile_cost: CompileCost | None = None,
    others: Sequence[Other] = (),
) -> CompilationReport:
    """Judge one run's logs.

    Args:
        log: what the compiler said.
        trace: of the same run, for costs.
        measurement: of the same run: its unprofiled step time puts costs on that clock.
        compile_cost: of the comparison with its baseline, with its break-even; None: there is none.
        others: runs of the same workload, to tell what skipped frames lost.
    """
    step_ns = step_time_ns(measurement)
    cost = graph_break_cost(trace, step_ns) if trace else None
    regions = region_taxes(trace) if trace else ()
    total_time = compile_time(log)
    engine = next(iter(engines_in(trace)), None) if trace else None
    recompiles = recompile_reports(log, measurement)
    recompile_costs = [r.cost_ns for r in recompiles if r.cost_ns is not None]
    return CompilationReport(
        log=log,
        skips=tuple(_skip(skip) for skip in log.frame_skips),
        breaks=_ranked(log.graph_breaks, cost),
        recompiles=recompiles,
        compile_time=total_time,
        tracing=tracing_time(measurement),
        recompile_ns=sum(recompile_costs) if recompile_costs else None,
        cost=compile_cost,
        engine=engine,
        break_cost=cost,
        unpriced=_unpriced(trace),
        cudagraphs=tuple(
            (event, cudagraph_cause(event))
            for event in log.cudagraph_events
            if event.kind != "record"
        ),
        coverage=cudagraph_coverage(trace, log.cudagraph_events, step_ns) if trace else None,
        regions=regions,
        lost=lost_gain(trace, measurement, others) if log.frame_skips else None,
        eager_only=(bool(log.frame_skips) and not regions) if trace else None,
    )


def _unpriced(trace: Trace | None) -> Unpriced:
    if trace is None:
        return Unpriced.NO_TRACE
    return Unpriced.NO_CALL if host_steps(trace).height else Unpriced.NO_STEPS


def says_something(log: CompileLog) -> bool:
    """Did the compiler do anything worth a report? Hints alone are none."""
    return bool(
        log.compilations
        or log.graph_breaks
        or log.frame_skips
        or log.recompiles
        or log.limit_hits
        or log.failures
        or log.cudagraph_events
    )


def _advice(hints: Sequence[str], cause: Cause) -> str:
    """The hints that ask for a change, unless they name none that helps with this cause."""
    texts = [hint.rstrip(". ") + "." for hint in hints if not _TO_PYTORCH.search(hint)]
    is_ours = not texts or cause in (*PYTORCHS_OWN, DECIDING_VALUE)
    return cause.change if is_ours else " ".join(dict.fromkeys(texts))


def place_text(file: str | None, line: int | None, unknown: str = "place unknown") -> str:
    """`model/block.py:12`: the file with its folder, which tells files of one name apart."""
    if not file:
        return unknown
    return f"{'/'.join(file.replace(chr(92), '/').split('/')[-2:])}:{line}"


def user_frame(stack: Sequence[Frame], file: str, line: int, function: str) -> Frame:
    """The innermost frame of the user's own code; the place itself where all is library code."""
    user_frames = [frame for frame in stack if not LIBRARY.search(frame.file)]
    return user_frames[-1] if user_frames else Frame(file, line, function)


def _ranked(graph_breaks: Sequence[GraphBreak], cost: BreakCost | None) -> tuple[BreakReport, ...]:
    """The breaks, most expensive first; without costs, most frequent first."""
    shares = cost.share_by_compile_id if cost else {}
    owners: dict[str, int] = {}
    for graph_break in graph_breaks:
        for compile_id in graph_break.compile_ids:
            owners[compile_id] = owners.get(compile_id, 0) + 1
    reports = []
    for graph_break in graph_breaks:
        own_cost = None
        if cost is not None:
            share = sum(shares.get(i, 0.0) / owners[i] for i in graph_break.compile_ids)
            # A break that no compiled call follows (what comes after runs eager) is not priced,
            # but where all together cost nothing, each does.
            own_cost = cost.cost_ns * share if share or not cost.cost_ns else None
        cause = break_cause(graph_break)
        reports.append(
            BreakReport(
                event=graph_break,
                cause=cause,
                place=user_frame(
                    graph_break.stack, graph_break.file, graph_break.line, graph_break.function
                ),
                url=registry_url(graph_break.gb_id) or cause.url,
                cost_ns=own_cost,
            )
        )
    return tuple(sorted(reports, key=lambda r: (-(r.cost_ns or 0.0), -r.event.n)))


def _skip(skip: FrameSkip) -> SkipReport:
    cause = break_cause(skip)
    frame = None
    if skip.file is not None and skip.line is not None:
        frame = user_frame(skip.stack, skip.file, skip.line, skip.function or "")
    return SkipReport(
        event=skip,
        cause=cause,
        place=frame,
        change=f"{_advice(skip.hints, cause)} {LOOP_CHANGE}",
        url=registry_url(skip.gb_id) or cause.url,
    )

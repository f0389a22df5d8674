"""One run of a comparison: what its files and its trace say, per step where steps are whole."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

from profiler_core.analysis.compilation.by_script import ScriptCompilation
from profiler_core.analysis.compilation.compile_time import CompileTime
from profiler_core.analysis.compilation.cost import CompileCost, compile_cost
from profiler_core.analysis.memory.peak import PeakMemory, peak_memory
from profiler_core.analysis.per_step import PerStep, per_step
from profiler_core.analysis.run_labels import own_name
from profiler_core.analysis.span import PER_STEP, Span, common_span
from profiler_core.analysis.step_time import Clock, Jitter, jitter, step_time_ns
from profiler_core.analysis.summary import Summary
from profiler_core.analysis.telemetry.run import RunTelemetry
from profiler_core.analysis.throughput import Throughput, throughput
from profiler_core.model.run import RunFiles


@dataclass(frozen=True)
class Side:
    """One run of a comparison. summary and per_step are None for a run without a trace."""

    label: str
    run: RunFiles
    summary: Summary | None
    step_time_ns: float | None  # on `clock`
    clock: Clock | None  # unprofiled where the run was timed, else profiled
    jitter: Jitter | None
    per_step: PerStep | None
    memory: PeakMemory
    compile: CompileCost  # without a break-even: that is a pair's
    telemetry: RunTelemetry | None = None  # None: nothing was sampled
    compiled_by_script: ScriptCompilation | None = None  # of a run that is called eager
    compiled_nothing: bool = False  # of a run that was to be compiled
    throughput: Throughput | None = None  # None: not timed, or nobody said what a step handles
    # Its trace marks no steps where another of the comparison does: how many it has is not known.
    is_unmarked: bool = False

    @property
    def has_whole_steps(self) -> bool:
        """Can what its trace holds be compared per step?"""
        return not self.is_cut and not self.is_unmarked

    @property
    def span(self) -> Span:
        """What the numbers of its trace are of; per step where there is none to have any."""
        return PER_STEP if self.summary is None or is_empty(self.summary) else self.summary.span

    @property
    def is_cut(self) -> bool:
        """An unknown part of its trace is missing: it is compared with no other run."""
        return self.summary is not None and self.summary.is_cut


def make_side(
    run: RunFiles,
    summary: Summary | None,
    *,
    label: str | None = None,
    compiling: CompileTime | None = None,
    telemetry: RunTelemetry | None = None,
    compiled_by_script: ScriptCompilation | None = None,
    compiled_nothing: bool = False,
) -> Side:
    """A run with what its trace says.

    Args:
        run: as opened.
        summary: of its trace, made with its measurement; None without a trace.
        label: what to call it; the variant, the name or the file's name by default.
        compiling: the time of its compilations, where it has logs.
        telemetry: of its GPU and process, where they were sampled.
        compiled_by_script: what its script compiles although it is called eager.
        compiled_nothing: it was to be compiled, and was not.
    """
    unprofiled_ns = step_time_ns(run.record.measurement)
    cost = compile_cost(run.record, compiling=compiling, step_ns=unprofiled_ns)
    # Zeros of a trace that holds nothing would look like measurements.
    steps = per_step(summary) if summary and not is_empty(summary) else None
    profiled = steps.window_ns if steps else None
    return Side(
        label=label or own_name(run.record, run.path),
        run=run,
        summary=summary,
        step_time_ns=unprofiled_ns if unprofiled_ns is not None else profiled,
        clock="unprofiled" if unprofiled_ns is not None else "profiled" if steps else None,
        jitter=jitter(run.record.measurement),
        per_step=steps,
        memory=summary.memory if summary else peak_memory(None, run.record.measurement),
        compile=cost,
        telemetry=telemetry,
        compiled_by_script=compiled_by_script,
        compiled_nothing=compiled_nothing,
        throughput=throughput(run.record),
    )


def is_empty(summary: Summary) -> bool:
    """Does this trace hold nothing to measure: no step, no work of any device?"""
    return not summary.window.annotated and summary.device_time_ns == 0


def unmarked(sides: Sequence[Side]) -> list[Side]:
    """The sides, with those noted that alone mark no steps."""
    traced = [side.summary for side in sides if side.summary and not is_empty(side.summary)]
    if not any(summary.window.annotated for summary in traced):
        return list(sides)  # each is compared as a whole
    return [
        replace(
            side,
            is_unmarked=side.summary is not None
            and not is_empty(side.summary)
            and not side.summary.window.annotated,
        )
        for side in sides
    ]


def compared_span(sides: Iterable[Side]) -> Span:
    """What numbers of those traces are of that can be held against each other."""
    return common_span(side.span for side in sides if side.has_whole_steps)


def whole_steps(side: Side) -> PerStep | None:
    """Its numbers per step; None of a trace that is cut, of captures, lacks compiled kernels.

    Or that marks no steps where others do.
    """
    summary = side.summary
    lacks = summary is not None and (summary.is_graph_capture or summary.has_unnamed_code)
    return side.per_step if side.has_whole_steps and not lacks else None


def has_whole_memory(*sides: Side) -> bool:
    """Are their peaks of whole traces, or measured by the allocator?"""
    return not any(side.memory.is_least for side in sides)

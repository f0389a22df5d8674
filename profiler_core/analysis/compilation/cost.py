"""What compiling costs, and after how many steps it has paid for itself (docs/columns.md)."""

import math
from dataclasses import dataclass, replace
from enum import StrEnum
from typing import Literal

from profiler_core.analysis.compilation.compile_time import CompileTime
from profiler_core.analysis.step_time import StepTime
from profiler_core.analysis.verdict_kind import VerdictKind
from profiler_core.model.run import RunRecord


class NoBreakEven(StrEnum):
    """Why no number of steps earns the compile time back, as a table says it."""

    NEVER = "never"  # nothing is gained per step
    CANNOT_BE_TOLD = "cannot be told"  # whether anything is gained
    NOT_DEARER = "costs no more"  # than compiling the baseline
    BASELINE_UNKNOWN = "not known"  # what compiling the baseline cost, in the same terms


@dataclass(frozen=True)
class CompileCost:
    """What compiling took, and the first call, which holds it and whatever else comes first.

    Everything is None for a run that does not compile, or of which neither is known. Calls are
    counted beyond the time of a later step.
    """

    seconds: float | None = None  # of `source`
    source: Literal["logs", "first call"] | None = None
    first_call_seconds: float | None = None  # with an empty cache of the compiler
    warm_seconds: float | None = None  # first call in a new process with the cache filled
    autotuning_seconds: float = 0.0  # at the first calls, beyond `seconds` of the logs
    recording_seconds: float = 0.0  # of these, recording CUDA graphs
    # Of `whole_seconds`, or of `beyond_baseline_seconds` where the baseline is compiled too.
    break_even_steps: int | None = None
    no_break_even: NoBreakEven | None = None  # None beside no steps: the gain is not known
    beyond_baseline_seconds: float | None = None  # None: the baseline is not compiled, or not known

    @property
    def whole_seconds(self) -> float | None:
        """What has to be paid before the first fast step: compiling, and autotuning after it."""
        return None if self.seconds is None else self.seconds + self.autotuning_seconds


def is_compiled(record: RunRecord) -> bool | None:
    """Did this run use torch.compile? None: run.json does not say."""
    compiled = record.spec.get("compile")
    return compiled if isinstance(compiled, bool) else None


def compile_cost(
    record: RunRecord, *, compiling: CompileTime | None, step_ns: float | None
) -> CompileCost:
    """The cost of compiling a run: from its logs, else from its first call; no break-even yet.

    For a backend with an engine of its own always from the first call.

    Args:
        record: of the run.
        compiling: what its logs say; None without logs.
        step_ns: its unprofiled step time.
    """
    if is_compiled(record) is False:
        return CompileCost()
    first = warm = None
    if record.measurement is not None and step_ns is not None:
        first = _beyond(record.measurement.first_call_ns, step_ns)
        warm = _beyond(record.measurement.warm_first_call_ns, step_ns)
    engine = record.measurement.engine if record.measurement is not None else None
    if engine is not None and first is not None:
        compiling = None  # its engine compiles when it is first called, which no log holds
    seconds = compiling.seconds if compiling else first
    if seconds is None:
        return CompileCost()
    source: Literal["logs", "first call"] = "logs" if compiling else "first call"
    if compiling is None:  # a first call holds its autotuning already
        return CompileCost(seconds, source, first, warm)
    return CompileCost(
        seconds, source, first, warm, compiling.runtime_seconds, compiling.recording_seconds
    )


def baseline_cost(record: RunRecord, cost: CompileCost) -> CompileCost | None:
    """What compiling the baseline cost; None: it is not compiled, as far as run.json or a log says.

    A first call alone does not tell: that of an eager run costs something, too.
    """
    compiled = is_compiled(record)
    if compiled is None:
        compiled = cost.source == "logs" and bool(cost.seconds)
    return cost if compiled else None


def with_break_even(
    cost: CompileCost, baseline: CompileCost | None, verdict: VerdictKind, time: StepTime
) -> CompileCost:
    """After how many steps the candidate has paid for what compiling it costs more, or why never.

    The only place where this is decided.

    Args:
        cost: of the candidate.
        baseline: of a compiled baseline, else None.
        verdict: on the pair; none is of too few rounds. Another workload's must not be asked about.
        time: of both; only times without the profiler earn anything.
    """
    seconds = cost.whole_seconds
    if seconds is None or time.clock != "unprofiled":
        return cost
    if baseline is not None:
        beyond = _beyond_baseline(cost, baseline)
        if beyond is None:
            return replace(cost, no_break_even=NoBreakEven.BASELINE_UNKNOWN)
        cost, seconds = replace(cost, beyond_baseline_seconds=beyond), beyond
        if beyond <= 0:
            return replace(cost, no_break_even=NoBreakEven.NOT_DEARER)
    if verdict in ("cannot_be_told", "no_verdict"):
        return replace(cost, no_break_even=NoBreakEven.CANNOT_BE_TOLD)
    saved_ns = (time.baseline_ns or 0) - (time.candidate_ns or 0)
    if verdict in ("slower", "no_difference"):
        return replace(cost, no_break_even=NoBreakEven.NEVER)
    if saved_ns <= 0:
        return cost
    return replace(cost, break_even_steps=math.ceil(seconds * 1e9 / saved_ns))


def _beyond_baseline(cost: CompileCost, baseline: CompileCost) -> float | None:
    """How much more compiling the candidate costs, both from logs or both from first calls; s."""
    own, its = cost.whole_seconds, baseline.whole_seconds
    if own is not None and its is not None and cost.source == baseline.source:
        return own - its
    if cost.first_call_seconds is None or baseline.first_call_seconds is None:
        return None
    return cost.first_call_seconds - baseline.first_call_seconds


def _beyond(call_ns: int | None, step_ns: float) -> float | None:
    return None if call_ns is None else max(0.0, call_ns - step_ns) / 1e9

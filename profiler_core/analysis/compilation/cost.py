"""What compiling costs, and after how many steps it has paid for itself (docs/columns.md)."""

import math
from dataclasses import dataclass
from typing import Literal

from profiler_core.analysis.compilation.compile_time import CompileTime
from profiler_core.model.run import RunRecord


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
    break_even_steps: int | None = None  # of `seconds`; None: never, or the gain is not known


def is_compiled(record: RunRecord) -> bool | None:
    """Did this run use torch.compile? None: run.json does not say."""
    compiled = record.spec.get("compile")
    return compiled if isinstance(compiled, bool) else None


def compile_cost(
    record: RunRecord,
    *,
    compiling: CompileTime | None,
    candidate_step_ns: float | None,
    saved_ns: float | None,
) -> CompileCost:
    """The cost of compiling the candidate: from its logs, else from its first call.

    For a backend with an engine of its own always from the first call.

    Args:
        record: of the candidate.
        compiling: what its logs say; None without logs.
        candidate_step_ns: its unprofiled step time.
        saved_ns: baseline - candidate per step, where that difference is one; else None.
    """
    if is_compiled(record) is False:
        return CompileCost()
    first = warm = None
    if record.measurement is not None and candidate_step_ns is not None:
        first = _beyond(record.measurement.first_call_ns, candidate_step_ns)
        warm = _beyond(record.measurement.warm_first_call_ns, candidate_step_ns)
    engine = record.measurement.engine if record.measurement is not None else None
    if engine is not None and first is not None:
        compiling = None  # its engine compiles when it is first called, which no log holds
    seconds = compiling.seconds if compiling else first
    if seconds is None:
        return CompileCost()
    return CompileCost(
        seconds=seconds,
        source="logs" if compiling else "first call",
        first_call_seconds=first,
        warm_seconds=warm,
        break_even_steps=math.ceil(seconds * 1e9 / saved_ns) if saved_ns and saved_ns > 0 else None,
    )


def _beyond(call_ns: int | None, step_ns: float) -> float | None:
    return None if call_ns is None else max(0.0, call_ns - step_ns) / 1e9

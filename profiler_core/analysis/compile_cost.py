"""What compiling costs, and after how many steps it has paid for itself (design 6)."""

import math
from dataclasses import dataclass
from typing import Literal

from profiler_core.model.run import Measurement, RunRecord


@dataclass(frozen=True)
class CompileCost:
    """Seconds that the first call takes longer than a later step.

    Everything is None for a run that does not compile, or whose first call was not timed.
    """

    seconds: float | None = None  # with an empty cache of the compiler
    warm_seconds: float | None = None  # in a new process with the cache filled
    source: Literal["first call"] | None = None
    break_even_steps: int | None = None  # None: it never pays, or the gain is not known


def is_compiled(record: RunRecord) -> bool | None:
    """Did this run use torch.compile? None: run.json does not say."""
    compiled = record.spec.get("compile")
    return compiled if isinstance(compiled, bool) else None


def compile_cost(
    record: RunRecord, *, candidate_step_ns: float | None, saved_ns: float | None
) -> CompileCost:
    """The cost of the candidate's first call.

    Args:
        record: of the candidate.
        candidate_step_ns: its unprofiled step time.
        saved_ns: baseline - candidate per step, where that difference is one; else None.
    """
    measurement = record.measurement
    if measurement is None or candidate_step_ns is None or is_compiled(record) is False:
        return CompileCost()
    cold = _beyond(measurement.first_call_ns, candidate_step_ns)
    if cold is None:
        return CompileCost()
    return CompileCost(
        seconds=cold / 1e9,
        warm_seconds=_seconds(measurement, candidate_step_ns),
        source="first call",
        break_even_steps=math.ceil(cold / saved_ns) if saved_ns and saved_ns > 0 else None,
    )


def _beyond(call_ns: int | None, step_ns: float) -> float | None:
    return None if call_ns is None else max(0.0, call_ns - step_ns)


def _seconds(measurement: Measurement, step_ns: float) -> float | None:
    warm = _beyond(measurement.warm_first_call_ns, step_ns)
    return None if warm is None else warm / 1e9

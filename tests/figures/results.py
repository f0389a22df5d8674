"""Small made-up results to draw."""

from profiler_core.analysis.kernel_sides import KernelRow, KernelSide
from profiler_core.analysis.step_parts import StepParts

HOSTILE = "<img src=x onerror=alert(1)>"


def some_parts(step_ns: float = 5_220_000.0, **by_category: float) -> StepParts:
    """A step that the parts fill but for what is idle."""
    return StepParts(
        step_ns=step_ns,
        clock="unprofiled",
        by_category=by_category,
        idle_ns=step_ns - sum(by_category.values()),
        scale=1.0,
        device_kind="gpu",
    )


def a_row(name: str, *times_ns: float | None, category: str = "gemm") -> KernelRow:
    """One kernel, once a step, with these times; None: it does not run there."""
    return KernelRow(
        name=name,
        category=category,
        sides=tuple(
            None
            if t is None
            else KernelSide(n=1, time_ns=t, mean_ns=t, min_ns=int(t), max_ns=int(t))
            for t in times_ns
        ),
    )

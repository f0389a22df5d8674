"""Engines of other compilers in a trace: the operators that the capture puts around their calls.

See capture/child/engines.py: a backend such as openvino or openxla leaves nothing else behind.
"""

import polars as pl

from profiler_core.model.trace import Trace

PREFIX = "engine::"
# The operator by which torch-tensorrt runs an engine (core/runtime/register_jit_hooks.cpp): its
# kernels are in the trace, but by names of TensorRT's own.
_TENSORRT = "tensorrt::execute_engine"


def is_engine(name: str) -> bool:
    """Is this operator a call of an engine?"""
    return name.startswith((PREFIX, _TENSORRT))


def engine_name(name: str) -> str:
    """`engine::openvino` -> "openvino"."""
    return name.removeprefix(PREFIX).partition("::")[0]


def engines_in(trace: Trace) -> tuple[str, ...]:
    """Which ones a trace has, by name; mostly none."""
    names = trace.ops["name"].unique().cast(pl.String)
    return tuple(sorted(engine_name(name) for name in names if name and is_engine(name)))


def memory_note(trace: Trace) -> str | None:
    """Why the allocator's peaks say nothing of such a run on the CPU; None: they do."""
    engines = engines_in(trace)
    if not engines or trace.has_device_events:
        return None
    return (
        f"{' and '.join(engines)} keeps its tensors in memory of its own: PyTorch's allocator, and "
        "so its peak, leaves them out."
    )

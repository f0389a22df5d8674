"""Engines of other compilers in a trace: the operators by which their calls can be told.

The capture puts one around each call (capture/child/engine_calls.py), for a backend such as
openvino or openxla leaves nothing else behind; a package with operators of its own has them
declared (capture/child/backends).
"""

import polars as pl

from profiler_core.capture.child.backends import BACKENDS
from profiler_core.capture.child.engine_calls import PREFIX
from profiler_core.model.trace import Trace

# Beginning of an operator's name -> the backend whose engine it runs.
_OPERATORS = {start: backend.name for backend in BACKENDS for start in backend.operators}
_STARTS = (PREFIX, *_OPERATORS)


def is_engine(name: str) -> bool:
    """Is this operator a call of an engine?"""
    return name.startswith(_STARTS)


def engine_name(name: str) -> str:
    """`engine::openvino` -> "openvino"; a name that is no engine's stays."""
    for start, backend in _OPERATORS.items():
        if name.startswith(start):
            return backend
    return name.removeprefix(PREFIX)


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

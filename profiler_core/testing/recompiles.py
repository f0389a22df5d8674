"""`assert_no_recompiles`: which later call compiled again, by which guard, for how long."""

import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import torch

from profiler_core.errors import FusionscopeError
from profiler_core.record import Recorder
from profiler_core.session.run import Run
from profiler_core.testing.compiled import WORKLOAD, compiled_anew, n_compilations, quiet
from profiler_core.units import format_duration


def no_recompiles(
    model: Any,
    calls: Sequence[Any],
    folder: Path,
    *,
    dynamic: bool | None,
    warm_up: int,
    backend: str,
) -> str:
    """What is wrong; "" where only the first calls compiled.

    Args:
        model: a module or a function.
        calls: as the check takes them.
        folder: for the compiler's log.
        dynamic: as torch.compile takes it.
        warm_up: so many of the first calls may compile.
        backend: of torch.compile.
    """
    if len(calls) <= warm_up:
        raise ValueError(f"{warm_up} calls may compile, so pass more than {warm_up}.")
    arguments = [_arguments(call, model) for call in calls]
    compiled = compiled_anew(model, backend=backend, dynamic=dynamic)
    again: list[tuple[int, float]] = []
    # The log of all calls: a recording whose first steps, all there are, are only watched.
    try:
        with quiet(), Recorder(folder, WORKLOAD, "recompiles", skip_steps=len(calls) + 1,
                               training=False) as recorder:  # fmt: skip
            for number, inputs in enumerate(arguments, start=1):
                before, started_ns = n_compilations(), time.perf_counter_ns()
                compiled(*inputs)
                took_ns = time.perf_counter_ns() - started_ns
                recorder.step()
                if n_compilations() > before and number > warm_up:
                    started_ns = time.perf_counter_ns()
                    compiled(*inputs)
                    again.append((number, took_ns - (time.perf_counter_ns() - started_ns)))
    finally:
        torch._dynamo.reset()
    if not again:
        return ""
    return "\n".join(
        [
            f"The model was compiled again by {len(again)} of {len(calls) - warm_up} later calls:",
            *(
                f"  call {number}, {_shown(arguments[number - 1])}: "
                f"compiling took {format_duration(max(0.0, cost_ns))}"
                for number, cost_ns in again
            ),
            *_reasons(recorder.directory),
        ]
    )


def _reasons(directory: Path | None) -> list[str]:
    """The guards that failed, and where, by the compiler's own log."""
    try:
        log = Run.open(directory).compile_log if directory is not None else None
    except FusionscopeError:
        log = None
    if log is None or not log.recompiles:
        return ["  The compiler's log does not say which guard failed."]
    lines = []
    for recompile in log.recompiles:
        lines.append(f"  {recompile.file}:{recompile.line}: {recompile.function} was guarded by")
        for failure in recompile.reasons[:3]:
            code = f" ({failure.code.strip()})" if failure.code.strip() else ""
            lines.append(f"    {failure.guard}{code}")
    lines.append(
        "  Where shapes differ on purpose: mark_dynamic their dimension, or pass dynamic=True."
    )
    return lines


def _arguments(call: Any, model: Any) -> tuple[Any, ...]:
    if isinstance(call, tuple | list):
        if call and all(isinstance(n, int) and not isinstance(n, bool) for n in call):
            return (_made_up(tuple(call), model),)
        return tuple(call)
    return (call,)


def _made_up(shape: tuple[int, ...], model: Any) -> Any:
    parameters = getattr(model, "parameters", None)
    first = next(iter(parameters()), None) if callable(parameters) else None
    if first is None or not first.is_floating_point():
        return torch.randn(shape)
    return torch.randn(shape, device=first.device, dtype=first.dtype)


def _shown(arguments: tuple[Any, ...]) -> str:
    shown = [
        f"{tuple(argument.shape)}" if hasattr(argument, "shape") else repr(argument)[:40]
        for argument in arguments
    ]
    return ", ".join(shown) or "without arguments"

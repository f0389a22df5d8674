"""Makes calls of other compilers' engines visible: ranges in the trace, and counts.

A backend that hands a graph to a library of its own leaves nothing in a profiler's trace. So each
of its graphs is called inside the range that Inductor puts around its own (`## Call
CompiledFxGraph <key> ##`, which every reader of traces knows), and each call of the engine inside
an operator `engine::<backend>`.
"""

from __future__ import annotations

import functools
from typing import Any, Callable, Dict, List, Optional

from .operators import intercepted, operator_name

PREFIX = "engine::"
_GRAPH = "## Call CompiledFxGraph {}_{} ##"


class Ran:
    """Counts and facts of the engine in this process so far."""

    def __init__(self) -> None:
        self.backend: Optional[str] = None
        self.options: Dict[str, str] = {}
        self.n_graphs = 0
        self.n_calls = 0
        self.n_failed = 0
        self.reasons: List[str] = []
        self.precision: Optional[str] = None
        self.counts = False  # does the backend tell its engine's calls from its fallback?

    def fell_back(self, reason: str) -> None:
        """Count a part that did not run in the engine, and remember why."""
        self.n_failed += 1
        if reason and reason not in self.reasons:
            self.reasons.append(reason[:300])


RAN = Ran()


def _plain(call: Any) -> Any:
    return call


def counted(name: str, is_known: bool) -> Callable[[Any], Any]:
    """A wrapper that puts one operator around each call, unless PyTorch operators run inside.

    Args:
        name: of the backend.
        is_known: declared to be opaque. Another may well run its graph by PyTorch: its second call
            (the first one may compile) is watched.
    """

    def wrap(call: Any) -> Any:
        state = {"calls": 0, "opaque": is_known}

        def run(*arguments: Any, **keywords: Any) -> Any:
            RAN.n_calls += 1
            state["calls"] += 1
            if not is_known and state["calls"] == 2:
                makes_tensors = False

                def look(func: Any, args: Any, kwargs: Any) -> Any:
                    nonlocal makes_tensors
                    makes_tensors = makes_tensors or _makes_a_tensor(func)
                    return func(*args, **kwargs)

                with intercepted(look):
                    answer = call(*arguments, **keywords)
                state["opaque"] = not makes_tensors
                return answer
            if not state["opaque"]:
                return call(*arguments, **keywords)
            with operator(name):
                return call(*arguments, **keywords)

        if getattr(call, "_boxed_call", False):
            run._boxed_call = True  # type: ignore[attr-defined]
        return run

    return wrap


def _makes_a_tensor(func: Any) -> bool:
    """Does an operator make something new? One of higher order (without a schema) does."""
    schema = getattr(func, "_schema", None)
    if schema is None:
        return True
    moves = operator_name(func) in ("_to_copy", "lift_fresh", "empty")
    return bool(schema.returns) and schema.returns[0].alias_info is None and not moves


def ranged(name: str, backend: Any, engine: Callable[[Any], Any] = _plain) -> Any:
    """The backend, each of its graphs called in a range.

    Args:
        name: of the backend.
        backend: what torch has registered.
        engine: what is put around a compiled graph, inside the range.
    """

    @functools.wraps(backend)
    def compile_graph(graph: Any, inputs: Any, **keywords: Any) -> Any:
        return in_range(name, engine(backend(graph, inputs, **keywords)))

    return compile_graph


def in_range(name: str, call: Any) -> Any:
    """The call in the range of one more graph of this backend."""
    from torch.autograd.profiler import record_function

    title = _GRAPH.format(name, RAN.n_graphs)
    RAN.n_graphs += 1

    def run(*arguments: Any, **keywords: Any) -> Any:
        if not is_profiled():
            return call(*arguments, **keywords)
        with record_function(title):
            return call(*arguments, **keywords)

    if getattr(call, "_boxed_call", False):  # it takes one list, which it empties
        run._boxed_call = True  # type: ignore[attr-defined]
    return run


def operator(name: str) -> Any:
    """A context that appears as an operator in the trace; annotations would not count as work."""
    import torch

    fast = getattr(getattr(torch._C, "_profiler", None), "_RecordFunctionFast", None)  # 2.1 on
    if fast is not None:
        return fast(PREFIX + name)
    return torch.autograd.profiler.record_function(PREFIX + name)


def is_profiled() -> bool:
    """Whether a profiler is recording this process."""
    from torch.autograd import profiler

    return bool(getattr(profiler, "_is_profiler_enabled", True))

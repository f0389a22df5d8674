"""Makes calls of other compilers' engines visible: ranges in the trace, and counts.

A backend that hands a graph to a library of its own leaves nothing in a profiler's trace. So each
of its graphs is called inside the range that Inductor puts around its own (`## Call
CompiledFxGraph <key> ##`, which every reader of traces knows), and each call of the engine inside
an operator `engine::<backend>`.
"""

from __future__ import annotations

import functools
from typing import Any, Callable, Dict, List, Optional

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
                watch = _works_in_torch()
                with watch:
                    answer = call(*arguments, **keywords)
                state["opaque"] = not watch.makes_tensors
                return answer
            if not state["opaque"]:
                return call(*arguments, **keywords)
            with operator(name):
                return call(*arguments, **keywords)

        if getattr(call, "_boxed_call", False):
            run._boxed_call = True  # type: ignore[attr-defined]
        return run

    return wrap


def _works_in_torch() -> Any:
    """A mode whose `makes_tensors` says whether an operator ran that makes something new."""
    from torch.utils._python_dispatch import TorchDispatchMode

    class Watch(TorchDispatchMode):
        makes_tensors = False

        def __torch_dispatch__(
            self, func: Any, types: Any, args: Any = (), kwargs: Any = None
        ) -> Any:
            returns = func._schema.returns
            moves = func.overloadpacket.__name__ in ("_to_copy", "lift_fresh", "empty")
            if returns and returns[0].alias_info is None and not moves:
                self.makes_tensors = True
            return func(*args, **(kwargs or {}))

    return Watch()


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

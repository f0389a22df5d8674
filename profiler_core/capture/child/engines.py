"""Engines of other packages, made visible: ranges in the trace, and whether they ran at all.

A backend that hands a graph to a library of its own leaves nothing in a profiler's trace. So each
of its graphs is called inside the range that Inductor puts around its own (`## Call
CompiledFxGraph <key> ##`, which every reader of traces knows), and each call of the engine inside
an operator `engine::<backend>`.

Some backends fall back silently: openvino catches every exception and hands the graph to Inductor
(openvino/frontend/pytorch/torchdynamo/backend.py, 2026.4). So what ran is counted, and a variant
whose engine never ran is refused.
"""

from __future__ import annotations

import functools
import importlib
import logging
from typing import Any, Callable, Dict, List, Optional

from . import backends
from .failures import CannotRunError

PREFIX = "engine::"
_GRAPH = "## Call CompiledFxGraph {}_{} ##"

_XLA = ("openxla", "openxla_eval")
# Their calls are operators of torch already (tensorrt::execute_engine), with kernels inside.
_VISIBLE = ("tensorrt", "torch_tensorrt")
_OPENVINO_PRECISION = "INFERENCE_PRECISION_HINT"


class Ran:
    """What the engine of this process did so far."""

    def __init__(self) -> None:
        self.backend: Optional[str] = None
        self.options: Dict[str, str] = {}
        self.n_graphs = 0
        self.n_calls = 0
        self.n_failed = 0
        self.reasons: List[str] = []
        self.precision: Optional[str] = None
        self.counts = False  # does the backend tell its engine's calls from its fallback?

    def because(self, reason: str) -> None:
        """Remember why something did not run in the engine."""
        if reason and reason not in self.reasons:
            self.reasons.append(reason[:300])


RAN = Ran()


def watched(name: str, options: Optional[Dict[str, Any]] = None) -> Any:
    """The backend for torch.compile: the name itself where torch brings it, else made visible.

    Args:
        name: known to torch.compile here.
        options: what it will be given; kept for `facts`.
    """
    registry = importlib.import_module("torch._dynamo.backends.registry")
    original = registry.lookup_backend(name)
    if name not in backends.PACKAGES and _is_torchs(original):
        return name
    RAN.backend = name
    RAN.options = {key: repr(value) for key, value in (options or {}).items()}
    if name == "openvino":
        _watch_openvino()
        return _ranged(name, original, _plain)  # its engine's calls are watched one by one
    if name in _XLA:
        _watch_xla(name)  # its graphs are announced below AOTAutograd: forward and backward
        return name
    if name in _VISIBLE:
        return _ranged(name, original, _plain)
    return _ranged(name, original, _counted(name, is_known=name in backends.PACKAGES))


def facts() -> Optional[Dict[str, Any]]:
    """`engine` of run.json's measurement; None where the backend is torch's own."""
    if RAN.backend is None:
        return None
    return {
        "backend": RAN.backend,
        "version": backends.version(RAN.backend),
        "options": dict(RAN.options),
        "n_graphs": RAN.n_graphs,
        "n_calls": RAN.n_calls,
        "n_fell_back": RAN.n_failed,
        "reasons": list(RAN.reasons),
        "precision": RAN.precision,
    }


def check_ran() -> None:
    """Refuse a run whose engine did nothing: its label would be false.

    Raises:
        CannotRunError: after the first call, when the engine was never called.
    """
    if RAN.backend is None or not RAN.counts or RAN.n_calls:
        return
    why = "; ".join(RAN.reasons) or "it gave no reason"
    remedy = "Try it with +static, another model or precision, or leave it out."
    raise CannotRunError(
        "{} ran none of the model: the whole of it fell back to another compiler or to eager "
        "({}).".format(RAN.backend, why),
        remedy,
    )


def device_for(backend: Optional[str], device: Any) -> Any:
    """Where model and inputs must lie: XLA takes tensors of its own device only."""
    if backend not in _XLA:
        return device
    backends.check_backend(backend, device.type)
    return importlib.import_module("torch_xla").device()


def end_of_step(backend: Optional[str], training: bool) -> Callable[[], Any]:
    """What a step ends with. XLA works behind the host: wait until the result is there."""
    if backend not in _XLA:
        return _nothing
    xla = importlib.import_module("torch_xla")
    if training:

        def run_the_rest() -> None:  # the optimizer's operators are only noted down until then
            with _operator(str(backend)):
                xla.sync(wait=True)

        return run_the_rest
    return importlib.import_module("torch_xla.core.xla_model").wait_device_ops  # type: ignore[no-any-return]


def draws_otherwise(backend: Optional[str]) -> bool:
    """Has the backend a random generator of its own, so that dropout differs from eager's?"""
    return backend in _XLA or backend == "openvino"


def rounding(backend: Optional[str], precision: str) -> List[str]:
    """Why an answer may be wrong although the engine did as it was told."""
    found = (RAN.precision or "").lower()
    if backend != "openvino" or precision != "fp32" or found in ("", "f32", "dynamic"):
        return []
    return [
        "openvino computed in {} by itself: openvino+config.{}=f32 keeps fp32".format(
            found, _OPENVINO_PRECISION
        )
    ]


def _nothing() -> None:
    pass


def _plain(call: Any) -> Any:
    return call


def _counted(name: str, is_known: bool) -> Callable[[Any], Any]:
    """One operator for each call, unless the operators of PyTorch inside say more.

    A backend that nobody here knows may well run its graph by PyTorch: its second call (the first
    one may compile) is watched.
    """

    def wrap(call: Any) -> Any:
        seen = {"calls": 0, "opaque": is_known}

        def run(*arguments: Any, **keywords: Any) -> Any:
            RAN.n_calls += 1
            seen["calls"] += 1
            if not is_known and seen["calls"] == 2:
                watch = _works_in_torch()
                with watch:
                    answer = call(*arguments, **keywords)
                seen["opaque"] = not watch.found
                return answer
            if not seen["opaque"]:
                return call(*arguments, **keywords)
            with _operator(name):
                return call(*arguments, **keywords)

        if getattr(call, "_boxed_call", False):
            run._boxed_call = True  # type: ignore[attr-defined]
        return run

    return wrap


def _works_in_torch() -> Any:
    """A mode whose `found` says whether an operator ran that makes something new."""
    from torch.utils._python_dispatch import TorchDispatchMode

    class Watch(TorchDispatchMode):
        found = False

        def __torch_dispatch__(
            self, func: Any, types: Any, args: Any = (), kwargs: Any = None
        ) -> Any:
            returns = func._schema.returns
            moves = func.overloadpacket.__name__ in ("_to_copy", "lift_fresh", "empty")
            if returns and returns[0].alias_info is None and not moves:
                self.found = True
            return func(*args, **(kwargs or {}))

    return Watch()


def _ranged(name: str, backend: Any, engine: Callable[[Any], Any]) -> Any:
    """The backend, its graphs called in a range."""

    @functools.wraps(backend)
    def compile_graph(graph: Any, inputs: Any, **keywords: Any) -> Any:
        return _in_range(name, engine(backend(graph, inputs, **keywords)))

    return compile_graph


def _in_range(name: str, call: Any) -> Any:
    from torch.autograd.profiler import record_function

    title = _GRAPH.format(name, RAN.n_graphs)
    RAN.n_graphs += 1

    def run(*arguments: Any, **keywords: Any) -> Any:
        if not _is_profiled():
            return call(*arguments, **keywords)
        with record_function(title):
            return call(*arguments, **keywords)

    if getattr(call, "_boxed_call", False):  # it takes one list, which it empties
        run._boxed_call = True  # type: ignore[attr-defined]
    return run


def _operator(name: str) -> Any:
    """A host operator in the trace, not an annotation: what it takes is work."""
    import torch

    fast = getattr(getattr(torch._C, "_profiler", None), "_RecordFunctionFast", None)  # 2.1 on
    if fast is not None:
        return fast(PREFIX + name)
    return torch.autograd.profiler.record_function(PREFIX + name)


def _is_profiled() -> bool:
    from torch.autograd import profiler

    return bool(getattr(profiler, "_is_profiler_enabled", True))


def _is_torchs(backend: Any) -> bool:
    return str(getattr(backend, "__module__", "")).split(".")[0] in ("torch", "functorch")


@functools.lru_cache(maxsize=None)  # once a process
def _watch_openvino() -> None:
    """Each run of a partition is an operator; what falls back to PyTorch or Inductor is counted."""
    RAN.counts = True
    folder = "openvino.frontend.pytorch.torchdynamo."
    execute: Any = importlib.import_module(folder + "execute")
    backend: Any = importlib.import_module(folder + "backend")
    infer, cached = execute.openvino_execute, backend.execute_cached

    @functools.wraps(infer)
    def run(*arguments: Any, **keywords: Any) -> Any:
        with _operator("openvino"):
            try:
                answer = infer(*arguments, **keywords)
            except Exception as error:
                RAN.n_failed += 1
                RAN.because(_line(error))
                raise  # openvino runs this partition with PyTorch from now on
        RAN.n_calls += 1
        if RAN.precision is None:
            RAN.precision = _openvino_precision(execute.compiled_cache)
        return answer

    @functools.wraps(cached)
    def run_cached(compiled: Any, *arguments: Any) -> Any:
        with _operator("openvino"):
            answer = cached(compiled, *arguments)
        RAN.n_calls += 1
        if RAN.precision is None:
            RAN.precision = _openvino_precision({0: compiled})
        return answer

    execute.openvino_execute = run
    backend.execute_cached = run_cached
    logger = backend.logger
    logger.setLevel(logging.DEBUG)
    logger.propagate = False
    logger.addHandler(_Reasons())


class _Reasons(logging.Handler):
    """Takes "Failed in OpenVINO execution: …" down: the one trace of a fallback to Inductor."""

    def emit(self, record: logging.LogRecord) -> None:
        text = record.getMessage()
        if "Failed in OpenVINO" in text:
            RAN.n_failed += 1
            RAN.because(_in_one_line(text.partition(":")[2]) or "an assertion in its frontend")


def _openvino_precision(compiled: Dict[Any, Any]) -> str:
    """What the plugin computes in: bf16 by default on a CPU with AMX."""
    for model in compiled.values():
        try:
            named = str(model.get_property(_OPENVINO_PRECISION).to_string())
        except (AttributeError, RuntimeError):  # another plugin has no such property
            continue
        return named
    return ""


@functools.lru_cache(maxsize=None)
def _watch_xla(name: str) -> None:
    RAN.counts = True
    bridge: Any = importlib.import_module("torch_xla.core.dynamo_bridge")
    wait = importlib.import_module("torch_xla.core.xla_model").wait_device_ops
    extract = bridge.extract_compiled_graph

    @functools.wraps(extract)
    def compile_graph(graph: Any, arguments: Any) -> Any:
        if not any(_on_xla(value) for value in arguments):
            RAN.n_failed += 1
            RAN.because("its tensors are not on the XLA device")
            return extract(graph, arguments)
        compiled = extract(graph, arguments)

        def run(*own: Any) -> Any:
            RAN.n_calls += 1
            if not _is_profiled():
                return compiled(*own)
            with _operator(name):
                answer = compiled(*own)
                wait()  # its own time: the host would be gone long before
            return answer

        return _in_range(name, run)

    bridge.extract_compiled_graph = compile_graph


def _on_xla(value: Any) -> bool:
    return getattr(getattr(value, "device", None), "type", "") == "xla"


def _line(error: BaseException) -> str:
    return _in_one_line(str(error)) or type(error).__name__


def _in_one_line(text: str) -> str:
    """An error's first line; where OpenVINO ends with a summary that names operators, that."""
    summary = text.partition("\nSummary:")[2].strip()
    if summary:
        return "; ".join(line.strip().lstrip("- ") for line in summary.splitlines())
    return (text.strip().splitlines() or [""])[0]

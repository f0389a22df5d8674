"""XLA, through torch_xla. Tried on 2026-11-21: torch_xla 2.9.0 with torch 2.9.0."""

from __future__ import annotations

import functools
import importlib
import os
from typing import Any, Callable

from .. import engine_calls
from ..backend import Backend, Documented, Package
from ..engine_calls import RAN


class _Xla(Backend):
    def load(self, device_type: str) -> None:
        """Set the device before torch_xla looks for a TPU by itself."""
        os.environ.setdefault("PJRT_DEVICE", "CUDA" if device_type == "cuda" else "CPU")
        super().load(device_type)

    def set_up(self, name: str, original: Any) -> Any:
        """Wrap its graphs below AOTAutograd, so that forward and backward are separate."""
        _watch(name)
        return name

    def device(self, name: str, device: Any) -> Any:
        """XLA takes tensors of its own device only."""
        from ..installed import check_backend

        check_backend(name, device.type)
        return importlib.import_module("torch_xla").device()

    def end_of_step(self, name: str, training: bool) -> Callable[[], Any]:
        """XLA runs asynchronously: wait until the result is there."""
        xla = importlib.import_module("torch_xla")
        if training:

            def run_the_rest() -> None:  # the optimizer's operators are only noted down until then
                with engine_calls.operator(name):
                    xla.sync(wait=True)

            return run_the_rest
        return _wait()


BACKEND = _Xla(
    name="openxla",
    aliases=("openxla_eval",),
    spelt_out=("openxla_eval",),
    package=Package(
        "torch_xla",
        "torch_xla",
        "torch_xla of the same version as torch (2.9 is the last one) into an environment of its "
        "own, and pass its --python",
    ),
    takes="none",
    draws_otherwise=True,
    documented=Documented(
        label="`openxla`",
        needs="torch_xla of torch's version, in an environment of its own (`--python`)",
        tried="torch_xla 2.9.0, torch 2.9.0 (PJRT on the CPU)",
        measured="as openvino; forward, backward and the rest of a training step apart",
        not_measured="as openvino",
    ),
)


@functools.lru_cache(maxsize=None)  # once a process
def _watch(name: str) -> None:
    RAN.counts = True
    bridge: Any = importlib.import_module("torch_xla.core.dynamo_bridge")
    wait = _wait()
    extract = bridge.extract_compiled_graph

    @functools.wraps(extract)
    def compile_graph(graph: Any, arguments: Any) -> Any:
        if not any(_on_xla(value) for value in arguments):
            RAN.fell_back("its tensors are not on the XLA device")
            return extract(graph, arguments)
        compiled = extract(graph, arguments)

        def run(*inputs: Any) -> Any:
            RAN.n_calls += 1
            if not engine_calls.is_profiled():
                return compiled(*inputs)
            with engine_calls.operator(name):
                answer = compiled(*inputs)
                wait()  # XLA is asynchronous: the operator would end before its work
            return answer

        return engine_calls.in_range(name, run)

    bridge.extract_compiled_graph = compile_graph


def _wait() -> Callable[[], Any]:
    """Blocks until the device has done what it was given."""
    return importlib.import_module("torch_xla.core.xla_model").wait_device_ops  # type: ignore[no-any-return]


def _on_xla(value: Any) -> bool:
    return getattr(getattr(value, "device", None), "type", "") == "xla"

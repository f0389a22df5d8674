"""A built workload + a variant -> the callable that the timing loop runs."""

from __future__ import annotations

import importlib
import os
import sys
from functools import partial
from typing import Any, Callable, Dict, Mapping, NamedTuple, Optional, Sequence

from . import engines, installed, protocols, script_compile, settings, targets, workloads
from .failures import CannotRunError
from .workloads import Built, Inputs, Request

_HALF = {"bf16": "bfloat16", "fp16": "float16"}
_CUDA_GRAPH_MODES = ("reduce-overhead", "max-autotune")


class Variant(NamedTuple):
    """The keys of `spec` in run.json; see `variant_spec.VariantSpec`."""

    compile: bool
    mode: Optional[str]
    backend: Optional[str]
    torchscript: bool
    dynamic: Optional[bool]
    fullgraph: bool
    precision: str
    channels_last: bool
    backend_options: Optional[Dict[str, Any]] = None
    target: Sequence[str] = ()
    settings: Mapping[str, str] = {}

    def eager(self) -> Variant:
        """The same precision and layout, not compiled."""
        return self._replace(
            compile=False, mode=None, backend=None, torchscript=False, dynamic=None,
            fullgraph=False, backend_options=None, target=(), settings={},
        )  # fmt: skip

    @property
    def is_compiled(self) -> bool:
        """Whether it runs anything other than eager."""
        return self.compile or self.torchscript

    @property
    def uses_cuda_graphs(self) -> bool:
        """A step must be marked, so that a replay may overwrite the last step's tensors."""
        return self.mode in _CUDA_GRAPH_MODES or self.backend == "cudagraphs"


def variant_from(fields: Dict[str, Any]) -> Variant:
    """From the launcher's JSON."""
    return Variant(**{name: fields[name] for name in Variant._fields if name in fields})


def build(request: Request, variant: Variant, device: Any) -> Built:
    """Build the workload for the variant, with model and inputs where they belong."""
    as_is = targets.AS_IS in variant.target
    script_compile.obey(as_is or not request.as_is_beside)
    itself = variant.compile and (as_is or not variant.target)
    wrap = _own_compile(variant) if itself else script_compile.identity
    built = workloads.build(request, wrap)
    settings.mark_regions(built.model, variant.settings)
    return place(built._replace(compiles_itself=built.compiles_itself and itself), variant, device)


def place(built: Built, variant: Variant, device: Any) -> Built:
    """Model and inputs on the device, in the variant's weights' precision and memory layout."""
    import torch

    device = engines.device_for(variant.backend, device)
    dtype = getattr(torch, _HALF[variant.precision]) if variant.precision in _HALF else None
    if built.step is not None and built.model is None:
        if dtype is not None or variant.channels_last:
            raise CannotRunError(
                "A step callable keeps its own weights and layout, which this variant changes.",
                "Use an autocast precision, or return (model, example_inputs).",
            )
        return built
    layout = torch.channels_last if variant.channels_last else None
    model = built.model
    for module in [model] if built.loop is None else protocols.modules_of(built.loop):
        if hasattr(module, "to"):
            moved = module.to(device=device, dtype=dtype) if dtype else module.to(device)
            if layout is not None:
                moved = moved.to(memory_format=layout)
            model = moved if module is model else model
    put = partial(_place_call, device=device, dtype=dtype, layout=layout)
    return built._replace(model=model, inputs=[put(call) for call in built.inputs], moved=put)


def apply_precision(variant: Variant) -> None:
    """Process-wide settings; fp32 leaves PyTorch's own defaults alone."""
    if variant.precision == "tf32":
        import torch

        torch.set_float32_matmul_precision("high")
        torch.backends.cudnn.allow_tf32 = True


def apply_inductor(device: Any, fallback_random: bool = False) -> None:
    """Inductor settings that the capture needs, before anything is compiled."""
    config: Any = importlib.import_module("torch._inductor.config")
    show_cpp_kernels(device)
    if fallback_random:
        config.fallback_random = True  # dropout draws the same numbers as eager


def show_cpp_kernels(device: Any) -> None:
    """Let Inductor's C++ kernels stand in a trace of the CPU, as graph_0_cpp_fused_… (2.13).

    Of each variant, so that code that the user compiles in an eager one is seen and timed alike.
    Inductor is not imported for that: where it is not loaded yet, it reads the variable.
    """
    if device.type != "cpu":
        return
    os.environ["TORCHINDUCTOR_CPP_ENABLE_KERNEL_PROFILE"] = "1"
    config = sys.modules.get("torch._inductor.config")
    if config is not None:
        config.cpp.enable_kernel_profile = True


def compiler(variant: Variant) -> Callable[[Any, Inputs], Any]:
    """A function (callable, example call) -> the callable that the variant runs."""
    if variant.torchscript:
        return _torchscript
    if not variant.compile:
        return lambda target, _: target
    installed.check_backend(variant.backend)
    arguments = _arguments(variant)

    return lambda target, _: script_compile.original()(target, **arguments)


def _own_compile(variant: Variant) -> Callable[..., Any]:
    """torch.compile with the variant's arguments, which those of the call override."""
    arguments: Dict[str, Any] = {}

    def compile_as_asked(target: Any = None, **more: Any) -> Any:
        if not arguments:  # not before: the user's file may register the backend
            installed.check_backend(variant.backend)
            arguments.update(_arguments(variant))
        chosen = {**arguments, **more}
        if "mode" in more:  # torch.compile takes one of the two
            chosen.pop("options", None)
        return script_compile.original()(target, **chosen)

    return compile_as_asked


def _arguments(variant: Variant) -> Dict[str, Any]:
    """The keyword arguments of torch.compile; a mode beside options becomes options too."""
    name = variant.backend
    options = installed.options_for(name, variant.backend_options or {})
    arguments: Dict[str, Any] = {"dynamic": variant.dynamic, "fullgraph": variant.fullgraph}
    if name not in (None, "inductor"):
        arguments["backend"] = engines.watched(str(name), options)
    elif variant.mode not in (None, "default"):
        if not options:
            arguments["mode"] = variant.mode
        else:
            inductor: Any = importlib.import_module("torch._inductor")
            options = {**inductor.list_mode_options(variant.mode), **options}
    if options:
        arguments["options"] = options
    return arguments


def _torchscript(target: Any, call: Inputs) -> Any:
    import torch

    if not isinstance(target, torch.nn.Module):
        raise CannotRunError(
            "TorchScript traces a module, and this workload is a function.",
            "Return (model, example_inputs) with an nn.Module.",
        )
    args, kwargs = call
    # strict=False lets a model return a dict, as those of transformers do.
    if kwargs:
        return torch.jit.trace(target, example_kwarg_inputs=kwargs, strict=False, check_trace=False)
    return torch.jit.trace(target, args, strict=False, check_trace=False)


def _place_call(call: Inputs, device: Any, dtype: Any, layout: Any) -> Inputs:
    args, kwargs = call
    moved = tuple(_place_value(value, device, dtype, layout) for value in args)
    return moved, {key: _place_value(value, device, dtype, layout) for key, value in kwargs.items()}


def _place_value(value: Any, device: Any, dtype: Any, layout: Any) -> Any:
    import torch

    if isinstance(value, torch.Tensor):
        value = value.to(device)
        if dtype is not None and value.is_floating_point():
            value = value.to(dtype)
        if layout is not None and value.dim() == 4:
            value = value.contiguous(memory_format=layout)
        return value
    if isinstance(value, (list, tuple)) and type(value) in (list, tuple):
        return type(value)(_place_value(item, device, dtype, layout) for item in value)
    if isinstance(value, Mapping):  # also a BatchEncoding of transformers
        return {key: _place_value(item, device, dtype, layout) for key, item in value.items()}
    return value

"""NVIDIA TensorRT, through torch-tensorrt.

Its options are the fields of torch_tensorrt.dynamo.CompilationSettings.
"""

from __future__ import annotations

from typing import Any, Dict

from ..backend import Backend, Documented, Option, Package


class _TensorRT(Backend):
    def converted(self, options: Dict[str, Any]) -> Dict[str, Any]:
        """Precisions are a set there."""
        if "enabled_precisions" not in options:
            return options
        requested = options["enabled_precisions"]
        precisions = set(requested if isinstance(requested, list) else [requested])
        return dict(options, enabled_precisions=precisions)


BACKEND = _TensorRT(
    name="tensorrt",
    aliases=("torch_tensorrt",),
    package=Package(
        "torch_tensorrt",
        "torch-tensorrt",
        "torch-tensorrt of the same version as torch, which needs an NVIDIA GPU",
    ),
    options=(
        Option("enabled_precisions", "what a layer may compute in", "torch.float16", "list"),
        Option("use_explicit_typing", "keep the dtypes of the model", "true", "switch"),
        Option(
            "workspace_size", "bytes that TensorRT may use, 0: its own choice", "1073741824",
            "whole number",
        ),
        Option(
            "min_block_size", "least operators that become an engine", "5", "whole number"
        ),
        Option(
            "optimization_level", "0 to 5: how long it looks for kernels", "3", "whole number"
        ),
        Option("truncate_double", "turn fp64 into fp32", "true", "switch"),
        Option("require_full_compilation", "leave nothing to PyTorch", "true", "switch"),
        Option(
            "pass_through_build_failures", "raise where no engine can be built", "true", "switch"
        ),
        Option("use_python_runtime", "run engines from Python", "true", "switch"),
        Option("torch_executed_ops", "operators left to PyTorch", "aten.add", "list"),
    ),
    # How torch-tensorrt runs an engine (core/runtime/register_jit_hooks.cpp): its kernels are in
    # the trace, but by names of TensorRT's own.
    operators=("tensorrt::execute_engine",),
    documented=Documented(
        needs="`torch-tensorrt` of torch's version, an NVIDIA GPU",
        takes="and any other of its `CompilationSettings`",
        tried="not with the real package: a stand-in that registers itself under its name (import, "
        "options, failures)",
        measured="kernels by name on the GPU, step time, answers, graph breaks",
        not_measured="which kernel computes which operator: TensorRT has names of its own",
    ),
)  # fmt: skip

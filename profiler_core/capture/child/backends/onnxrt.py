"""ONNX Runtime, through the backend that torch 2.8 and older bring for it.

Its options are those of torch.onnx._OrtBackendOptions (torch 2.8).
"""

from ..backend import Backend, Documented, Option, Package

BACKEND = Backend(
    name="onnxrt",
    package=Package(
        "onnxruntime",
        "onnxruntime",
        "onnxruntime, onnx and onnxscript beside torch 2.8 or older: torch 2.9 dropped it",
    ),
    options=(
        Option(
            "preferred_execution_providers", "the first one that is there runs it",
            "CUDAExecutionProvider:CPUExecutionProvider", "list",
        ),
        Option("infer_execution_providers", "choose it by the inputs' device", "true", "switch"),
        Option(
            "default_execution_providers", "taken where nothing else fits",
            "CPUExecutionProvider", "list",
        ),
        Option("use_aot_autograd", "trace through AOTAutograd", "true", "switch"),
        Option("preallocate_output", "let PyTorch allocate the results", "false", "switch"),
    ),
    documented=Documented(
        needs="`onnxruntime`, `onnx`, `onnxscript` and torch 2.8 or older: torch 2.9 dropped the "
        "backend",
        tried="as tensorrt",
        measured="step time, answers, graph breaks, each call of its engine",
        not_measured="what happens inside a call",
    ),
)  # fmt: skip

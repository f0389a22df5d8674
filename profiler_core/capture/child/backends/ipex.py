"""Intel's extension for PyTorch."""

from ..backend import Backend, Documented, Package

BACKEND = Backend(
    name="ipex",
    spelt_out=("ipex",),
    package=Package(
        "intel_extension_for_pytorch", "intel-extension-for-pytorch", "intel-extension-for-pytorch"
    ),
    documented=Documented(
        needs="`intel-extension-for-pytorch`",
        takes="passed on as they are",
        tried="not tried",
        measured="as onnxrt",
        not_measured="as onnxrt",
    ),
)

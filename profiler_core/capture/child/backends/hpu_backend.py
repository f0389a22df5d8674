"""Intel Gaudi."""

from ..backend import Backend, Documented, Package

BACKEND = Backend(
    name="hpu_backend",
    spelt_out=("hpu_backend",),
    package=Package("habana_frameworks.torch", "habana-torch-plugin", "habana-torch-plugin"),
    documented=Documented(
        needs="`habana-torch-plugin`",
        takes="passed on as they are",
        tried="not tried",
        measured="as onnxrt",
        not_measured="as onnxrt",
    ),
)

"""Apache TVM."""

from ..backend import Backend, Documented, Package

BACKEND = Backend(
    name="tvm",
    package=Package("tvm", "apache-tvm", "apache-tvm"),
    documented=Documented(
        needs="`apache-tvm`",
        takes="passed on as they are",
        tried="not tried",
        measured="as onnxrt",
        not_measured="as onnxrt",
    ),
)

"""Dynamo and AOTAutograd: forward and backward graphs, run by PyTorch."""

from ..backend import Backend, Documented

BACKEND = Backend(
    name="aot_eager",
    aliases=("aot_eager_decomp_partition",),
    takes="none",
    documented=Documented(
        needs="torch",
        tried="torch 2.15.0",
        measured="everything; kernels are eager's",
    ),
)

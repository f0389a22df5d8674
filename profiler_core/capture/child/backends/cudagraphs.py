"""PyTorch's kernels, replayed as CUDA graphs."""

from ..backend import Backend, Documented

BACKEND = Backend(
    name="cudagraphs",
    takes="none",
    documented=Documented(
        needs="torch, an NVIDIA GPU",
        tried="torch 2.15.0 on the CPU, where PyTorch skips the graphs, says so, and a finding "
        "repeats it",
        measured="everything; kernels are eager's, replayed",
    ),
)

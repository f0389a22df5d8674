"""torch.compile's own compiler: the modes of a variant go through it."""

from ..backend import Backend, Documented

BACKEND = Backend(
    name="inductor",
    spelt_out=("inductor",),  # its modes stand for it
    dotted_keys=True,  # triton.cudagraphs is one name
    documented=Documented(
        label="`default`, `reduce-overhead`, `max-autotune`, `max-autotune-no-cudagraphs`",
        needs="torch, and Triton (GPU) or a C++ compiler (CPU)",
        takes="any of Inductor's: `default+max_autotune=true`, `default+triton.cudagraphs=true`",
        tried="torch 2.15.0; on an H200 with 2.11 and later",
        measured="everything",
    ),
)

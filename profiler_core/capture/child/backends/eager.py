"""Dynamo alone: its graphs are run by PyTorch as they are."""

from ..backend import Backend, Documented

BACKEND = Backend(
    name="eager",
    aliases=("eager_noexcept",),
    spelt_out=("eager",),  # alone it means no torch.compile
    takes="none",
    documented=Documented(
        label="`backend:eager`, `eager_noexcept`",
        needs="torch",
        tried="torch 2.15.0",
        measured="everything; kernels are eager's",
    ),
)

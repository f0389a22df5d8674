"""Whether a step calls an operator that may round like TF32 although its tensors are fp32.

PyTorch lets cuDNN's convolutions use TF32 unless told otherwise (`torch.backends.cudnn.allow_tf32`
is True from the start), and matrix products only when asked. Which algorithm is taken is the
library's choice, shape by shape: eager's may be exact and the compiled one's may not, and both
are right. A gradient through a batch norm of two samples is off by half of its size then, which
hides any fault, so such a step is judged with TF32 switched off on both sides.
Source: https://pytorch.org/docs/stable/notes/cuda.html#tensorfloat-32-tf32-on-ampere-and-later-devices
"""

from __future__ import annotations

from contextlib import contextmanager
from typing import Any, Callable, Iterator, Set

from .operators import intercepted, operator_name

_CONVOLUTIONS = {"convolution", "_convolution", "cudnn_convolution", "convolution_backward"}
_PRODUCTS = {"mm", "addmm", "bmm", "baddbmm"}


def may_round_like_tf32(device: Any, make_call: Callable[[], Callable[[], Any]]) -> bool:
    """Make a call and run it once, in eager mode, to look at the operators that it calls.

    Nothing is made on a device that has no TF32.
    """
    import torch

    if (
        device.type != "cuda"
        or torch.version.hip
        or torch.cuda.get_device_capability(device)[0] < 8
    ):
        return False
    watched: Set[str] = set()
    if torch.backends.cudnn.allow_tf32:
        watched |= _CONVOLUTIONS
    if torch.get_float32_matmul_precision() != "highest":
        watched |= _PRODUCTS
    called: Set[str] = set()

    def note(operator: Any, args: Any, kwargs: Any) -> Any:
        called.add(operator_name(operator))
        return operator(*args, **kwargs)

    call = make_call()
    try:
        with intercepted(note):
            call()
    except RuntimeError:  # an operator of higher order that lets no such mode look at it
        return bool(watched)
    return bool(called & watched)


@contextmanager
def without_tf32(needed: bool) -> Iterator[None]:
    """Let convolutions and matrix products of fp32 tensors compute in fp32, where `needed`."""
    import torch

    if not needed:
        yield
        return
    convolutions = torch.backends.cudnn.allow_tf32
    products = torch.get_float32_matmul_precision()
    torch.backends.cudnn.allow_tf32 = False
    torch.set_float32_matmul_precision("highest")
    try:
        yield
    finally:
        torch.backends.cudnn.allow_tf32 = convolutions
        torch.set_float32_matmul_precision(products)

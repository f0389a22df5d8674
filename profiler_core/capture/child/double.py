"""Calls and answers in double precision, for the reference of the numerics."""

from __future__ import annotations

from typing import Any

from .tolerance import Named
from .workloads import Inputs


def is_double(answer: Named) -> bool:
    """Whether all floating tensors of an answer are in double precision, and there is one."""
    import torch

    floating = [t for _, t in answer if t.is_floating_point()]
    return bool(floating) and all(t.dtype == torch.float64 for t in floating)


def double_call(call: Inputs) -> Inputs:
    """The arguments of a call with every floating tensor in double precision."""
    args, kwargs = call
    return tuple(_double(v) for v in args), {k: _double(v) for k, v in kwargs.items()}


def _double(value: Any) -> Any:
    import torch

    if isinstance(value, torch.Tensor) and value.is_floating_point():
        return value.double()
    if type(value) in (list, tuple):
        return type(value)(_double(item) for item in value)
    if isinstance(value, dict):
        return {key: _double(item) for key, item in value.items()}
    return value

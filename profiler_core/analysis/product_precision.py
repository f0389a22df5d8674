"""In how many bits a run computes its products and convolutions, by the names of its kernels.

A bare trace has no record that says it. Names do where libraries write the types of the factors:
`f32f32_tf32f32`, `sgemm`, `bf16`; a Triton template has none, and types of 8 bits are not told.
"""

import re
from collections.abc import Iterable
from typing import Literal

from profiler_core.analysis.categories import PRODUCT_CATEGORIES
from profiler_core.analysis.kernels import KernelTotal
from profiler_core.analysis.side import Side

Bits = Literal[16, 32]

# cuBLAS's nvjet kernels carry their types as letters (t bf16, h fp16), AMD's Tensile as BBS, HHS.
HALF_NAME = re.compile(
    r"fp?16|half|_h_|hhh|bfloat|nvjet(?:_sm\d+)?_[ht]|Cijk_\w*?_[BH](?:[BH]?S|[BH])_",
    re.IGNORECASE,
)
# TF32's factors are kept in 32 bits: s1688 is its instruction on Ampere. Also cuDNN's scudnn, the
# memory-efficient attention of ATen, and AMD's Tensile.
_WIDE_NAME = re.compile(
    r"f32f32|sgemm|scudnn|s1688|_f32_|fp32|[<,] ?float[,>]|Cijk_\w*?_SB?_", re.IGNORECASE
)
_OTHER_NAME = re.compile(r"e4m3|e5m2|f(?:p)?8(?!\d)|int8|s8s8|f64|double", re.IGNORECASE)
_NEARLY_ALL = 0.95  # of the time of these kernels


def product_bits(kernels: Iterable[KernelTotal]) -> Bits | None:
    """Of nearly all the time of products and convolutions; None: mixed, or names do not tell."""
    times_ns: dict[Bits | None, int] = {}
    for kernel in kernels:
        if kernel.category in PRODUCT_CATEGORIES:
            bits = named_bits(kernel.name)
            times_ns[bits] = times_ns.get(bits, 0) + kernel.time_ns
    most = max(times_ns, key=times_ns.__getitem__, default=None)
    return most if most and times_ns[most] >= _NEARLY_ALL * sum(times_ns.values()) else None


def named_bits(name: str) -> Bits | None:
    """Of the factors, by the kernel's name; None: it does not say, or says 8 or 64."""
    if _OTHER_NAME.search(name):
        return None
    if HALF_NAME.search(name):
        return 16
    return 32 if _WIDE_NAME.search(name) else None


def names_other_type(name: str) -> bool:
    """Does a kernel's name say that its factors have 8 or 64 bits?"""
    return _OTHER_NAME.search(name) is not None


def unrecorded_bits(baseline: Side, candidate: Side) -> tuple[Bits, Bits] | None:
    """Of both sides, where they differ and no record of the runs says so; None: all else."""
    sides = (baseline, candidate)
    before, after = (side.run.record.spec.get("precision") for side in sides)
    if before != after:
        return None
    of_sides = [product_bits(side.summary.kernels) if side.summary else None for side in sides]
    if of_sides[0] is None or of_sides[1] is None or of_sides[0] == of_sides[1]:
        return None
    return of_sides[0], of_sides[1]

"""Matrix products and convolutions as the findings about them see them: kernels, shapes, floors.

Levers that act on the same products (TF32, 16 bits, max-autotune) exclude each other in part, so
each says what it could bring by itself, and none may be added to another.
"""

import re
from collections.abc import Sequence
from dataclasses import replace

from profiler_core.analysis.finding_rules.facts import PRODUCT_CATEGORIES, Facts
from profiler_core.analysis.finding_rules.op_work import OpWork, headroom
from profiler_core.analysis.kernels import KernelTotal
from profiler_core.units import format_duration

# cuBLAS's nvjet kernels carry their types as letters (t bf16, h fp16), AMD's Tensile as BBS, HHS.
HALF_NAME = re.compile(
    r"bf16|f16|half|_h_|hhh|bfloat|nvjet(?:_sm\d+)?_[ht]|Cijk_\w*?_[BH](?:[BH]?S|[BH])_",
    re.IGNORECASE,
)
_NO_SHAPES = "neither trace has the shapes of these products"
_NO_SHAPES_ALONE = "the trace has no shapes of these products, as in the replay of a CUDA graph"


def plain_fp32(facts: Facts) -> tuple[KernelTotal, ...]:
    """Kernels of products in fp32 that use no Tensor Cores, longest first."""
    return tuple(
        kernel
        for kernel in facts.kernels(*PRODUCT_CATEGORIES)
        if kernel.tensor_cores is False
        and not HALF_NAME.search(kernel.name)
        and "f64" not in kernel.name
    )


def peak_in_use(facts: Facts, op: OpWork, fp32_kernels: set[str]) -> float | None:
    """The dense peak of the units that this product runs on; None for an unknown device."""
    if facts.peaks is None:
        return None
    if op.in_halves:
        return facts.peaks.half_flops
    return facts.peaks.fp32_flops if op.kernel in fp32_kernels else facts.peaks.tf32_flops


def roofline(
    facts: Facts,
    products: Sequence[tuple[OpWork, float | None, int]],
    type_: str,
    otherwise_ns: float | None,
) -> tuple[float | None, str]:
    """(At most this much, ns per step, and the sentence that says how it was computed).

    Args:
        facts: of the run.
        products: each with the peak and the bytes of the type that it is to be computed in.
        type_: that type, in words.
        otherwise_ns: the bound where no floor is known: the products' whole time, or None.
    """
    room = headroom(_on_pace(facts, products), facts.peaks, facts.n_steps) if facts.peaks else None
    if facts.peaks is None or room is None:
        device = facts.summary.device.name or "this device"
        no_shapes = _NO_SHAPES_ALONE if facts.baseline is None else _NO_SHAPES
        reason = no_shapes if facts.peaks else f"the peak of {device} is not known"
        if otherwise_ns is None:
            return None, f"What it would bring is not known: {reason}."
        return otherwise_ns, f"At most all of it: {reason}, so its lower bound is unknown."
    shapes = "baseline's operators give the shapes" if facts.is_replayed else "shapes are known"
    return room.at_most_ns, (
        f"At most {format_duration(room.at_most_ns)}: of {format_duration(room.time_ns)} the "
        f"{shapes}, {room.flops / 1e9:.3g} GFLOP that need "
        f"{format_duration(room.floor_ns)} at the peak of {facts.peaks.name} in {type_}, or to "
        "read their tensors."
    )


def _on_pace(
    facts: Facts, products: Sequence[tuple[OpWork, float | None, int]]
) -> list[tuple[OpWork, float | None, int]]:
    return [
        (replace(op, times_ns=tuple(round(ns * facts.pace) for ns in op.times_ns)), peak, item)
        for op, peak, item in products
    ]

"""Matrix products and convolutions as the findings about them see them: kernels, shapes, floors.

Levers that act on the same products (TF32, 16 bits, max-autotune) exclude each other in part, so
each says what it could bring by itself, and none may be added to another.
"""

from collections.abc import Sequence
from dataclasses import replace

from profiler_core.analysis.categories import PRODUCT_CATEGORIES
from profiler_core.analysis.device_peaks import DevicePeaks
from profiler_core.analysis.finding_rules.facts import Facts
from profiler_core.analysis.finding_rules.floors import floor_ns, headroom
from profiler_core.analysis.finding_rules.op_work import OpWork
from profiler_core.analysis.kernels import KernelTotal
from profiler_core.analysis.product_precision import HALF_NAME
from profiler_core.analysis.what_if.change import Change, Lever
from profiler_core.analysis.what_if.prediction import Prediction
from profiler_core.analysis.what_if.scene import Three
from profiler_core.units import format_duration, format_operations

# What products in TF32 or 16 bits take: so many times their floor, and so much a call. At least
# saved, and as expected; six runs in 16 bits lie between (docs/what_if.md).
REACHED = ((3.5, 4_000.0), (2.0, 2_800.0))
_SHOWN_REST = 0.01  # of the kernels' time: less than this without a floor is not worth a sentence
_NO_FLOOR = "without the shapes of the products the least that they can take is not known"
_NO_SHAPES = "neither trace has the shapes of these products"
_NO_SHAPES_ALONE = "the trace has no shapes of these products, as in the replay of a CUDA graph"
_NOT_RECORDED = "the trace has no shapes of these products: record it with record_shapes=True"


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
    kernels: Sequence[KernelTotal] = (),
) -> tuple[Three | None, str]:
    """(Saved, ns per step: at least, as expected, at most; and the sentence on how).

    None where no floor is known, or of less than half of the kernels' time. The most is what is
    over the floor, and the time of the other kernels; what is expected leaves these out, as the
    runs did that `REACHED` was chosen on (docs/what_if.md).

    Args:
        facts: of the run.
        products: each with the peak and the bytes of the type that it is to be computed in.
        type_: that type, in words.
        kernels: that the stake is about; (): those of the products alone.
    """
    room = headroom(_on_pace(facts, products), facts.peaks, facts.n_steps) if facts.peaks else None
    if facts.peaks is None or room is None:
        device = facts.summary.device.name or "this device"
        replays = bool(facts.summary.n_graph_launches)
        alone = _NO_SHAPES_ALONE if replays else _NOT_RECORDED
        no_shapes = alone if facts.baseline is None else _NO_SHAPES
        reason = no_shapes if facts.peaks else f"the peak of {device} is not known"
        return None, f"Its lower bound is unknown: {reason}."
    shapes = (
        "the baseline's operators give the shapes" if facts.is_replayed else "the shapes are known"
    )
    least, usual = (
        facts.summary.per_step(_saved(_on_pace(facts, products), facts.peaks, *way))
        for way in REACHED
    )
    rest_ns = _without_floor_ns(facts, kernels)
    time_ns = facts.per_step(kernels)
    if rest_ns > time_ns / 2:
        return None, (
            f"Its lower bound is unknown: what the products in {format_duration(rest_ns)} of it "
            "compute is not known from the trace."
        )
    saved = (min(least, room.at_most_ns), min(usual, room.at_most_ns), room.at_most_ns + rest_ns)
    others = (
        f" The other {format_duration(rest_ns)} may be attention or lack shapes, so their floor is "
        "not known."
        if rest_ns > _SHOWN_REST * time_ns
        else ""
    )
    return saved, (
        f"Of products that take {format_duration(room.time_ns)} with all that they launch, "
        f"{shapes}: {format_operations(room.flops)}, which need at least "
        f"{format_duration(room.floor_ns, 'down')} at the peak of {facts.peaks.name} in "
        f"{type_}, or to read their tensors.{others}"
    )


def _saved(
    products: Sequence[tuple[OpWork, float | None, int]],
    peaks: DevicePeaks,
    factor: float,
    call_ns: float,
) -> float:
    """What products save, ns, that take `factor` times their floors and `call_ns` each."""
    saved = 0.0
    for op, peak, item in products:
        bound_ns = None if peak is None else floor_ns(op, peak, peaks, item)
        if bound_ns is not None:
            saved += sum(max(0.0, ns - factor * bound_ns - call_ns) for ns in op.times_ns)
    return saved


def other_type(
    facts: Facts,
    lever: Lever,
    kernels: Sequence[KernelTotal],
    saved_ns: Three | None,
    time_ns: float,
) -> tuple[Change, Prediction]:
    """Products in another type: what changes, and what it saves.

    Args:
        facts: of the run.
        lever: tf32 or half_precision.
        kernels: that compute the products now.
        saved_ns: of `roofline`.
        time_ns: of these kernels per step, which bounds what can be saved where no floor is known.
    """
    tried = facts.tried_precision("tf32" if lever == "tf32" else "16")
    change = facts.faster(lever, kernels, saved_ns or (0.0, 0.5 * time_ns, time_ns))
    if tried is not None:
        return change, facts.measured_by(tried)
    if saved_ns is None:
        return change, facts.at_most(time_ns, _NO_FLOOR)
    return change, facts.gain(change, saved_ns[2])


def _without_floor_ns(facts: Facts, kernels: Sequence[KernelTotal]) -> float:
    """Of these kernels the time per step, ns, in products whose shapes are not known.

    Also what belongs to no product that is known here, as attention's kernels.
    """
    names = {kernel.name for kernel in kernels}
    with_floor = sum(
        ns
        for op in facts.products
        if op.flops is not None
        for parts in op.parts
        for name, ns in parts
        if name in names
    )
    return max(0.0, facts.per_step(kernels) - facts.summary.per_step(facts.pace * with_floor))


def _on_pace(
    facts: Facts, products: Sequence[tuple[OpWork, float | None, int]]
) -> list[tuple[OpWork, float | None, int]]:
    return [
        (replace(op, times_ns=tuple(round(ns * facts.pace) for ns in op.times_ns)), peak, item)
        for op, peak, item in products
    ]

"""Findings about matrix products: TF32, half precision, shapes, layouts, max-autotune."""

import re
from math import prod

from profiler_core.analysis.finding_rules.facts import Facts, Finding, Rule
from profiler_core.analysis.finding_rules.op_work import OpWork, headroom
from profiler_core.analysis.kernels import KernelTotal
from profiler_core.units import format_duration, format_share

_PRODUCTS = ("gemm", "conv", "triton_template_gemm", "triton_template_conv")
# cuBLAS's nvjet kernels carry their types as letters (t bf16, h fp16), AMD's Tensile as BBS, HHS.
_HALF = re.compile(
    r"bf16|f16|half|_h_|hhh|bfloat|nvjet(?:_sm\d+)?_[ht]|Cijk_\w*?_[BH](?:[BH]?S|[BH])_",
    re.IGNORECASE,
)
_LAYOUT = re.compile(r"nchwToNhwc|nhwcToNchw", re.IGNORECASE)
_NO_SHAPES = "the trace has no shapes of these products, as in the replay of a CUDA graph"
# Below this share of a step nobody needs to act.
_LEAST_SHARE = 0.05


def _plain_fp32(facts: Facts) -> tuple[KernelTotal, ...]:
    return tuple(
        kernel
        for kernel in facts.kernels(*_PRODUCTS)
        if kernel.tensor_cores is False
        and not _HALF.search(kernel.name)
        and "f64" not in kernel.name
    )


def tf32_off(facts: Facts) -> Finding | None:
    """Products in fp32 on the CUDA cores, on a device that has TF32 (compute capability 8.0 on)."""
    capability = facts.summary.device.compute_capability
    if not facts.on_gpu or capability is None or float(capability) < 8.0:
        return None
    kernels = _plain_fp32(facts)
    time = facts.per_step(kernels)
    if time < _LEAST_SHARE * facts.step_ns:
        return None
    names = {kernel.name for kernel in kernels}
    peak = facts.peaks.tf32_flops if facts.peaks else None
    stake, basis = _roofline(
        facts, [(op, peak, 4) for op in facts.products if op.kernel in names], "TF32", time
    )
    return Finding(
        key="tf32_off",
        title="Matrix products run in plain fp32, without Tensor Cores.",
        evidence=f"{format_duration(time)} per step "
        f"({format_share(time / facts.step_ns)}) in {sum(k.n for k in kernels) // facts.n_steps} "
        f"kernels such as {kernels[0].name[:60]}. {basis}",
        advice="If TF32's 10-bit mantissa is enough: "
        "torch.backends.cuda.matmul.fp32_precision = 'tf32' (or "
        "torch.set_float32_matmul_precision('high')).",
        page="kernels",
        at_stake_ns=stake,
        at_most=True,
    )


def _roofline(
    facts: Facts,
    products: list[tuple[OpWork, float | None, int]],
    type_: str,
    otherwise_ns: float | None,
) -> tuple[float | None, str]:
    """(At most this much, ns per step, and the sentence that says how it was found).

    Args:
        facts: of the run.
        products: each with the peak and the bytes of the type that it is to be computed in.
        type_: that type, in words.
        otherwise_ns: the bound where no floor is known: the products' whole time, or None.
    """
    room = headroom(products, facts.peaks, facts.n_steps) if facts.peaks else None
    if facts.peaks is None or room is None:
        device = facts.summary.device.name or "this device"
        reason = _NO_SHAPES if facts.peaks else f"the peak of {device} is not known"
        if otherwise_ns is None:
            return None, f"What it would bring is not known: {reason}."
        return otherwise_ns, f"At most all of it: {reason}, so its lower bound is unknown."
    return room.at_most_ns, (
        f"At most {format_duration(room.at_most_ns)}: of {format_duration(room.time_ns)} the "
        f"shapes are known, {room.flops / 1e9:.3g} GFLOP that need "
        f"{format_duration(room.floor_ns)} at the peak of {facts.peaks.name} in {type_}, or to "
        "read their tensors."
    )


def half_precision(facts: Facts) -> Finding | None:
    """Products in fp32 or TF32 where halves would do twice as much."""
    if not facts.on_gpu:
        return None
    products = facts.kernels(*_PRODUCTS, "attention")
    halves = {op.kernel for op in facts.products if op.in_halves}
    wide = tuple(
        kernel for kernel in products if kernel.name not in halves and not _HALF.search(kernel.name)
    )
    time = facts.per_step(wide)
    precision = str(facts.record.spec.get("precision") or "")
    if "16" in precision or time < 0.3 * facts.step_ns:
        return None
    peak = facts.peaks.half_flops if facts.peaks else None
    stake, basis = _roofline(
        facts, [(op, peak, 2) for op in facts.products if not op.in_halves], "16 bits", time
    )
    return Finding(
        key="half_precision",
        title="Most of the step is matrix products in 32 bits.",
        evidence=f"{format_duration(time)} per step ({format_share(time / facts.step_ns)}) in "
        f"kernels without a half type in their name. {basis}",
        advice="Try torch.autocast('cuda', torch.bfloat16), and check the results.",
        page="kernels",
        at_stake_ns=stake,
        at_most=True,
    )


def odd_shapes(facts: Facts) -> Finding | None:
    """Products in halves whose rows begin off 16 bytes, against those whose rows do not."""
    if not facts.on_gpu:
        return None
    matrices = [
        op
        for op in facts.products
        if op.in_halves and len(op.matrices) == 2 and not op.name.startswith("aten::convolution")
    ]
    odd = [op for op in matrices if op.is_misaligned]
    time = sum(op.time_ns for op in odd) / facts.n_steps
    if time < 0.02 * facts.step_ns:
        return None
    by_shape: dict[str, int] = {}
    for op in odd:
        shape = " x ".join(str(list(matrix)) for matrix in op.matrices)
        by_shape[shape] = by_shape.get(shape, 0) + op.time_ns
    shapes = "; ".join(sorted(by_shape, key=by_shape.__getitem__, reverse=True))[:160]
    stake, bound, basis = _as_fast_as_even(
        facts, odd, [op for op in matrices if not op.is_misaligned]
    )
    return Finding(
        key="odd_shapes",
        title="Matrix sizes do not suit the Tensor Cores.",
        evidence=f"Rows of no multiple of 8 values: {shapes}; {format_duration(time)} per step. "
        f"{basis}",
        advice="Pad these sizes (vocabulary, classes, heads) to multiples of 8, better of 64.",
        page="kernels",
        at_stake_ns=stake,
        at_most=bound,
    )


def _as_fast_as_even(
    facts: Facts, odd: list[OpWork], even: list[OpWork]
) -> tuple[float | None, bool, str]:
    """What is won if the odd products ran as fast as the others of this run; else the roofline."""
    rates = [_rate(odd), _rate(even)]
    if rates[0] and rates[1] and rates[1] > rates[0]:
        won = sum(
            max(0.0, time_ns - _time_at(facts, op, time_ns, rates[1]))
            for op in odd
            for time_ns in op.times_ns
        )
        won /= facts.n_steps
        return (
            won,
            False,
            (
                f"They reach {rates[0] / 1e12:.3g} TFLOPS, the other products of this run "
                f"{rates[1] / 1e12:.3g}: as fast as these, as far as the memory allows, they would "
                f"save {format_duration(won)}."
            ),
        )
    peak = facts.peaks.half_flops if facts.peaks else None
    stake, basis = _roofline(facts, [(op, peak, 2) for op in odd], "16 bits", None)
    return stake, True, basis


def _time_at(facts: Facts, op: OpWork, time_ns: float, flops_per_s: float) -> float:
    """What a call of `time_ns` takes at that pace, ns, but no less than through the memory.

    The memory moves both factors and the result.
    Attention's products are thin: an inner size of 64 leaves little to compute for each value.
    """
    if not op.flops:
        return time_ns
    left, right = op.matrices
    moved = 2 * (prod(left) + prod(right) + prod(left[:-1]) * right[-1])
    memory = moved / facts.peaks.memory_bytes_per_s if facts.peaks else 0.0
    return 1e9 * max(op.flops / flops_per_s, memory)


def _rate(ops: list[OpWork]) -> float | None:
    time = sum(op.time_ns for op in ops if op.flops)
    flops = sum((op.flops or 0) * len(op.times_ns) for op in ops)
    return flops / time * 1e9 if time else None


def layout_copies(facts: Facts) -> Finding | None:
    """Layout conversions around convolutions."""
    if not facts.on_gpu or facts.record.spec.get("channels_last"):
        return None
    kernels = [kernel for kernel in facts.summary.kernels if _LAYOUT.search(kernel.name)]
    time = facts.per_step(kernels)
    if time < 0.01 * facts.step_ns:
        return None
    return Finding(
        key="layout_copies",
        title="Tensors are copied between NCHW and NHWC around convolutions.",
        evidence=f"{sum(kernel.n for kernel in kernels) / facts.n_steps:.0f} layout kernels, "
        f"{format_duration(time)} per step, all of it theirs to lose.",
        advice="Keep model and inputs in memory_format=torch.channels_last.",
        page="kernels",
        at_stake_ns=time,
    )


def max_autotune(facts: Facts) -> Finding | None:
    """A compiled step that is mostly products, none of them from a template."""
    if not (facts.on_gpu and facts.is_compiled) or facts.mode.startswith("max-autotune"):
        return None
    if not facts.is_inductors:
        return None
    time = facts.per_step(facts.kernels("gemm", "conv"))
    if time < 0.6 * facts.step_ns:
        return None
    fp32_kernels = {kernel.name for kernel in _plain_fp32(facts)}
    stake, basis = _roofline(
        facts,
        [
            (op, _peak_in_use(facts, op, fp32_kernels), 2 if op.in_halves else 4)
            for op in facts.products
        ],
        "the type that each is in",
        None,
    )
    return Finding(
        key="max_autotune",
        title="The step is bound by matrix products and convolutions.",
        evidence=f"{format_duration(time)} per step ({format_share(time / facts.step_ns)}); fusion "
        f"has little left to gain. {basis}",
        advice="Try mode='max-autotune': it measures Triton's templates against the libraries, "
        "which are rarely far from what can be reached.",
        page="fusion",
        at_stake_ns=stake,
        at_most=True,
    )


def _peak_in_use(facts: Facts, op: OpWork, fp32_kernels: set[str]) -> float | None:
    if facts.peaks is None:
        return None
    if op.in_halves:
        return facts.peaks.half_flops
    return facts.peaks.fp32_flops if op.kernel in fp32_kernels else facts.peaks.tf32_flops


RULES: tuple[Rule, ...] = (tf32_off, half_precision, odd_shapes, layout_copies, max_autotune)

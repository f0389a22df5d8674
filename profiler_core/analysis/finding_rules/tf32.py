"""Matrix products in fp32 that could round like TF32."""

import re
from collections.abc import Sequence

from profiler_core.analysis.device_peaks import DevicePeaks
from profiler_core.analysis.finding_rules.facts import (
    LEAST_SHARE,
    Facts,
    Finding,
    Rule,
    kernel_items,
)
from profiler_core.analysis.finding_rules.op_work import OpWork
from profiler_core.analysis.finding_rules.products import other_type, plain_fp32, roofline
from profiler_core.analysis.kernel_names import short_kernel_name
from profiler_core.analysis.kernels import KernelTotal
from profiler_core.units import format_duration, format_per_step

# Matrix times vector, or a few of them: cuBLAS has these kernels on the CUDA cores alone.
_VECTORS = re.compile(r"gemv|gemmSN|dot_kernel|reduce_1Block|split_?K_?reduce", re.IGNORECASE)


def tf32_off(facts: Facts) -> Finding | None:
    """Products in fp32 on the CUDA cores, on a device that has TF32 (compute capability 8.0 on).

    Left out is what the switch does not reach: convolutions where PyTorch lets cuDNN use TF32
    already (it does by default) and cuDNN chose another algorithm, products with vectors, and
    products that the memory holds up rather than arithmetic.
    """
    capability = facts.summary.device.compute_capability
    if not facts.on_gpu or capability is None or float(capability) < 8.0:
        return None
    environment = facts.record.environment
    precision = str(facts.record.spec.get("precision") or "")
    matrices_allowed = (
        precision == "tf32" or environment.get("float32_matmul_precision", "highest") != "highest"
    )
    convolutions_allowed = environment.get("cudnn_allow_tf32", True) is not False
    held_up = _held_up_by_memory(facts)
    reached = [
        kernel
        for kernel in plain_fp32(facts)
        if not _VECTORS.search(kernel.name)
        and not (convolutions_allowed if "conv" in kernel.category else matrices_allowed)
    ]
    kernels = [kernel for kernel in reached if kernel.name not in held_up]
    time = facts.per_step(kernels)
    if time < LEAST_SHARE * facts.step_ns:
        return None
    names = {kernel.name for kernel in kernels}
    peak = facts.peaks.tf32_flops if facts.peaks else None
    saved_ns, basis = roofline(
        facts, [(op, peak, 4) for op in facts.products if op.kernel in names], "TF32", kernels
    )
    change, prediction = other_type(facts, "tf32", kernels, saved_ns, time)
    return Finding(
        key="tf32_off",
        pace=facts.pace,
        change=change,
        title="Matrix products run in plain fp32, without Tensor Cores.",
        evidence=f"{format_duration(time)} {facts.span} ({facts.share_text(time)}) in "
        f"{_calls(facts, kernels)} kernels such as {short_kernel_name(kernels[0].name, 60)}"
        f"{_others(facts, [kernel for kernel in reached if kernel.name in held_up])}. {basis}",
        advice=_advice(kernels),
        page="kernels",
        prediction=prediction,
        draws_on="products",
        items=kernel_items(kernel.name for kernel in kernels),
        filters=facts.evidence_alone("tf32_off"),
    )


def _calls(facts: Facts, kernels: Sequence[KernelTotal]) -> str:
    return format_per_step(facts.summary.per_step(sum(kernel.n for kernel in kernels)))


def _others(facts: Facts, held_up: Sequence[KernelTotal]) -> str:
    """How many kernels of products the memory holds up; "" for none."""
    if not held_up:
        return ""
    n = _calls(facts, held_up)
    return f"; {n} other{' waits' if n == '1' else 's wait'} for memory instead"


def _advice(kernels: list[KernelTotal]) -> str:
    switches = []
    if any("conv" not in kernel.category for kernel in kernels):
        switches.append(
            "torch.backends.cuda.matmul.fp32_precision = 'tf32' (or "
            "torch.set_float32_matmul_precision('high'))"
        )
    if any("conv" in kernel.category for kernel in kernels):
        switches.append("torch.backends.cudnn.allow_tf32 = True")
    return f"If TF32's 10-bit mantissa is enough: {', and '.join(switches)}."


def _held_up_by_memory(facts: Facts) -> set[str]:
    """Kernels all of whose products need longer for their tensors than for their arithmetic.

    With what adds up the parts of these products.
    """
    if facts.peaks is None or facts.peaks.fp32_flops is None:
        return set()
    by_kernel: dict[str, bool] = {}
    for op in facts.products:
        bound = _is_memory_bound(op, facts.peaks, facts.peaks.fp32_flops)
        for kernel in {op.kernel, *(name for parts in op.parts for name, _ in parts)}:
            by_kernel[kernel] = by_kernel.get(kernel, True) and bound
    return {kernel for kernel, bound in by_kernel.items() if bound}


def _is_memory_bound(op: OpWork, peaks: DevicePeaks, flops_per_s: float) -> bool:
    flops = op.flops
    return flops is not None and flops / flops_per_s < op.least_bytes(4) / peaks.memory_bytes_per_s


PLACE = 10
RULES: tuple[Rule, ...] = (tf32_off,)

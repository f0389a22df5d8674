"""Conversions of memory layout around convolutions."""

import re

from profiler_core.analysis.finding_rules.facts import (
    Facts,
    Finding,
    Rule,
    kernel_items,
)
from profiler_core.units import format_duration

# cuDNN: nchwToNhwcKernel, nhwcToNchwKernel, and tensorTransformGeneric for what these do not fit.
LAYOUT_KERNEL = re.compile(r"nchwToNhwc|nhwcToNchw|tensorTransform", re.IGNORECASE)


def layout_copies(facts: Facts) -> Finding | None:
    """Layout conversions around convolutions."""
    if not facts.on_gpu or facts.record.spec.get("channels_last"):
        return None
    kernels = [kernel for kernel in facts.summary.kernels if LAYOUT_KERNEL.search(kernel.name)]
    time = facts.per_step(kernels)
    if time < 0.01 * facts.step_ns:
        return None
    n = facts.summary.per_step(sum(kernel.n for kernel in kernels))
    change = facts.faster("channels_last", kernels, (0.8 * time, time, time), with_launches=True)
    return Finding(
        key="layout_copies",
        pace=facts.pace,
        change=change,
        title="Tensors are copied between NCHW and NHWC around convolutions.",
        evidence=f"{n:.0f} layout kernels, {format_duration(time)} {facts.span}.",
        advice="Keep model and inputs in memory_format=torch.channels_last.",
        page="kernels",
        prediction=facts.gain(change, time),
        items=kernel_items(kernel.name for kernel in kernels),
        filters=facts.evidence_alone("layout_copies"),
    )


PLACE = 40
RULES: tuple[Rule, ...] = (layout_copies,)

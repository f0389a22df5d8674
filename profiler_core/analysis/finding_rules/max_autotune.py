"""Products that max-autotune could choose other kernels for."""

import re

from profiler_core.analysis.finding_rules.facts import Facts, Finding, Rule, kernel_items
from profiler_core.analysis.finding_rules.op_work import OpWork
from profiler_core.analysis.finding_rules.products import peak_in_use, plain_fp32, roofline
from profiler_core.analysis.what_if.change import Change
from profiler_core.units import format_duration

# Inductor has no template for it on NVIDIA's GPUs (torch 2.1 to 2.15; torch/_inductor/kernel/
# conv.py: github.com/pytorch/pytorch/issues/187081), so there is nothing to choose from.
_WITHOUT_TEMPLATE = "aten::convolution_backward"
_BACKWARD_KERNEL = re.compile(r"dgrad|wgrad|bgrad", re.IGNORECASE)


def max_autotune(facts: Facts) -> Finding | None:
    """A compiled step that is mostly products, none of them from a template.

    The gradients of convolutions do not count: the mode has no other kernel for them.
    """
    if not (facts.on_gpu and facts.is_compiled) or facts.mode.startswith("max-autotune"):
        return None
    tried = facts.tried_mode("max-autotune", "max-autotune-no-cudagraphs")
    if not facts.is_inductors or (tried is not None and tried.step_ns >= facts.step_ns):
        return None
    time = facts.per_step(facts.kernels("gemm", "conv")) - _without_template_ns(facts)
    if time < 0.6 * facts.step_ns:
        return None
    fp32_kernels = {kernel.name for kernel in plain_fp32(facts)}
    without_template = {op.kernel for op in facts.products if op.name == _WITHOUT_TEMPLATE}
    kernels = [k for k in facts.kernels("gemm", "conv") if k.name not in without_template]
    saved_ns, basis = roofline(
        facts,
        [
            (op, peak_in_use(facts, op, fp32_kernels), 2 if op.in_halves else 4)
            for op in facts.products
            if op.name != _WITHOUT_TEMPLATE
        ],
        "their own types",
        kernels,
    )
    return Finding(
        key="max_autotune",
        pace=facts.pace,
        change=Change("template_kernels"),
        title="The step is bound by matrix products and convolutions.",
        evidence=f"{format_duration(time)} {facts.span} ({facts.share_text(time)}) in products "
        f"that Inductor has templates for; fusion has little left to gain. {basis}",
        advice="Try mode='max-autotune': it measures Triton's templates against the libraries, "
        "which are rarely far from what can be reached."
        if tried is None
        else f"{tried.label} is beside this run, with {format_duration(tried.step_ns)} per step.",
        page="fusion",
        prediction=facts.measured_by(tried)
        if tried is not None
        else None
        if saved_ns is None
        else facts.at_most(saved_ns[2], "only tuning shows the best template"),
        draws_on="products",
        items=kernel_items(kernel.name for kernel in facts.kernels("gemm", "conv")),
    )


def _without_template_ns(facts: Facts) -> float:
    """Gradients of convolutions, ns per step: by operator, else by the kernels' names."""
    operators: list[OpWork] = [op for op in facts.products if op.name == _WITHOUT_TEMPLATE]
    if facts.products:
        return facts.summary.per_step(facts.pace * sum(op.time_ns for op in operators))
    return facts.per_step(k for k in facts.kernels("conv") if _BACKWARD_KERNEL.search(k.name))


PLACE = 50
RULES: tuple[Rule, ...] = (max_autotune,)

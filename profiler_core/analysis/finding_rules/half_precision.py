"""Matrix products in 32 bits that could run in 16."""

from profiler_core.analysis.categories import PRODUCT_CATEGORIES
from profiler_core.analysis.finding_rules.facts import (
    Facts,
    Finding,
    Rule,
    kernel_items,
)
from profiler_core.analysis.finding_rules.products import other_type, roofline
from profiler_core.analysis.kernels import KernelTotal
from profiler_core.analysis.product_precision import named_bits, names_other_type
from profiler_core.analysis.span import spanned
from profiler_core.units import format_duration

_LEAST = 0.3  # of the step


def half_precision(facts: Facts) -> Finding | None:
    """Products in fp32 or TF32 where halves would do twice as much."""
    if not facts.on_gpu:
        return None
    precision = str(facts.record.spec.get("precision") or "")
    wide = _wide(facts, precision)
    time = facts.per_step(wide)
    if "16" in precision or time < _LEAST * facts.step_ns:
        return None
    peak = facts.peaks.half_flops if facts.peaks else None
    saved_ns, basis = roofline(
        facts, [(op, peak, 2) for op in facts.products if not op.in_halves], "16 bits", wide
    )
    change, prediction = other_type(facts, "half_precision", wide, saved_ns, time)
    return Finding(
        key="half_precision",
        pace=facts.pace,
        change=change,
        title=f"{_how_much(time / facts.step_ns)} of the {spanned(facts.span)} is matrix "
        "products in 32 bits.",
        evidence=f"{format_duration(time)} {facts.span} ({facts.share_text(time)}) in "
        f"kernels that compute in 32 bits, by names or types. {basis}",
        advice=f"Try torch.autocast('cuda', torch.{_half_type(facts)}), and check the results.",
        page="kernels",
        prediction=prediction,
        draws_on="products",
        items=kernel_items(kernel.name for kernel in wide),
        filters=facts.evidence_alone("half_precision"),
    )


def _wide(facts: Facts, precision: str) -> tuple[KernelTotal, ...]:
    """Kernels of products and attention in 32 bits, by what their operators are handed or by name.

    A kernel of which neither says it, such as a template, is one where the run's record does.
    """
    products = [op for op in facts.products if op.flops is not None]
    halves = {op.kernel for op in products if op.in_halves}
    floats = {
        name
        for op in products
        if "float" in op.types and not op.in_halves
        for parts in op.parts
        for name, _ in parts
    }
    is_recorded = precision in ("fp32", "tf32")

    def is_wide(name: str) -> bool:
        if name in halves or names_other_type(name):
            return False
        bits = named_bits(name)
        return is_recorded or name in floats if bits is None else bits == 32

    kernels = facts.kernels(*PRODUCT_CATEGORIES, "attention")
    return tuple(kernel for kernel in kernels if is_wide(kernel.name))


def _half_type(facts: Facts) -> str:
    """bfloat16 where Tensor Cores have it: of NVIDIA's from compute capability 8.0 on."""
    capability = facts.summary.device.compute_capability
    return "float16" if capability is not None and float(capability) < 8.0 else "bfloat16"


def _how_much(share: float) -> str:
    return "Most" if share > 0.5 else "A large part"


PLACE = 20
RULES: tuple[Rule, ...] = (half_precision,)

"""Casts of weights to the dtype of autocast, which compiled code makes anew in every step.

Autocast keeps the casts of one step alone, and Inductor writes a kernel for each: 56 of them took
122 µs of a step of ResNet-50 in bf16 on an H200. With the model in bf16 the step took 1.71 ms in
place of 1.84 (reduce-overhead), and 1.46 with freezing, which folds the batch norms, too.
"""

import polars as pl

from profiler_core.analysis.finding_rules.facts import (
    Facts,
    Finding,
    Rule,
    kernel_items,
)
from profiler_core.analysis.ledger.operators import operators_of_kernel
from profiler_core.analysis.ledger.work_units import BACKWARD_NODE
from profiler_core.units import format_duration

_LEAST = 0.03  # of the step
_FEWEST = 4  # one casts the input


def weight_casts(facts: Facts) -> Finding | None:
    """Generated kernels that do nothing but cast, in compiled inference under autocast."""
    if not facts.on_gpu or not facts.is_inductors or not _is_inference_under_autocast(facts):
        return None
    casts = [k for k in facts.summary.kernels if operators_of_kernel(k.name) == {"cast"}]
    n = facts.summary.per_step(sum(kernel.n for kernel in casts))
    time = facts.per_step(casts)
    if n < _FEWEST or time < _LEAST * facts.step_ns:
        return None
    saved_ns = (0.85 * time, 0.95 * time, time)
    change = facts.faster("frozen_weights", casts, saved_ns, with_launches=True)
    return Finding(
        key="weight_casts",
        pace=facts.pace,
        change=change,
        title=f"{n:.0f} kernels {facts.span} only cast, as a rule weights for autocast.",
        evidence=f"{format_duration(time)} {facts.span} ({facts.share_text(time)}). All but "
        "the casts of inputs give the same in every step of inference.",
        advice="Set torch._inductor.config.freezing = True before compiling (inference only): the "
        "weights are cast once, and batch norms folded into convolutions. Or keep the model itself "
        "in 16 bits, model.to(torch.bfloat16), without autocast. Check the results.",
        page="kernels",
        prediction=facts.gain(change, time),
        items=kernel_items(kernel.name for kernel in casts),
        filters=facts.evidence_alone("weight_casts"),
    )


def _is_inference_under_autocast(facts: Facts) -> bool:
    """Also of a bare trace: what compiles no backward casts its weights for autocast alone."""
    spec = facts.record.spec
    if "precision" in spec:
        is_autocast = str(spec["precision"] or "").endswith("-autocast")
        return is_autocast and facts.is_compiled and not spec.get("training")
    names = facts.trace.ops["name"].unique().cast(pl.String)
    return not names.str.starts_with(BACKWARD_NODE).any()


PLACE = 45
RULES: tuple[Rule, ...] = (weight_casts,)

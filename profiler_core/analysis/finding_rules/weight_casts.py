"""Casts of weights to the dtype of autocast, which compiled code makes anew in every step.

Autocast keeps the casts of one step alone, and Inductor writes a kernel for each: 55 of them took
116 µs of a step of ResNet-50 in bf16 on an H200. With the model in bf16 the step took 1.71 ms in
place of 1.84 (reduce-overhead), and 1.46 with freezing, which folds the batch norms, too.
"""

from collections.abc import Sequence

import polars as pl

from profiler_core.analysis.finding_rules.cast_tensors import what_is_cast
from profiler_core.analysis.finding_rules.facts import (
    Facts,
    Finding,
    Rule,
    kernel_items,
)
from profiler_core.analysis.kernels import KernelTotal
from profiler_core.analysis.ledger.operators import operators_of_kernel
from profiler_core.analysis.ledger.work_units import BACKWARD_NODE
from profiler_core.units import format_duration, format_durations, format_per_step

_LEAST = 0.03  # of the step
_FEWEST = 4  # fewer may be those of a model's inputs


def weight_casts(facts: Facts) -> Finding | None:
    """Generated kernels that only cast weights, in compiled inference under autocast."""
    if not facts.on_gpu or not facts.is_inductors or not _is_inference_under_autocast(facts):
        return None
    casts = [k for k in facts.summary.kernels if operators_of_kernel(k.name) == {"cast"}]
    told = what_is_cast({k.name for k in casts}, facts.trace, facts.code, facts.products)
    weights = [k for k in casts if told.get(k.name) == "weights"]
    unsure = [k for k in casts if k.name not in told]
    others = [k for k in casts if told.get(k.name) == "values"]
    n, least = _per_step(facts, weights), facts.per_step(weights)
    n_most, most = n + _per_step(facts, unsure), least + facts.per_step(unsure)
    middle = (least + most) / 2  # where nothing tells which it is, as likely as not
    if n_most < _FEWEST or middle < _LEAST * facts.step_ns:
        return None
    possible = [*weights, *unsure]
    change = facts.faster("frozen_weights", possible, (least, middle, most), with_launches=True)
    return Finding(
        key="weight_casts",
        pace=facts.pace,
        change=change,
        title=f"{_range(n, n_most)} kernels {facts.span} only cast weights for autocast.",
        evidence=f"{_times(least, most)} {facts.span} ({facts.share_text(most)}), and they give "
        f"the same in every step of inference.{_unsure(facts, unsure)}{_others(facts, others)}",
        advice="Set torch._inductor.config.freezing = True before compiling (inference only): the "
        "weights are cast once, and batch norms folded into convolutions. Or keep the model itself "
        "in 16 bits, model.to(torch.bfloat16), without autocast. Check the results.",
        page="kernels",
        prediction=facts.gain(change, most),
        items=kernel_items(kernel.name for kernel in possible),
        filters=facts.evidence_alone("weight_casts"),
    )


def _per_step(facts: Facts, kernels: Sequence[KernelTotal]) -> float:
    return facts.summary.per_step(sum(kernel.n for kernel in kernels))


def _range(n: float, n_most: float) -> str:
    """How many: 55, where it is not sure of some 50 to 55, where it is of none up to 55."""
    if format_per_step(n) == format_per_step(n_most):
        return format_per_step(n)
    return f"{format_per_step(n)} to {format_per_step(n_most)}" if n else f"Up to {n_most:.0f}"


def _times(least: float, most: float) -> str:
    if not least:
        return f"Up to {format_duration(most)}"
    return format_duration(least) if least == most else format_durations(least, most)


def _unsure(facts: Facts, kernels: Sequence[KernelTotal]) -> str:
    """Why there is a range; "" where there is none."""
    if not kernels:
        return ""
    n = format_per_step(_per_step(facts, kernels))
    return (
        f" Whether {n} of them {'casts' if n == '1' else 'cast'} weights or what changes from step "
        "to step, neither a log nor recorded shapes say."
    )


def _others(facts: Facts, kernels: Sequence[KernelTotal]) -> str:
    """Kernels that cast the step's own values, which stay; "" for none."""
    if not kernels:
        return ""
    n = format_per_step(_per_step(facts, kernels))
    verb = "casts inputs or results, and stays" if n == "1" else "cast inputs or results, and stay"
    return f" {n} more ({format_duration(facts.per_step(kernels))}) {verb}."


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

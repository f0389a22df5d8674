"""Matrix sizes that do not suit the Tensor Cores."""

from math import prod

from profiler_core.analysis.finding_rules.facts import (
    Facts,
    Finding,
    Rule,
    kernel_items,
)
from profiler_core.analysis.finding_rules.op_work import OpWork
from profiler_core.analysis.finding_rules.products import roofline
from profiler_core.analysis.what_if.scene import Three
from profiler_core.units import format_duration


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
    time = facts.summary.per_step(facts.pace * sum(op.time_ns for op in odd))
    if time < 0.02 * facts.step_ns:
        return None
    by_shape: dict[str, int] = {}
    for op in odd:
        shape = " x ".join(str(list(matrix)) for matrix in op.matrices)
        by_shape[shape] = by_shape.get(shape, 0) + op.time_ns
    shapes = "; ".join(sorted(by_shape, key=by_shape.__getitem__, reverse=True))[:160]
    saved_ns, basis = _as_fast_as_even(facts, odd, [op for op in matrices if not op.is_misaligned])
    kernels = facts.named(op.kernel for op in odd)
    change = facts.faster("even_shapes", kernels, saved_ns or (0.0, 0.0, 0.0))
    return Finding(
        key="odd_shapes",
        pace=facts.pace,
        change=change,
        title="Matrix sizes do not suit the Tensor Cores.",
        evidence=f"Rows of no multiple of 8 values: {shapes}; {format_duration(time)} "
        f"{facts.span}. {basis}",
        advice="Pad these sizes (vocabulary, classes, heads) to multiples of 8, better of 64.",
        page="kernels",
        prediction=None if saved_ns is None else facts.gain(change, saved_ns[2]),
        items=kernel_items(op.kernel for op in sorted(odd, key=lambda op: -op.time_ns)),
        filters=facts.evidence_alone("odd_shapes"),
    )


def _as_fast_as_even(
    facts: Facts, odd: list[OpWork], even: list[OpWork]
) -> tuple[Three | None, str]:
    """What is won if the odd products ran as fast as the others of this run; else the roofline."""
    rates = [_rate(odd), _rate(even)]
    if rates[0] and rates[1] and rates[1] > rates[0]:
        won = sum(
            max(0.0, time_ns - _time_at(facts, op, time_ns, rates[1]))
            for op in odd
            for time_ns in op.times_ns
        )
        won = facts.summary.per_step(facts.pace * won)
        return (
            (0.5 * won, won, 1.3 * won),
            (
                f"They reach {rates[0] / 1e12:.3g} TFLOPS, the other products of this run "
                f"{rates[1] / 1e12:.3g}: as fast as these, as far as the memory allows, they would "
                f"save {format_duration(won)}."
            ),
        )
    peak = facts.peaks.half_flops if facts.peaks else None
    return roofline(facts, [(op, peak, 2) for op in odd], "16 bits")


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


PLACE = 30
RULES: tuple[Rule, ...] = (odd_shapes,)

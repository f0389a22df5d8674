"""Gradients of outputs that nobody uses, filled with zeros for the compiled backward."""

import re

from profiler_core.analysis.finding_rules.facts import Facts, Finding, Rule
from profiler_core.analysis.ledger.result import FusionGroup
from profiler_core.units import format_duration

_FILL = re.compile(r"FillFunctor|fused_(?:zeros|full|zero|new_zeros)(?:_like)?_\d+$|^Memset")
_LEAST = 0.002  # of the step


def zero_tangents(facts: Facts) -> Finding | None:
    """A compiled backward wants a gradient for each output: for an unused one it gets zeros."""
    if facts.ledger is None or not facts.on_gpu or not facts.is_compiled:
        return None
    numbers = [n for n, group in enumerate(facts.ledger.groups) if _only_fills(group)]
    groups = [facts.ledger.groups[n] for n in numbers]
    time = facts.pace * sum(group.candidate_step_ns for group in groups)
    if time < _LEAST * facts.step_ns:
        return None
    n = sum(group.per_step(group.candidate.n_events, 1) for group in groups)
    fills = facts.named(kernel.name for group in groups for kernel in group.candidate.kernels)
    change = facts.faster("no_fills", fills, (0.8 * time, time, time), with_launches=True)
    return Finding(
        key="zero_tangents",
        pace=facts.pace,
        change=change,
        title="Zeros are filled in for gradients of outputs that nobody uses.",
        evidence=f"{n:.0f} fills in the backward, which the baseline does without: "
        f"{format_duration(time)} {facts.span}, and the compiled backward computes with them.",
        advice="Return only what the loss uses from the compiled part, or detach the rest "
        "(hidden states, caches, attention weights: use_cache=False).",
        page="fusion",
        prediction=facts.gain(change, time),
        items=facts.group_items(numbers),
        filters=(("change", "time lost"),),
    )


def _only_fills(group: FusionGroup) -> bool:
    return (
        group.phase == "backward"
        and not group.baseline.kernels
        and bool(group.candidate.kernels)
        and all(_FILL.search(kernel.name) for kernel in group.candidate.kernels)
    )


PLACE = 80
RULES: tuple[Rule, ...] = (zero_tangents,)

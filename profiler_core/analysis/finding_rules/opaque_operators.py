"""Fused operators of PyTorch that compiling cannot open."""

from profiler_core.analysis.finding_rules.facts import LEAST_SHARE, Facts, Finding, Rule
from profiler_core.analysis.finding_rules.op_work import op_work
from profiler_core.analysis.item import operator_item
from profiler_core.analysis.what_if.change import Change
from profiler_core.units import format_duration

# nn.TransformerEncoderLayer and nn.MultiheadAttention call these in inference (their fast path).
_OPAQUE = ("aten::_transformer_encoder_layer_fwd", "aten::_native_multi_head_attention")


def opaque_operators(facts: Facts) -> Finding | None:
    """A compiled run that spends its time in them has its layers as eager has them."""
    if not (facts.on_gpu and facts.is_compiled):
        return None
    calls = op_work(facts.trace, _OPAQUE)
    time = facts.summary.per_step(facts.pace * sum(op.time_ns for op in calls))
    if time < LEAST_SHARE * facts.step_ns:
        return None
    names = ", ".join(dict.fromkeys(op.name.removeprefix("aten::") for op in calls))
    n = facts.summary.per_step(sum(len(op.times_ns) for op in calls))
    return Finding(
        key="opaque_operators",
        pace=facts.pace,
        change=Change("open_layers"),
        title="Whole layers run as one operator that compiling cannot open.",
        evidence=f"{n:.0f} calls of {names}, {format_duration(time)} {facts.span} "
        f"({facts.share_text(time)}): nothing in them is fused.",
        advice="torch.backends.mha.set_fastpath_enabled(False) before compiling: the layers are "
        "traced into their operators then.",
        page="fusion",
        prediction=facts.at_most(
            time, "what fuses once the layers are open depends on operators that did not run here"
        ),
        items=tuple(
            dict.fromkeys(
                operator_item(op.name) for op in sorted(calls, key=lambda op: -op.time_ns)
            )
        ),
    )


PLACE = 70
RULES: tuple[Rule, ...] = (opaque_operators,)

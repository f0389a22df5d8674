"""Parts of a step that got slower, with the cause that the files show: captures, or one cut."""

import json
from dataclasses import replace
from functools import cache
from statistics import median

import polars as pl
import pytest

from profiler_core.analysis.finding_rules.autotuning import autotuning_in_steps
from profiler_core.analysis.finding_rules.opaque_operators import opaque_operators
from profiler_core.analysis.finding_rules.regressions import RULES as REGRESSIONS
from profiler_core.analysis.finding_rules.zero_tangents import zero_tangents
from profiler_core.analysis.ledger.result import KernelTime
from profiler_core.experiments.predicted import levers_for
from profiler_core.session.comparison import Comparison
from tests.analysis.test_findings import BERT, RESNET, TRAINING, facts
from tests.larger import JUDGE_PAIRS, TF32, unpacked


def regressed(one):
    return {finding.key: finding for rule in REGRESSIONS if (finding := rule(one)) is not None}


@cache
def t5():
    folder = unpacked(JUDGE_PAIRS) / "t5_training"
    return Comparison.open([folder / "eager", folder / "default"]).pairs[0]


def test_a_gradient_by_atomics():
    """T5's bias by distance: 524 288 additions into 32 x 8 cells, in the generated code."""
    findings = {finding.key: finding for finding in t5().findings}
    finding = findings["slower_by_atomics"]
    assert levers_for(finding) == ()  # code alone mends it
    code = t5().candidate.code
    adding = {
        name
        for graph in code.graphs
        for name, kernel in graph.kernels.items()
        if "tl.atomic_add" in kernel.source
    }
    assert adding
    # By hand: what groups with these kernels lost, per step.
    groups = [
        group
        for group in t5().ledger.of_kind("matched")
        if adding & {kernel.name for kernel in group.candidate.kernels}
    ]
    lost = sum(max(0.0, group.delta_ns) for group in groups)
    assert f"{lost / 1e3:.0f} µs per step more" in finding.evidence
    # The device is busy for 12.2 of 18.2 ms: as long as the host is the limit, nothing is won.
    assert finding.prediction.basis == "simulated"
    assert 0 <= finding.at_stake_ns < 0.05 * lost
    assert "one-hot" in finding.advice
    assert finding.evidence.startswith("embedding_backward + where")  # said where ×4
    assert "slower_by_atomics" not in regressed(facts(*TRAINING))


def test_products_that_left_tf32():
    """Max-autotune makes products of 1×1 convolutions, which round to TF32 only if told to.

    The judge is the same capture with TF32 for products, timed in turns.
    """
    folder = unpacked(TF32) / "blocks"
    names = ("eager", "max-autotune", "max-autotune+tf32")
    comparison = Comparison.open([folder / name for name in names])
    slower, allowed = ({f.key: f for f in pair.findings} for pair in comparison.pairs)
    finding = slower["slower_by_fp32"]
    assert "6 × conv2d (blocks.py:17)" in finding.evidence
    assert "s1688gemm_64x128_32x3_nn_align4 → sm80_xmma_gemm_f32f32_f32f32_f" in finding.evidence
    assert "set_float32_matmul_precision('high')" in finding.advice
    assert levers_for(finding) == ("precision",)
    steps = []
    for name in names[1:]:
        rounds = json.loads((folder / name / "run.json").read_text())["measurement"]["rounds"]
        steps.append(median(turn["wall_ns"] / turn["n_steps"] for turn in rounds))
    assert finding.prediction.low_ns < steps[0] - steps[1] < finding.prediction.high_ns
    assert finding.prediction.expected_ns == pytest.approx(steps[0] - steps[1], rel=0.1)
    assert "slower_groups" not in slower and "slower_by_fp32" not in allowed


def test_attention_in_parts_names_the_kernels_of_both_sides():
    """BERT: eager has a fused kernel in each layer, Inductor products and a softmax."""
    case = facts(*BERT)
    finding = regressed(case)["slower_attention"]
    assert levers_for(finding) == ()  # layouts and templates take no mask away
    attention = [
        (number, group)
        for number, group in enumerate(case.ledger.groups)
        if any(kernel.category == "attention" for kernel in group.baseline.kernels)
    ]
    assert len(attention) == 12  # also the first layer's, which makes the mask besides
    assert finding.evidence.startswith("12 × scaled_dot_product_attention")
    # Each once; the one that lost most leads.
    assert sorted(item.numbers[1] for item in finding.items) == [number for number, _ in attention]
    slowest = max(attention, key=lambda pair: pair[1].delta_ns)
    assert finding.items[0].numbers[1] == slowest[0]
    lost_ns = sum(group.delta_ns for _, group in attention)
    assert finding.at_stake_ns == pytest.approx(lost_ns, rel=0.05)
    assert "fmha_cutlassF" in finding.evidence
    assert "16 bits" in finding.advice  # no log here: it may be a mask or the type
    assert regressed(facts(*RESNET)) == {}


def test_a_group_that_the_ledger_is_not_sure_of_is_no_regression():
    case = facts(*BERT)
    groups = tuple(replace(group, confidence="low") for group in case.ledger.groups)
    assert regressed(replace(case, ledger=replace(case.ledger, groups=groups))) == {}


def test_layout_kernels_that_the_baseline_does_without():
    """A small network's slower groups, with cuDNN's kernel in the place of their longest one."""
    case = facts("dynshape/reduce-overhead", "dynshape/eager")

    def edited(group):
        longest = max(group.candidate.kernels, key=lambda k: k.time_ns, default=None)
        kernels = tuple(
            KernelTime("void tensorTransformGeneric<float>", k.category, k.n, k.time_ns)
            if k is longest
            else k
            for k in group.candidate.kernels
        )
        return replace(group, candidate=replace(group.candidate, kernels=kernels))

    groups = tuple(map(edited, case.ledger.groups))
    without = regressed(case)
    findings = regressed(replace(case, ledger=replace(case.ledger, groups=groups)))
    assert set(without) == {"slower_groups"}
    assert set(findings) == {"slower_by_layouts"}
    assert levers_for(findings["slower_by_layouts"])[0] == "layout_optimization"
    assert findings["slower_by_layouts"].at_stake_ns == without["slower_groups"].at_stake_ns


def test_an_operator_that_compiling_cannot_open():
    """The capture's linear layers under the name of the encoder's fused operator."""
    case = facts(*BERT)
    assert opaque_operators(case) is None
    name = (
        pl.col("name")
        .cast(pl.String)
        .str.replace("^aten::addmm$", "aten::_native_multi_head_attention")
    )
    name = name.str.replace("^aten::mm$", "aten::_native_multi_head_attention")
    ops = case.trace.ops.with_columns(name.cast(pl.Categorical))
    finding = opaque_operators(replace(case, trace=replace(case.trace, ops=ops)))
    assert "_native_multi_head_attention" in finding.evidence
    assert finding.advice.startswith("torch.backends.mha.set_fastpath_enabled(False)")
    assert 0 < finding.at_stake_ns <= case.step_ns


def test_zeros_for_gradients_that_nobody_uses():
    case = facts(*TRAINING)
    assert zero_tangents(case) is None
    first, *others = case.ledger.groups
    fill = "void at::native::vectorized_elementwise_kernel<4, at::native::FillFunctor<float>>"
    n, time_ns = 3 * first.n_steps[1], 60_000 * first.n_steps[1]
    fills = replace(
        first,
        kind="unmatched",
        phase="backward",
        baseline=replace(first.baseline, operators=(), kernels=(), n_events=0, time_ns=0),
        candidate=replace(
            first.candidate,
            kernels=(KernelTime(fill, "elementwise", n, time_ns),),
            n_events=n,
            time_ns=time_ns,
        ),
    )
    edited = replace(case, ledger=replace(case.ledger, groups=(fills, *others)))
    finding = zero_tangents(edited)
    assert finding.at_stake_ns == pytest.approx(60_000)
    assert finding.evidence.startswith("3 fills in the backward")
    forward = replace(case.ledger, groups=(replace(fills, phase="forward"), *others))
    assert zero_tangents(replace(case, ledger=forward)) is None
    for share, is_told in ((0.0019, False), (0.0021, True)):
        edited.__dict__["step_ns"] = 60_000 / share
        assert (zero_tangents(edited) is not None) == is_told


def test_collectives_that_got_slower_are_another_ranks_doing():
    """A small network's slower groups, as if all their kernels were collectives."""
    case = facts("dynshape/reduce-overhead", "dynshape/eager")

    def exchanged(side):
        kernels = tuple(replace(kernel, category="communication") for kernel in side.kernels)
        return replace(side, kernels=kernels)

    groups = tuple(
        replace(group, baseline=exchanged(group.baseline), candidate=exchanged(group.candidate))
        for group in case.ledger.groups
    )
    before = regressed(case)
    findings = regressed(replace(case, ledger=replace(case.ledger, groups=groups)))
    assert set(findings) == {"slower_by_a_rank"}
    assert findings["slower_by_a_rank"].at_stake_ns == before["slower_groups"].at_stake_ns
    assert "Ranks says which rank comes last" in findings["slower_by_a_rank"].advice


def test_kernels_that_were_tuned_inside_the_profiled_steps():
    """Two ranges of half a step each, as torch names them, and one before the first step."""
    case = facts(*BERT)
    assert autotuning_in_steps(case) is None
    window = case.summary.window
    half = window.dur_ns // window.n_steps // 2
    some = case.trace.ops.head(3).with_columns(
        pl.lit("CachingAutotuner.benchmark_all_configs (dynamo_timed)")
        .cast(case.trace.ops.schema["name"])
        .alias("name"),
        pl.Series("ts_ns", [window.start_ns - half, window.start_ns + 1, window.end_ns - half]),
        pl.lit(half).alias("dur_ns"),
    )
    ops = pl.concat([case.trace.ops, some.cast(dict(case.trace.ops.schema))])
    finding = autotuning_in_steps(replace(case, trace=replace(case.trace, ops=ops)))
    assert finding.at_stake_ns == pytest.approx(case.pace * 2 * half / window.n_steps)
    assert finding.evidence.startswith("2 kernels tried their configurations")
    assert "every shape" in finding.advice

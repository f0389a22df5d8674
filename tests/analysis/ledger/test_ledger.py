"""The ledger on real steps: it adds up, it is fine-grained, and it is right."""

import random
from collections import Counter, defaultdict
from dataclasses import replace

import polars as pl
import pytest

from profiler_core.analysis.ledger.ledger import FusionLedger, fusion_ledger
from profiler_core.analysis.ledger.operators import operator
from profiler_core.analysis.ledger.result import FusionGroup, short_name
from profiler_core.analysis.work import device_work
from tests.analysis.ledger.pairs import FIXTURES, SMALL, side, small


def assert_adds_up(result: FusionLedger, baseline, candidate) -> None:
    for trace, total, group_of, which in (
        (baseline.trace, result.baseline_ns, result.baseline_group, "baseline"),
        (candidate.trace, result.candidate_ns, result.candidate_group, "candidate"),
    ):
        counted = device_work(trace).filter(pl.col("step").is_not_null())
        assert total == counted["dur_ns"].sum()
        sides = [getattr(group, which) for group in result.groups]
        assert sum(one.time_ns for one in sides) == total
        assert sum(one.n_events for one in sides) == counted.height
        for one in sides:
            assert one.time_ns == sum(op.time_ns for op in one.operators)
            assert one.time_ns == sum(kernel.time_ns for kernel in one.kernels)
        assert (group_of >= 0).sum() == counted.height


@pytest.mark.parametrize(("baseline", "candidate"), SMALL)
@pytest.mark.parametrize("logs", [True, False])
def test_every_event_is_in_exactly_one_group(baseline, candidate, logs):
    assert_adds_up(
        small(baseline, candidate, logs),
        side(FIXTURES / baseline, logs),
        side(FIXTURES / candidate, logs),
    )


@pytest.mark.parametrize(("baseline", "candidate"), SMALL)
def test_coverage_with_structured_logs(baseline, candidate):
    result = small(baseline, candidate)
    assert result.coverage_baseline >= 0.99
    assert result.coverage_candidate >= 0.99


@pytest.mark.parametrize(("baseline", "candidate"), SMALL[:1] + SMALL[1:2] + SMALL[3:4])
def test_coverage_without_structured_logs(baseline, candidate):
    result = small(baseline, candidate, logs=False)
    assert result.coverage_baseline >= 0.85
    assert result.coverage_candidate >= 0.85
    assert all(group.evidence for group in result.of_kind("matched"))
    note = next(note for note in result.notes if "without a graph" in note)
    assert note.startswith("The candidate has 1 compiled call per step without a graph")
    own = side(FIXTURES / candidate, False)
    notes = fusion_ledger(own, own).notes  # of a run alone: neither baseline nor candidate
    (alone,) = (note for note in notes if "without a graph" in note)
    assert alone.startswith("The run has 1 compiled call per step without a graph")


@pytest.mark.parametrize(("baseline", "candidate"), SMALL[1:4])
def test_no_giant_groups_in_deep_models(baseline, candidate):
    result = small(baseline, candidate)
    for group in result.of_kind("matched"):
        assert group.baseline.time_ns <= 0.15 * result.baseline_ns
        assert group.candidate.time_ns <= 0.15 * result.candidate_ns


def operators(group: FusionGroup) -> Counter[str]:
    return Counter({operator(one.op): one.n for one in group.baseline.operators})


def by_source(result: FusionLedger, line: str) -> list[FusionGroup]:
    return [g for g in result.groups if any(label == line for label, _ in g.sources)]


# ---------------------------------------------------------------- truth, checked by hand


def test_truth_of_the_custom_cnn():
    """conv-bn-relu-pool three times, then a mean and a linear layer (generated code read by eye).

    Call 4 is batch_norm + relu of the first block, call 5 its pooling, and so on; the last two
    are pooling with the mean over what it leaves.
    """
    groups = small("customcnn.eager", "customcnn.reduce-overhead").groups
    truth = {
        ("randn",): ("aten::randn",),
        ("convolution",): ("conv",),
        ("batch_norm", "relu"): ("triton_poi",),
        ("max_pool2d",): ("triton_poi",),
        ("max_pool2d", "mean"): ("triton_red", "triton_per"),
        ("matmul",): ("aten::addmm",),
    }
    seen = Counter(tuple(sorted(operators(g))) for g in groups if g.kind == "matched")
    assert seen == {
        ("randn",): 1, ("convolution",): 3, ("batch_norm", "relu"): 3, ("max_pool2d",): 2,
        ("max_pool2d", "mean"): 1, ("matmul",): 1,
    }  # fmt: skip
    for group in groups:
        key = tuple(sorted(operators(group)))
        if group.kind != "matched" or key == ("convolution",):
            continue
        names = [one.op for one in group.candidate.operators]
        assert len(names) == len(truth[key])
        assert all(n.startswith(t) for n, t in zip(names, truth[key], strict=True)), names
    convolutions = [g for g in groups if set(operators(g)) == {"convolution"}]
    for group in convolutions:
        # The library's kernel, and the layout copies of input or weight that prepare it.
        names = [one.op for one in group.candidate.operators]
        assert names.count("aten::convolution") == 1
        assert all(n == "aten::convolution" or n.startswith("triton_poi") for n in names)
        assert len(names) == (3 if group is convolutions[0] else 2)
    (lone,) = [g for g in groups if g.kind != "matched"]
    assert lone.kind == "only in the candidate"
    assert [one.op for one in lone.candidate.operators] == ["aten::_foreach_copy_"]


def test_truth_of_a_bert_layer():
    """Lines of modeling_bert.py; the kernels of encoder layer 3 of 12, as the code calls them."""
    result = small("bert.eager", "bert.default")
    expected = {
        "modeling_bert.py:175": (Counter(matmul=1), ["aten::addmm"]),  # query
        "modeling_bert.py:176": (Counter(matmul=1), ["aten::addmm"]),  # key
        "modeling_bert.py:177": (Counter(matmul=1), ["aten::addmm"]),  # value
        "sdpa_attention.py:158": (
            Counter(attention=1),
            ["aten::_scaled_dot_product_efficient_attention"],
        ),
        "modeling_bert.py:290": (Counter(matmul=1), ["aten::mm"]),  # attention output
        "modeling_bert.py:292": (
            Counter(add=1, layer_norm=1),
            ["triton_per_fused_add_addmm_native_layer_norm_view_2"],
        ),
        "modeling_bert.py:335": (Counter(matmul=1), ["aten::mm"]),  # intermediate
        "activations.py:89": (Counter(gelu=1), ["triton_poi_fused_addmm_gelu_view_3"]),
        "modeling_bert.py:348": (Counter(matmul=1), ["aten::mm"]),  # output
        "modeling_bert.py:350": (
            Counter(add=1, layer_norm=1),
            ["triton_per_fused_add_addmm_native_layer_norm_view_2"],
        ),
    }
    for line, (ops, kernels) in expected.items():
        at_line = [g for g in by_source(result, line) if g.kind == "matched"]
        if "layer_norm" in ops:  # the embeddings' own normalisation is on another line
            at_line = [g for g in at_line if "layer_norm" in operators(g)]
        assert len(at_line) == 12, line
        assert operators(at_line[3]) == ops, line
        assert [one.op for one in at_line[3].candidate.operators] == kernels, line


def test_truth_of_a_resnet_bottleneck():
    """Lines of torchvision's resnet.py; a bottleneck without downsampling."""
    result = small("resnet50.eager", "resnet50.default")
    bottleneck = Counter(batch_norm=1, add=1, relu=1)
    ends = [g for g in by_source(result, "resnet.py:160") if operators(g) == bottleneck]
    assert len(ends) == 11  # 16, less 4 with downsampling, less the last, which has the mean too
    for group in ends:
        (kernel,) = group.candidate.operators
        assert kernel.op.startswith(
            "triton_poi_fused__native_batch_norm_legit_no_training_add_relu"
        )
    for line, n in (("resnet.py:147", 16), ("resnet.py:151", 16)):
        groups = by_source(result, line)
        assert len(groups) == n
        for group in groups:
            assert operators(group) == Counter(batch_norm=1, relu=1)
            (kernel,) = group.candidate.operators
            assert "native_batch_norm_legit_no_training_relu" in kernel.op
    for line, n in (("resnet.py:146", 16), ("resnet.py:150", 16), ("resnet.py:154", 16)):
        groups = [g for g in by_source(result, line) if operators(g) == Counter(convolution=1)]
        assert len(groups) == n, line
        assert all(
            any(one.op == "aten::convolution" for one in g.candidate.operators) for g in groups
        )
    downsampled = [g for g in by_source(result, "resnet.py:158") if operators(g)["batch_norm"] == 2]
    assert len(downsampled) == 4  # both branches' normalisations, the sum and the relu in one


# ---------------------------------------------------------------- properties


def test_repeated_layers_give_equal_groups():
    """BERT's 12 layers: each kind of group 12 or 24 times; only what begins or ends is single."""
    result = small("bert.eager", "bert.default")
    kinds: dict[tuple, list[FusionGroup]] = defaultdict(list)
    for group in result.of_kind("matched"):
        names = tuple(sorted(one.op.rstrip("0123456789") for one in group.candidate.operators))
        kinds[tuple(sorted(operators(group).items())), names].append(group)
    repeated = Counter(len(groups) for groups in kinds.values() if len(groups) > 1)
    assert set(repeated) <= {12, 24, 36, 37}  # 37: the pooler's linear layer is like the others'
    assert sum(len(groups) for groups in kinds.values() if len(groups) == 1) <= 4


@pytest.mark.parametrize(("baseline", "candidate"), SMALL[:2] + SMALL[3:4])
def test_shuffling_names_of_unrelated_kernels_moves_none(baseline, candidate):
    """Library kernels' names play no part where a log says which call launched them."""
    right = side(FIXTURES / candidate)
    left = side(FIXTURES / baseline)
    result = small(baseline, candidate)

    def shuffled(one):
        names = one.trace.device["name"].cast(pl.String).to_list()
        plain = [i for i, name in enumerate(names) if not name.startswith("triton_")]
        if "graph" in str(one.trace.runtime["name"].cast(pl.String).to_list()).lower():
            return one  # a replay's kernels have nothing but their names and order
        mixed = plain.copy()
        random.Random(0).shuffle(mixed)
        for i, j in zip(plain, mixed, strict=True):
            names[i] = one.trace.device["name"][j]
        device = one.trace.device.with_columns(pl.Series("name", names, dtype=pl.Categorical))
        return replace(one, trace=replace(one.trace, device=device))

    again = fusion_ledger(shuffled(left), shuffled(right))
    assert (again.baseline_group == result.baseline_group).all()
    assert (again.candidate_group == result.candidate_group).all()


def test_renaming_one_kernel_moves_only_its_group():
    """An unknown name in one place must not shift its neighbours."""
    left, right = side(FIXTURES / "bert.eager"), side(FIXTURES / "bert.default")
    result = small("bert.eager", "bert.default")
    gelus = right.trace.ops.with_row_index("row").filter(
        pl.col("name").cast(pl.String).str.contains("gelu")
    )
    chosen = gelus["row"][5]
    start, end = gelus["ts_ns"][5], gelus["ts_ns"][5] + gelus["dur_ns"][5]
    names = right.trace.ops["name"].cast(pl.String).to_list()
    names[chosen] = "triton_poi_fused_something_else_0"
    ops = right.trace.ops.with_columns(pl.Series("name", names, dtype=pl.Categorical))
    again = fusion_ledger(left, replace(right, trace=replace(right.trace, ops=ops)))
    moved = {
        event
        for event in range(len(result.candidate_group))
        if _mates(again.candidate_group, event) != _mates(result.candidate_group, event)
    }
    work = device_work(right.trace).with_row_index("event")
    own = set(work.filter(pl.col("launch_ts_ns").is_between(start, end))["event"])
    assert moved <= own
    assert again.coverage_candidate >= 0.98


def _mates(group_of, event) -> frozenset[int]:
    return frozenset((group_of == group_of[event]).nonzero()[0].tolist())


def test_steps_of_one_sequence_are_added_up():
    """The same step twice: twice the times, the same groups."""
    left, right = side(FIXTURES / "customcnn.eager"), side(FIXTURES / "customcnn.reduce-overhead")
    once = fusion_ledger(left, right)
    twice = fusion_ledger(_repeated(left), right)
    assert twice.n_baseline_steps == 2
    assert twice.baseline_ns == 2 * once.baseline_ns
    assert [g.baseline.time_ns for g in twice.groups] == [
        2 * g.baseline.time_ns for g in once.groups
    ]
    assert [g.candidate.time_ns for g in twice.groups] == [g.candidate.time_ns for g in once.groups]


def _repeated(one):
    """The trace with its step once more, a second later."""
    shift, ids = 1_000_000_000, 10_000_000

    def again(frame: pl.DataFrame) -> pl.DataFrame:
        columns = [pl.col("ts_ns") + shift]
        columns += [pl.col(c) + ids for c in ("correlation", "external_id") if c in frame.columns]
        if "name" in frame.columns:
            columns.append(
                pl.col("name")
                .cast(pl.String)
                .str.replace(r"ProfilerStep#\d+", "ProfilerStep#99")
                .cast(pl.Categorical)
            )
        return pl.concat([frame, frame.with_columns(columns)])

    trace = one.trace
    return replace(
        one,
        trace=replace(
            trace,
            device=again(trace.device),
            runtime=again(trace.runtime),
            ops=again(trace.ops),
            annotations=again(trace.annotations),
        ),
    )


def test_a_group_of_a_kernel_without_an_operator_has_its_short_name():
    """Of two bare kernels most was lost in "20 DefaultPtrTraits, int>, bool, float)"."""
    kernel = (
        "void at::native::batch_norm_backward_kernel<float, at::native::DefaultPtrTraits, int>"
        "(bool, float)"
    )
    assert short_name(kernel) == "batch_norm_backward_kernel"
    assert short_name("aten::add_") == "add"
    assert short_name("vllm::moe_forward") == "moe_forward"

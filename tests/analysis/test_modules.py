"""Time by module: made-up groups with whole answers, and a real trace against its plain JSON."""

import gzip
import json
import re
from collections import Counter, defaultdict
from pathlib import Path

import numpy as np
import pytest

from profiler_core.analysis.ledger.ledger import fusion_ledger
from profiler_core.analysis.ledger.modules import ROOT
from profiler_core.analysis.ledger.result import (
    FusionGroup,
    FusionLedger,
    GroupSide,
    ModuleWork,
    OperatorTime,
)
from profiler_core.analysis.modules import (
    ELSEWHERE,
    OPTIMIZER,
    STEP,
    module_tree,
    parts_of,
    pattern_of,
)
from profiler_core.analysis.operators import operator_rows
from profiler_core.analysis.rows.modules import (
    module_table,
    most_expensive,
    operator_table,
    parts_table,
    row_title,
)
from profiler_core.figures.module_icicle import module_icicle
from profiler_core.figures.theme import palette
from profiler_core.session.comparison import Comparison
from tests.analysis.ledger.pairs import CAPTURES, side

STEPS = 2
FUSED = "triton_per_fused_add_native_layer_norm_0"
NOTHING = np.empty(0, dtype=np.int32)


def by_path(tree):
    return {row.path: row for row in tree.rows}


def work(time_ns, n_kernels=1, moved=None, n_copies=0, **operators):
    """Kernels of so many operators of each module: `h_0__ln_1=2` is two of h.0.ln_1."""
    named = tuple((name.replace("__", "."), n) for name, n in operators.items())
    return ModuleWork(named, n_kernels, time_ns, moved, n_copies)


def a_side(*works, op="aten::add", operators=()):
    time_ns = sum(each.time_ns for each in works)
    named = operators or ((OperatorTime(op, 2, len(works), time_ns),) if works else ())
    return GroupSide(
        operators=named,
        n_events=sum(each.n_kernels for each in works),
        time_ns=time_ns,
        modules=works,
    )


def a_group(baseline, candidate, phase="forward"):
    return FusionGroup("matched", phase, baseline, candidate, n_steps=(STEPS, STEPS))


def a_ledger(*groups, classes=()):
    return FusionLedger(
        groups=groups,
        baseline_ns=sum(group.baseline.time_ns for group in groups),
        candidate_ns=sum(group.candidate.time_ns for group in groups),
        n_baseline_steps=STEPS,
        n_candidate_steps=STEPS,
        step_classes=(),
        baseline_group=NOTHING,
        candidate_group=NOTHING,
        baseline_undecided=NOTHING,
        candidate_undecided=NOTHING,
        module_classes=classes,
    )


def across_layers():
    """The residual sum of layer 0 and the norm of layer 1 become one kernel, the rest stays."""
    return a_ledger(
        a_group(
            a_side(work(100, **{"h.0": 1}), work(200, 3, **{"h.1.ln_1": 1})),
            a_side(work(100, 2, moved=30, **{"h.0": 1, "h.1.ln_1": 2})),
        ),
        a_group(a_side(work(50, **{"h.1.attn": 1})), a_side(work(40, **{"h.1.attn": 1}))),
        a_group(a_side(work(7)), a_side(work(8)), phase="update"),
        a_group(a_side(work(5)), a_side(work(6))),
    )


def test_a_kernel_of_two_layers_is_in_both_with_its_share_and_the_sum_is_exact():
    tree = module_tree(across_layers(), (None, None))
    paths = [STEP, ROOT, "h", "h.0", "h.1", "h.1.ln_1", "h.1.attn", OPTIMIZER, ELSEWHERE]
    assert [row.path for row in tree.rows] == paths
    assert [row.depth for row in tree.rows] == [0, 1, 2, 3, 3, 4, 4, 1, 1]
    times = {row.path: tuple(own.time_ns for own in row.sides) for row in tree.rows}
    assert times == {
        STEP: (362, 154), ROOT: (350, 140), "h": (350, 140), "h.0": (100, 33), "h.1": (250, 107),
        "h.1.ln_1": (200, 67), "h.1.attn": (50, 40), OPTIMIZER: (7, 8), ELSEWHERE: (5, 6),
    }  # fmt: skip
    layer = by_path(tree)["h.1"].sides[1]
    assert (layer.n_kernels, layer.n_shared, layer.shared_ns) == (3, 2, 67)
    assert by_path(tree)["h"].sides[1].n_shared == 0  # nobody outside of both layers
    assert by_path(tree)["h.0"].sides[1].bytes_moved == pytest.approx(10)
    assert by_path(tree)["h.1"].sides[1].bytes_moved is None  # attention's are not known
    assert tree.unknown_ns == (5, 6)


def of_three_layers(baseline):
    """One kernel for a norm, a sum and an activation, with as many operators each."""
    fused = work(100, 1, 300, norm=1, add=1, relu=1)
    return a_ledger(a_group(a_side(*baseline), a_side(fused)))


@pytest.mark.parametrize(
    ("baseline", "parts"),
    [
        ((work(50, norm=1), work(30, add=1), work(20, relu=1)), (50, 30, 20)),
        # A view of the activation is an operator of the graph, and took no time.
        ((work(70, norm=1), work(30, add=1)), (70, 30, 0)),
        ((work(60, norm=1, add=1), work(40, relu=1)), (30, 30, 40)),
        # Nobody knows whose the baseline's are, or they are called something else: operators.
        ((work(50, norm=1), work(50)), (34, 33, 33)),
        ((work(50, norm=1), work(50, other=1)), (34, 33, 33)),
        ((work(0, norm=1), work(0, add=1)), (34, 33, 33)),
    ],
)
def test_a_kernel_of_several_modules_is_divided_by_what_each_took_in_the_baseline(baseline, parts):
    rows = by_path(module_tree(of_three_layers(baseline), (None, None)))
    times = tuple(rows[name].sides[1].time_ns for name in ("norm", "add", "relu"))
    assert times == parts
    moved = tuple(rows[name].sides[1].bytes_moved for name in ("norm", "add", "relu"))
    assert moved == pytest.approx([3 * part for part in parts], abs=3)


def test_a_run_faced_with_itself_is_divided_alike_on_both_sides():
    both = a_side(work(90, norm=1, add=1), work(60, norm=1))
    rows = module_tree(a_ledger(a_group(both, both)), (None, None)).rows
    assert [row.sides[0] for row in rows] == [row.sides[1] for row in rows]


@pytest.mark.parametrize("variant", ["default", "reduce-overhead"])
def test_a_class_takes_what_its_operators_take(variant):
    """It said 433 µs of batch_norm, and 343 µs of 53 BatchNorm2d."""
    folder = Path(__file__).resolve().parents[2] / "sample_traces" / "resnet50"
    both = Comparison.open([folder / "eager", folder / variant]).pairs[0].divided
    by_class = {row.class_name: row for row in both.modules.by_class}
    operators = {row.name: row for row in both.operators}
    for class_name, op in (
        ("BatchNorm2d", "batch_norm"), ("ReLU", "relu_"), ("Conv2d", "conv2d"), ("Linear", "linear")
    ):  # fmt: skip
        layers, calls = by_class[class_name], operators[op]
        assert layers.sides[0].time_ns == calls.time_ns[0]
        # Each group rounds to whole nanoseconds, over five steps.
        assert abs(layers.sides[1].time_ns - calls.time_ns[1]) <= len(layers.groups), class_name


def test_copies_and_memsets_are_no_kernels():
    layer = work(100, n_kernels=2, n_copies=3, h_0=1)
    names = (
        OperatorTime("aten::add", 2, 2, 60, n_copies=1),
        OperatorTime("aten::zero_", 2, 0, 40, n_copies=2),
    )
    ledger = a_ledger(a_group(a_side(layer, operators=names), a_side(layer)))
    side = module_tree(ledger, (None, None)).root.sides[0]
    assert (side.n_kernels, side.n_copies) == (2, 3)
    assert {row.op: (row.n_kernels[0], row.n_copies[0]) for row in operator_rows(ledger)} == {
        "aten::add": (2, 1),
        "aten::zero_": (0, 2),
    }


def test_every_row_is_the_sum_of_those_right_below_it_and_its_own():
    tree = module_tree(across_layers(), (None, None))
    for number in (0, 1):
        below = Counter()
        for row in tree.rows[1:]:
            below[row.above] += row.sides[number].time_ns
        assert below[STEP] == tree.root.sides[number].time_ns
        assert below["h.1"] == by_path(tree)["h.1"].sides[number].time_ns


def test_equal_layers_are_one_row_and_a_class_goes_by_its_name():
    patterns = {row_title(row) for row in module_tree(across_layers(), (None, None)).by_class}
    assert patterns == {
        "2 × h.*", "h.1.ln_1", "h.1.attn", OPTIMIZER, ELSEWHERE,
    }  # fmt: skip
    classes = (("h.0", "Block"), ("h.1", "Block"))
    groups = across_layers().groups
    rows = module_tree(a_ledger(*groups, classes=classes), (None, None)).by_class
    block = next(row for row in rows if row.class_name == "Block")
    assert row_title(block) == "2 × Block"
    assert tuple(own.time_ns for own in block.sides) == (350, 140)
    assert block.sides[1].n_kernels == 3  # the kernel of both layers is counted once
    assert pattern_of("h.10.mlp.2") == "h.*.mlp.*"


def test_the_answer_says_of_an_operator_that_it_is_one_and_why_no_module_has_a_change():
    """A model of one layer: "linear" stood above a table of modules, none of which had a change."""
    alone = a_side(work(200, first=1))
    elsewhere = a_group(a_side(work(300)), a_side(work(340)))
    labels = ("eager", "default")
    ledger = a_ledger(a_group(alone, alone), elsewhere)
    tree = module_tree(ledger, (None, None))
    line = most_expensive(tree, operator_rows(ledger), labels, is_pair=True)
    assert re.match("Of the operators, .+ takes the most time of default: ", line)
    assert line.endswith(
        "The module is unknown for 60 % of the time of eager, so what the modules take or gain is "
        "unknown too."
    )


def test_the_layers_that_the_answer_names_are_no_containers():
    """Eight Sequentials hold nearly all of a ResNet: "8 × Sequential take 1.45 ms" said nothing."""
    parts = ("a.0", "a.1", "b.0", "b.1")
    side = a_side(*(work(100, **{part: 1}) for part in parts))
    held = (("a", "Sequential"), ("b", "Sequential"))
    classes = (*held, *((part, "Block") for part in parts))
    ledger = a_ledger(a_group(side, side), classes=classes)
    tree = module_tree(ledger, (None, None))
    assert row_title(tree.by_class[0]) == "2 × Sequential"
    line = most_expensive(tree, operator_rows(ledger), ("eager", "default"), is_pair=True)
    assert line.endswith(" 4 × Block take 200 ns (+0 ns).")


def test_layers_gain_nothing_where_nobody_knows_what_lies_in_them():
    """Kernels that CUDA graphs replay lie in no module: "2 layers take 0 ns (−150 ns)" is false."""
    layers = a_side(work(200, **{"h.0": 1}), work(200, **{"h.1": 1}))
    replayed = a_group(layers, a_side(work(340), op="cudaGraphLaunch"))
    labels = ("eager", "graphs")
    for groups, told in (
        ((replayed,), "The module is unknown for 100 % of the time of graphs, so what the"),
        ((a_group(layers, layers),), "2 × h.* take 200 ns (+0 ns)."),
    ):
        ledger = a_ledger(*groups)
        tree = module_tree(ledger, (None, None))
        line = most_expensive(tree, operator_rows(ledger), labels, is_pair=True)
        assert told in line
        is_untold = groups == (replayed,)
        assert ("2 × h.*" in line) is not is_untold
        # Nor does a table or a colour say that a layer became faster; of the whole step all do.
        layer, whole = by_path(tree)["h.0"], tree.root
        assert (tree.change_ns(layer) is None) is is_untold
        assert tree.change_ns(whole) == whole.delta_ns
        table = module_table(tree.rows, tree, labels, 9)
        changes = {row[0].text: (row[3].text, row[3].tone) for row in table.rows}
        assert (changes["h.0"] == ("unknown", "muted")) is is_untold
        assert changes["step"] != ("unknown", "muted")
        # Its group, without kernels of it in the candidate: "−1.07 µs" stood below "(unknown)".
        gone = a_ledger(a_group(layers, a_side()))
        (part,) = parts_of(gone, by_path(tree)["h.0"])
        (listed,) = parts_table([part], tree, None, labels, 9).rows
        assert (listed[3].text == "unknown") is is_untold
        drawn = module_icicle(tree, labels, palette(dark=False), is_pair=True)
        colours = palette(dark=False)
        neutral = {
            colours.line,
            *(colours.tint(colours.baseline, 0.8 - 0.09 * n) for n in range(6)),
        }
        assert set(drawn.data[1].marker.colors) <= neutral
        assert not any("against eager" in text for text in drawn.data[1].hovertext[1:])


@pytest.mark.parametrize(
    ("candidate_ns", "anchors"), [(100, ("left", "right")), (1000, ("left", "left"))]
)
def test_the_head_of_a_narrow_side_ends_within_the_figure(candidate_ns, anchors):
    """Of a candidate of a sixth of the time the head was cut at the right edge."""
    layers = (a_side(work(1000, **{"h.0": 1})), a_side(work(candidate_ns, **{"h.0": 1})))
    tree = module_tree(a_ledger(a_group(*layers)), (None, None))
    labels = ("eager", "default+amp")
    drawn = module_icicle(tree, labels, palette(dark=False), is_pair=True)
    heads = drawn.layout.annotations
    assert tuple(head.xanchor for head in heads) == anchors
    assert heads[1].x == pytest.approx(1 if anchors[1] == "right" else 0.51)


@pytest.mark.parametrize(("unknown", "side"), [(200, None), (201, 1)])
def test_changes_of_modules_are_known_up_to_half_of_the_time(unknown, side):
    """Of 400 ns of the candidate; all of the baseline's time lies in modules."""
    layer = work(400 - unknown, **{"h.0": 1})
    tree = module_tree(
        a_ledger(
            a_group(a_side(work(400, **{"h.0": 1})), a_side(layer)),
            a_group(a_side(), a_side(work(unknown), op="cudaGraphLaunch")),
        ),
        (None, None),
    )
    assert tree.unknown_shares == (0.0, unknown / 400)
    assert tree.untold_side == side
    assert (tree.change_ns(by_path(tree)["h.0"]) is None) is (side is not None)


def test_a_modules_groups_come_with_its_share_and_whom_else_they_serve():
    ledger = across_layers()
    tree = module_tree(ledger, (None, None))
    norm = parts_of(ledger, by_path(tree)["h.1.ln_1"])
    assert [(part.number, part.part_ns, part.others) for part in norm] == [
        (0, (100.0, 33.5), ("h.0",))
    ]
    assert norm[0].share == pytest.approx(0.67)
    assert [part.number for part in parts_of(ledger, by_path(tree)["h.1"])] == [0, 1]


def test_what_groups_allocate_is_divided_as_their_kernels_are():
    tree = module_tree(across_layers(), ({0: 90.0, 1: 4.0}, None))
    assert by_path(tree)["h.0"].sides[0].made_bytes == 45.0
    assert by_path(tree)["h.1"].sides[0].made_bytes == 49.0
    assert tree.root.sides[1].made_bytes is None


def test_a_replays_layers_are_not_told_to_allocate_nothing():
    """−159 MB stood beside simplecnn's layers, whose buffers lie in the graphs' private pools."""
    folder = Path(__file__).resolve().parents[2] / "sample_traces" / "simplecnn-training"
    pair = Comparison.open([folder / "eager", folder / "reduce-overhead"]).pairs[0]
    before, after = pair.divided.modules.root.sides
    assert before.made_bytes > 1e8
    assert after.made_bytes is None


def test_operators_divide_a_group_by_what_each_took_in_the_baseline():
    both = (
        OperatorTime("aten::add", 2, 2, 100),
        OperatorTime("aten::layer_norm", 2, 2, 200),
    )
    ledger = a_ledger(
        a_group(a_side(work(300), operators=both), a_side(work(100), op=FUSED)),
        a_group(a_side(work(50), op="aten::add"), a_side(work(60))),
        a_group(GroupSide(), a_side(work(11), op="aten::copy_")),
    )
    rows = {(row.name, row.is_only_in_candidate): row for row in operator_rows(ledger)}
    assert {key: row.time_ns for key, row in rows.items()} == {
        ("add", False): (150, 93),
        ("layer_norm", False): (200, 67),
        ("copy_", True): (0, 11),
    }
    assert rows["add", False].shared_ns == (0, 33)
    assert rows["add", False].groups == (1, 0)
    assert [row.name for row in operator_rows(ledger)] == ["add", "layer_norm", "copy_"]


def test_operators_that_both_run_have_their_own_time_and_kernels():
    """DDP copies gradients by two operators: each had the 144 events of both in the candidate."""

    def side(times):
        operators = (
            OperatorTime("reducer::mul_out", 2, 2, times[0]),
            OperatorTime("reducer::copy", 2, 0, times[1], n_copies=2),
        )
        return a_side(work(sum(times)), operators=operators)

    rows = {
        row.op: row for row in operator_rows(a_ledger(a_group(side((100, 200)), side((90, 240)))))
    }
    assert {op: row.time_ns for op, row in rows.items()} == {
        "reducer::mul_out": (100, 90),
        "reducer::copy": (200, 240),
    }
    assert [rows["reducer::mul_out"].n_kernels, rows["reducer::mul_out"].n_copies] == [
        (2, 2),
        (0, 0),
    ]
    assert [rows["reducer::copy"].n_kernels, rows["reducer::copy"].n_copies] == [(0, 0), (2, 2)]
    assert not any(any(row.shared_ns) for row in rows.values())


def test_tables_of_modules_and_operators_say_times_and_what_is_left_out():
    ledger = across_layers()
    tree = module_tree(ledger, (None, None))
    table = module_table(tree.rows[1:], tree, ("eager", "default"), 2)
    assert [cell.text for cell in table.rows[0]] == [
        "(model)", "175 ns", "70 ns", "−105 ns", "91 %", "2.5 → 1.5",
    ]  # fmt: skip
    assert table.n_left_out == 6
    operators = operator_table(operator_rows(ledger), tree, ("eager", "default"), 9)
    assert operators.rows[0][0].item.text == "operator:aten::add"


def _by_innermost_module(path):
    """ns by the innermost nn.Module around each kernel's launch, from the JSON alone.

    Steps are the ProfilerStep ranges, without any all is one; a kernel belongs to the module whose
    range is around the call that launched it, on its thread.
    """
    events = json.loads(gzip.decompress(path.read_bytes()))["traceEvents"]
    whole = [event for event in events if event.get("ph") == "X"]
    ranges = defaultdict(list)
    for event in whole:
        if event.get("cat") == "python_function" and event["name"].startswith("nn.Module: "):
            ranges[event["pid"], event["tid"]].append(event)
    launches = {
        event["args"]["correlation"]: event
        for event in whole
        if event.get("cat") in ("cuda_runtime", "cuda_driver")
        and "correlation" in event.get("args", {})
    }
    marks = [event for event in whole if event["name"].startswith("ProfilerStep#")]
    times = Counter()
    for event in whole:
        if event.get("cat") not in ("kernel", "gpu_memcpy", "gpu_memset"):
            continue
        launch = launches[event["args"]["correlation"]]
        ts = launch["ts"]
        if marks and not any(mark["ts"] <= ts < mark["ts"] + mark["dur"] for mark in marks):
            continue
        around = [
            call
            for call in ranges[launch["pid"], launch["tid"]]
            if call["ts"] <= ts < call["ts"] + call["dur"]
        ]
        name = min(around, key=lambda call: call["dur"])["name"] if around else ""
        times[name.removeprefix("nn.Module: ")] += round(event["dur"] * 1000)
    return times


def test_python_calls_divide_a_real_trace_as_its_json_says():
    folder = CAPTURES / "resnet50_b1.eager+stack"
    run = side(folder)
    tree = module_tree(fusion_ledger(run, run), (None, None))
    own = Counter({row.path: row.sides[1].time_ns for row in tree.rows})
    for row in tree.rows[1:]:
        own[row.above] -= row.sides[1].time_ns
    ours = Counter()
    for path, time_ns in own.items():
        if time_ns:
            ours["" if path == ELSEWHERE else path.rpartition(".")[2]] += time_ns
    assert ours == _by_innermost_module(folder / "trace.json.gz")
    assert sum(own.values()) == tree.root.sides[1].time_ns
    blocks = next(row for row in tree.by_class if row.class_name == "Bottleneck")
    assert len(blocks.members) == 16


def test_classes_of_a_compiled_run_are_named_by_its_log_alone():
    """Its traces have no Python calls; Dynamo's guards name the twelve layers' class."""
    folder = Path(__file__).resolve().parents[2] / "sample_traces" / "bert"
    pair = Comparison.open([folder / "eager", folder / "default"]).pairs[0]
    assert all(run.files.trace_stacks is None for run in pair.runs)
    by_class = {row.class_name: row for row in pair.divided.modules.by_class}
    assert len(by_class["BertLayer"].members) == 12
    assert len(by_class["Linear"].members) == 73
    layers = [row for row in pair.divided.modules.rows if row.class_name == "BertLayer"]
    for which in (0, 1):
        assert sum(row.step_ns(which) for row in layers) == pytest.approx(
            by_class["BertLayer"].step_ns(which)
        )
    # The softmax of the first layer also builds the mask of all twelve, which is the model's own.
    assert {row.sides[1].n_kernels for row in layers} == {17 * layers[0].n_steps[1]}
    assert max(row.step_ns(1) for row in layers) < 1.01 * min(row.step_ns(1) for row in layers)

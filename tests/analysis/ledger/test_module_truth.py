"""Modules of groups against the models themselves, on pairs of an eager and a compiled run.

Each of the baseline's operators is the forward call at its place; one of a backward is what drew
its sequence number. What the deepest module around all of a group's operators is, the models say.
"""

import gzip
import json
from collections import Counter, defaultdict
from difflib import SequenceMatcher

import pytest

from profiler_core.analysis.ledger.ledger import fusion_ledger
from profiler_core.analysis.ledger.modules import ROOT, holding
from profiler_core.analysis.ledger.operators import KERNEL_FREE, operator
from profiler_core.analysis.modules import module_tree
from profiler_core.session.comparison import Comparison
from tests.analysis.ledger.judge.pairs import groups_of, ledger_side
from tests.analysis.ledger.judge.trace import Step, Unit, read_steps
from tests.analysis.ledger.pairs import FIXTURES
from tests.larger import JUDGE_PAIRS, unpacked


def _operator(function: str) -> str:
    return operator(function.rsplit(".", 1)[-1].strip("_"))


def _modules(step: Step, calls: list[list[str]]) -> dict[int, list[str]]:
    """Unit -> modules of what it does, by the model's own calls."""
    forward = [n for n, u in enumerate(step.units) if not u.is_backward and not u.in_optimizer]
    order = SequenceMatcher(
        None,
        [_operator(function) for function, _ in calls],
        [operator(step.units[n].name) for n in forward],
        autojunk=False,
    )
    modules = {
        forward[block.b + i]: [calls[block.a + i][1]]
        for block in order.get_matching_blocks()
        for i in range(block.size)
    }
    drawn = {number: n for n in forward for number in step.units[n].numbers}
    for n, unit in enumerate(step.units):
        if unit.is_backward:
            known = [modules[drawn[s]][0] for s in unit.numbers if drawn.get(s) in modules]
            if known:
                modules[n] = known
    return modules


def _busy(unit: Unit) -> bool:
    return bool(unit.events) and operator(unit.name) not in KERNEL_FREE


def wrong_modules(workload: str) -> tuple[float, dict[str, float]]:
    """Per cent of the time whose module the model says that is in another, and its groups."""
    calls = json.loads(gzip.decompress((FIXTURES / "modules.json.gz").read_bytes()))[workload]
    folder = unpacked(JUDGE_PAIRS) / workload
    sides = [ledger_side(folder / variant, True) for variant in ("eager", "default")]
    ledger = fusion_ledger(*sides)
    group_of = groups_of(sides[0], ledger.baseline_group)
    step = read_steps(folder / "eager" / "trace.json.gz")[0]
    modules = _modules(step, calls)
    wanted: dict[int, list[str]] = defaultdict(list)
    for n, unit in enumerate(step.units):
        for event in unit.events:
            group = group_of(event)
            if group is not None and n in modules and _busy(unit):
                wanted[group] += modules[n]
    right = wrong = 0.0
    mistakes = defaultdict(float)
    for number, paths in wanted.items():
        group = ledger.groups[number]
        took = group.baseline.time_ns + group.candidate.time_ns
        want = holding(path or ROOT for path in paths)
        if group.module == want:
            right += took
        elif group.module is not None:
            wrong += took
            mistakes[f"{group.title}: {group.module} for {want}"] += took
    assert right + wrong > 0.7 * sum(
        g.baseline.time_ns + g.candidate.time_ns for g in ledger.groups
    )
    return 100 * wrong / (right + wrong), mistakes


@pytest.mark.parametrize(
    ("workload", "most"),
    # In per cent of the time whose module the model says. Before backward operators were led by
    # their sequence numbers: 2.6, 55, 50, 30, 0.7. Before the frame of T5's decoder was known:
    # 60; before views had modules: 4.9 for the two transformers of images.
    [
        ("llama", 3.0),
        ("t5_training", 3.0),
        ("vit_training", 3.5),
        ("dit_training", 3.0),
        ("gnn_training", 0.1),
        ("decode", 1.0),
    ],
)
def test_groups_lie_in_the_module_that_the_model_says(workload, most):
    wrong, mistakes = wrong_modules(workload)
    assert wrong < most, sorted(mistakes.items(), key=lambda item: -item[1])[:5]


def misplaced_time(workload: str) -> float:
    """Per cent of the baseline's device time that the tree has in another module than the model."""
    calls = json.loads(gzip.decompress((FIXTURES / "modules.json.gz").read_bytes()))[workload]
    folder = unpacked(JUDGE_PAIRS) / workload
    ledger = fusion_ledger(*(ledger_side(folder / v, True) for v in ("eager", "default")))
    tree = module_tree(ledger, (None, None))
    assert tree.root.sides[0].time_ns == ledger.baseline_ns
    assert tree.root.sides[1].time_ns == ledger.candidate_ns
    ours = Counter({row.path: row.sides[0].time_ns for row in tree.rows})
    for row in tree.rows[1:]:
        ours[row.above] -= row.sides[0].time_ns
    truth: Counter[str] = Counter()
    for step in read_steps(folder / "eager" / "trace.json.gz"):
        modules = _modules(step, calls)
        for n, unit in enumerate(step.units):
            if n in modules and _busy(unit):
                truth[modules[n][0] or ROOT] += sum(event.dur_ns for event in unit.events)
    assert sum(truth.values()) > 0.7 * ledger.baseline_ns
    less = sum(max(0, time - ours[module]) for module, time in truth.items())
    return 100 * less / sum(truth.values())


@pytest.mark.parametrize(
    ("workload", "most"),
    # All of it is activations of a Sequential: no parameter names them, and their time is in the
    # module that holds them.
    [("llama", 0.7), ("t5_training", 0.7), ("vit_training", 2.0), ("dit_training", 5.0),
     ("gnn_training", 0.1), ("decode", 0.1)],
)  # fmt: skip
def test_the_tree_has_each_operators_time_where_the_model_says(workload, most):
    assert misplaced_time(workload) < most


@pytest.mark.torch
@pytest.mark.parametrize("variant", ["default", "reduce-overhead"])
def test_what_helpers_compute_lies_in_the_module_that_calls_them(variant):
    """GELU lay in `encoder.layer.N.act`, which BERT does not have, attention above its module."""
    from transformers import BertConfig, BertModel

    small = BertConfig(
        hidden_size=8, intermediate_size=8, num_attention_heads=2, num_hidden_layers=12,
        vocab_size=8,
    )  # fmt: skip
    paths = {path for path, _ in BertModel(small).named_modules()}
    sample = FIXTURES.parents[2] / "sample_traces" / "bert"
    pair = Comparison.open([sample / "eager", sample / variant]).pairs[0]
    places = defaultdict(set)
    for group in pair.ledger.groups:
        if group.module is not None and group.module != ROOT:
            assert group.module in paths, group.title
            places[group.title].add(group.module)
    layers = {f"encoder.layer.{n}" for n in range(12)}
    assert places["gelu"] == {f"{layer}.intermediate.intermediate_act_fn" for layer in layers}
    attention = places["scaled_dot_product_attention"]
    assert attention == {f"{layer}.attention.self" for layer in layers}

"""Equal layers have equal groups, or the confidence says otherwise: by modules, on all pairs.

Written apart from the check itself (`layers.py`), which goes by stretches that repeat: here the
layers are sibling modules, found in the groups of a ledger with logs.
"""

import re
from collections import Counter, defaultdict

import pytest

from profiler_core.analysis.ledger.groups import Members
from profiler_core.analysis.ledger.layers import UNLIKE, Stretch, mark_unlike, stretches
from profiler_core.analysis.ledger.program import Item, Program, Segment
from tests.analysis.ledger.judge.pairs import all_pairs, ledger_of

_NUMBERED = re.compile(r"^(?P<family>.*?)\b(?P<number>\d+)(?=\.|$)")


def layer_of(module: str | None) -> tuple[str, int] | None:
    """`encoder.layer.3.attention` -> ("encoder.layer.", 3)."""
    numbered = _NUMBERED.match(module or "")
    return (numbered["family"], int(numbered["number"])) if numbered else None


def contents(ledger, modules):
    """(phase, family) -> number of the layer -> its groups: operators of both sides, confidence.

    A group with rows of several layers, or of none, is no layer's.
    """
    of_group = defaultdict(set)
    for row, group in enumerate(ledger.baseline_group):
        if group >= 0:
            of_group[group].add(layer_of(modules[row]))
    layers = defaultdict(lambda: defaultdict(list))
    for number, layers_of_group in of_group.items():
        if len(layers_of_group) != 1 or None in layers_of_group:
            continue
        (family, layer), group = layers_of_group.pop(), ledger.groups[number]
        content = (
            frozenset((o.op, group.per_own_step(o.n, 0)) for o in group.baseline.operators),
            frozenset(
                Counter(
                    "generated" if o.op.startswith(("triton_", "cpp_", "graph_")) else o.op
                    for o in group.candidate.operators
                ).items()
            ),
        )
        layers[group.phase, family][layer].append((content, group))
    return layers


def unequal(ledger, modules):
    """(number of layers compared, unequal ones that nothing says to be unsure)."""
    n, sure = 0, []
    for (phase, family), layers in contents(ledger, modules).items():
        operators = {
            layer: Counter(entry for (own, _), _ in groups for entry in own)
            for layer, groups in layers.items()
        }
        for layer in sorted(layers)[1:-1]:
            # Equal modules have equal operators; which these are, most of them say.
            alike = [other for other in layers if operators[other] == operators[layer]]
            if 2 * len(alike) <= len(layers):
                continue
            n += 1
            usual = Counter(
                frozenset(Counter(c for c, _ in layers[other]).items()) for other in alike
            ).most_common(1)[0][0]
            own = Counter(content for content, _ in layers[layer])
            if frozenset(own.items()) == usual:
                continue
            differing = own - Counter(dict(usual))
            doubted = [g for c, g in layers[layer] if c in differing]
            if not any(g.confidence in ("low", "undecidable") for g in doubted):
                sure.append((phase, f"{family}{layer}", [g.title for g in doubted]))
    return n, sure


PAIRS = [
    pytest.param(baseline, candidate, id=name.replace(" ", ""))
    for name, baseline, candidate in all_pairs()
    if re.match(
        "captures: (bert|resnet50_train)|resnet50:|(llama|dit|vit|t5|gnn)_?(training)?:", name
    )
]


@pytest.mark.parametrize(("baseline", "candidate"), PAIRS)
def test_equal_layers_have_equal_groups_or_the_confidence_says_otherwise(baseline, candidate):
    logged = ledger_of(baseline, candidate, logs=True)
    modules = [
        logged.groups[group].module if group >= 0 else None for group in logged.baseline_group
    ]
    for ledger in (logged, ledger_of(baseline, candidate, logs=False)):
        _, sure = unequal(ledger, modules)
        assert sure == []


def test_layers_are_really_compared():
    n = 0
    for pair in PAIRS:
        logged = ledger_of(*pair.values, logs=True)
        modules = [logged.groups[g].module if g >= 0 else None for g in logged.baseline_group]
        n += unequal(logged, modules)[0]
    assert n > 60


def test_a_stretch_repeats_three_times_and_more():
    assert stretches("headABCDABCDABCDtail") == [Stretch(4, 4, 3)]
    assert stretches("ABCDABCD") == []
    assert stretches("AB" * 8) == [Stretch(0, 4, 4)]
    assert stretches("ABCDE" * 3 + "x" + "abcd" * 3) == [Stretch(0, 5, 3), Stretch(16, 4, 3)]


class Unit:
    def __init__(self, name):
        self.name = self.common = name


class Step:
    def __init__(self, *names):
        self.units = [Unit(name) for name in names]


def marked(of_layer, others, groups):
    """Groups as (baseline's units, candidate's units): which are marked?"""
    items = [Item(op, frozenset(), (unit,), shapes=((8, 8),)) for unit, op in enumerate(of_layer)]
    program = Program([Segment("forward", items)], [], frozenset(), {})
    nothing = Program([], [], frozenset(), {})
    every = [Members(own, other, frozenset(("kernel name",))) for own, other in groups]
    steps = Step(*of_layer), Step(*others)
    return [UNLIKE in group.evidence for group in mark_unlike(every, (program, nothing), steps)]


LAYER = ("matmul", "add", "gelu", "mul")


def test_a_layer_whose_group_lacks_an_operator_is_marked():
    names = ["matmul", "triton_poi_fused_add_gelu_mul_0"] * 5
    groups = [g for n in range(5) for g in (((4 * n,), (2 * n,)),
              ((4 * n + 1, 4 * n + 2, 4 * n + 3), (2 * n + 1,)))]  # fmt: skip
    assert not any(marked(LAYER * 5, names, groups))
    # In the third layer the last operator is in the product's group.
    groups[4:6] = [((8, 11), (4,)), ((9, 10), (5,))]
    assert marked(LAYER * 5, names, groups) == [False] * 4 + [True] * 2 + [False] * 4


def test_a_layer_with_one_kernel_more_is_marked_unless_it_is_the_last():
    names = ["matmul", "triton_poi_fused_add_gelu_mul_0"] * 5 + ["triton_poi_fused_clone_9"]
    whole = [((4 * n, 4 * n + 1, 4 * n + 2, 4 * n + 3), (2 * n, 2 * n + 1)) for n in range(5)]
    inner = [
        (own, (*other, 10)) if n == 2 else (own, other) for n, (own, other) in enumerate(whole)
    ]
    last = [(own, (*other, 10)) if n == 4 else (own, other) for n, (own, other) in enumerate(whole)]
    assert marked(LAYER * 5, names, inner) == [False, False, True, False, False]
    assert not any(marked(LAYER * 5, names, last))


def test_what_reaches_beyond_the_layers_is_not_judged():
    names = ["matmul", "triton_poi_fused_add_gelu_mul_0"] * 5
    groups = [((4 * n, 4 * n + 1, 4 * n + 2, 4 * n + 3), (2 * n, 2 * n + 1)) for n in range(5)]
    groups[2] = ((*groups[2][0], 20), groups[2][1])
    assert not any(marked((*LAYER * 5, "sum"), names, groups))

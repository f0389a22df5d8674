"""Equal layers have equal groups, or the confidence says otherwise: by modules, on all pairs.

Written apart from the check itself (`layers.py`), which goes by stretches that repeat: here the
layers are sibling modules, found in the groups of a ledger with logs.
"""

import re
from collections import Counter, defaultdict
from functools import cache

import pytest

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


@cache
def compared(baseline, candidate):
    """`unequal` of the pair's ledger with logs, and the module of each of the baseline's rows."""
    logged = ledger_of(baseline, candidate, logs=True)
    modules = [
        logged.groups[group].module if group >= 0 else None for group in logged.baseline_group
    ]
    return unequal(logged, modules), modules


@pytest.mark.parametrize(("baseline", "candidate"), PAIRS)
def test_equal_layers_have_equal_groups_or_the_confidence_says_otherwise(baseline, candidate):
    (_, sure), modules = compared(baseline, candidate)
    assert sure == []
    assert unequal(ledger_of(baseline, candidate, logs=False), modules)[1] == []


def test_layers_are_really_compared():
    assert sum(compared(*pair.values)[0][0] for pair in PAIRS) > 60

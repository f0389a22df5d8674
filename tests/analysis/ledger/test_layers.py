"""The check by repeated layers, on programs made by hand."""

from profiler_core.analysis.ledger.groups import Members
from profiler_core.analysis.ledger.layers import UNLIKE, mark_unlike
from profiler_core.analysis.ledger.program import Item, Program, Segment
from profiler_core.analysis.ledger.stretches import Stretch, stretches


def test_a_stretch_repeats_three_times_and_more():
    assert stretches("headABCDABCDABCDtail") == [Stretch(4, 4, 3)]
    assert stretches("ABCDABCD") == []
    assert stretches([*range(600)] * 3) == [Stretch(0, 600, 3)]
    assert stretches([*range(601)] * 3) == []  # searching is square in the length of a layer
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


def test_groups_across_two_layers_are_judged_and_across_three_not():
    """A layer's last operator is in one kernel with those of the next; one has a kernel more."""

    def groups(*offsets: int) -> list[bool]:
        """The units at these offsets from each layer's first one are a group."""
        n = 8
        names = ["matmul", "triton_poi_fused_add_gelu_mul_0"] * n + ["triton_poi_fused_clone_9"]
        whole = [
            (tuple(4 * layer + offset for offset in offsets), (2 * layer + 1,))
            for layer in range(6)
        ]
        whole[3] = (whole[3][0], (*whole[3][1], 2 * n))
        return marked(LAYER * n, names, whole)

    assert groups(3, 4) == [False, False, False, True, False, False]
    assert not any(groups(3, 5, 8))


def test_what_reaches_beyond_the_layers_is_not_judged():
    names = ["matmul", "triton_poi_fused_add_gelu_mul_0"] * 5
    groups = [((4 * n, 4 * n + 1, 4 * n + 2, 4 * n + 3), (2 * n, 2 * n + 1)) for n in range(5)]
    groups[2] = ((*groups[2][0], 20), groups[2][1])
    assert not any(marked((*LAYER * 5, "sum"), names, groups))

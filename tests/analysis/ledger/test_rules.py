"""Rules of a gap on gaps made by hand: those whose pairs are not among the recorded ones."""

from profiler_core.analysis.ledger.filling import fill
from profiler_core.analysis.ledger.gap import Gap
from profiler_core.analysis.ledger.match import Match
from profiler_core.analysis.ledger.program import Item


def item(op: str, unit: int, *inner: str, line: str = "", node: str = "") -> Item:
    return Item(
        op, frozenset(inner), (unit,), frozenset((line,)) if line else frozenset(), node=node
    )


def evidence(baseline: list[Item], candidate: list[Item], around=()) -> list[tuple]:
    match = Match()
    fill(Gap(baseline, candidate, around, "forward", match, ({}, {})))
    return [(tie.baseline, tie.candidate, tie.evidence) for tie in match.ties]


def test_a_part_of_a_node_that_is_several_operators_in_eager_mode():
    """Multi-head attention is one node of dynamo's graph; eager runs its softmax on its own."""
    projection = item("matmul", 0)
    whole = item("multi_head_attention_forward", 1, "matmul", "softmax", node="attention")
    softmax = item("softmax", 2)
    after = (item("add", 3), item("add", 4))
    assert evidence([softmax], [], [(projection, whole), after]) == [((2,), (1,), "composite")]


def test_a_baseline_that_is_compiled_too_is_tied_by_its_source_line():
    """What the other side computes at the neighbouring match, of the same line."""
    one, other = item("mul", 0, line="model.py:7"), item("add", 1, line="model.py:7")
    before = (item("add", 2, line="model.py:7"), other)
    after = (item("relu", 3), item("relu", 4))
    assert evidence([one], [], [before, after]) == [((0,), (1,), "source line")]


def test_what_stands_between_two_matches_is_one_thing_only_while_it_is_short():
    """A loss is some ten operators; a block of a network between two matches is no one thing."""
    around = [(item("matmul", 90), item("matmul", 90)), (item("add", 91), item("add", 91))]

    def tied(n: int) -> int:
        left = [item(f"left{n}", n) for n in range(n)]
        right = [item("fused", 50)]
        return len(evidence(left, right, around))

    assert [tied(n) for n in (1, 12)] == [1, 12]
    assert tied(13) == tied(40) == 0


def test_a_condition_of_python_on_a_value_is_in_no_kernel_of_a_graph():
    """`if mask.all():` in the library's code, which Dynamo leaves out: nothing computes it."""
    around = [(item("cast", 90), item("cast", 91, node="to")), (item("mm", 92), item("mm", 93))]
    guard = [item("all", 0), item("is_nonzero", 1)]

    def left_out(*nodes: Item) -> set[int]:
        match = Match()
        fill(Gap([*guard, item("masked", 2)], list(nodes), around, "forward", match, ({}, {})))
        assert {tie.baseline for tie in match.ties} >= {(2,)}
        return match.removed

    assert left_out(item("arange", 50, node="arange")) == {0, 1}
    assert left_out(item("any", 50, node="any")) == set()  # may be what is asked for
    assert left_out(item("fused", 50)) == set()  # known by its name alone


def test_a_part_of_an_operator_is_tied_to_it_though_another_of_its_line_stands_between():
    """The sum of a batch norm's gradient beside its relu's: the alignment left it between others.

    Of other lines, and beyond what a library computes, an operator of that name is another one.
    """
    relu, norm = (
        item("threshold_backward", 1, line="a:1"),
        item("batch_norm_backward", 2, line="a:1"),
    )
    other = item("batch_norm_backward", 3, line="a:2")
    part = item("sum", 4, line="a:1", node="sum_7")
    part.part_of = frozenset(("batch_norm_backward",))
    around = [(item("max_pool2d_backward", 0, line="a:1"), item("le", 5)), (relu, item("mul", 6))]

    def tied(*items: Item) -> set[tuple[int, ...]]:
        match = Match()
        every = [around[0][0], relu, *items]
        fill(Gap([], [part], around, "backward", match, ({}, {}), every, (0, 1)))
        return {tie.baseline for tie in match.ties}

    convolution = item("convolution_backward", 7, line="a:1")
    assert tied(norm) == {(2,)}
    assert tied(norm, item("batch_norm_backward", 8, line="a:1")) == {(2,)}  # the nearest
    assert tied(other) == tied(convolution, norm) == {(0,), (1,)}  # the best that is known

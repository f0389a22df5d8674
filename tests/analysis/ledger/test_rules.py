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

"""Layers that became something else than most of them, on programs made by hand and a real one."""

from profiler_core.analysis.ledger.match import Match, Tie
from profiler_core.analysis.ledger.operators import operators_of_kernel
from profiler_core.analysis.ledger.program import Item
from profiler_core.analysis.ledger.realign import realign
from tests.analysis.ledger.judge.pairs import ledger_of
from tests.larger import JUDGE_PAIRS, unpacked

LAYER = ("matmul", "mul", "neg", "add")
ROTARY, SCALED, MASK = (f"triton_poi_fused_add_mul_neg_{n}" for n in (3, 4, 9))


def program(ops: list[str]) -> list[Item]:
    return [
        Item(op, operators_of_kernel(op), (unit,), shapes=((8, 8),), by_kernel_name="_" in op)
        for unit, op in enumerate(ops)
    ]


def tied(candidate: list[str], unusual: dict[int, list[int]]) -> list[tuple[int, int, str]]:
    """Ties of five layers behind the realigning: units of both sides, evidence.

    Args:
        candidate: its kernels; a layer's `mul` and `neg` are in ROTARY, its `add` in SCALED.
        unusual: operator -> kernels that it was tied to, where these are others.
    """
    a, b = program(list(LAYER * 5)), program(candidate)
    products = [n for n, op in enumerate(candidate) if op == "matmul"]
    match = Match()
    for number, item in enumerate(a):
        first = products[number // len(LAYER)]
        kernels = unusual.get(number, [first + (0, 1, 1, 2)[number % len(LAYER)]])
        evidence = "operator in order" if item.is_anchor else "kernel name"
        match.ties += [Tie((number,), (kernel,), evidence) for kernel in kernels]
    realign(a, b, match)
    return [(*tie.baseline, *tie.candidate, tie.evidence) for tie in match.ties]


def test_a_layer_with_one_kernel_more_becomes_what_the_others_are():
    candidate = ["matmul", ROTARY, SCALED] * 2 + ["matmul", MASK, ROTARY, SCALED]
    candidate += ["matmul", ROTARY, SCALED] * 2
    usual = {9: [8], 10: [8], 11: [9]}
    # `mul` in the mask's kernel, `neg` in both, `add` in another operator's.
    moved = tied(candidate, {9: [7], 10: [7, 8], 11: [8]})
    of_layer = [tie for tie in moved if tie[0] in usual]
    assert sorted(of_layer) == [
        (9, 8, "kernel name"),
        (10, 8, "kernel name"),
        (11, 9, "kernel name"),
    ]
    assert (12, 7, "position") in moved  # the mask's kernel works for the product behind it
    assert [tie for tie in moved if tie[0] not in (*usual, 12)] == [
        tie for tie in tied(candidate, usual) if tie[0] not in (*usual, 12)
    ]


def test_what_is_left_behind_the_last_product_works_for_that():
    candidate = ["matmul", ROTARY, SCALED] * 4 + ["matmul", MASK, ROTARY, SCALED]
    moved = tied(candidate, {17: [13], 18: [14], 19: [15]})
    assert (17, 14, "kernel name") in moved
    assert (16, 13, "position") in moved


def test_a_kernel_that_is_not_there_moves_nothing():
    """Nor one that is there twice: it may be either."""
    for kernels in ([MASK, SCALED], [MASK, ROTARY, ROTARY, SCALED]):
        candidate = ["matmul", ROTARY, SCALED] * 2 + ["matmul", *kernels]
        candidate += ["matmul", ROTARY, SCALED] * 2
        unusual = {9: [7], 10: [7], 11: [6 + len(kernels)]}
        assert [tie for tie in tied(candidate, unusual) if tie[0] in (9, 10)] == [
            (9, 7, "kernel name"),
            (10, 7, "kernel name"),
        ]


def test_more_than_half_of_the_layers_decide():
    candidate = ["matmul", ROTARY, SCALED] * 5
    scaled = {number: [number // 4 * 3 + 2] for number in (1, 5, 9)}  # `mul` in the other kernel
    moved = [tie for tie in tied(candidate, scaled) if tie[0] in (13, 17)]
    assert moved == [(13, 11, "kernel name"), (17, 14, "kernel name")]
    scaled[9] = [7, 8]  # in both: two, two and one
    nothing = [tie for tie in tied(candidate, scaled) if tie[0] in (9, 13, 17)]
    assert nothing == [
        *((9, kernel, "kernel name") for kernel in (7, 8)),
        (13, 10, "kernel name"),
        (17, 13, "kernel name"),
    ]


def test_rotary_embeddings_of_a_layer_that_arranges_the_mask_anew():
    """LLaMA without logs: one of six layers had four groups where the others have one."""
    folder = unpacked(JUDGE_PAIRS) / "llama"
    groups = ledger_of(folder / "eager", folder / "default", logs=False).groups
    rotary = [
        sorted((operator.op, operator.n) for operator in group.baseline.operators)
        for group in groups
        if "aten::neg" in {operator.op for operator in group.baseline.operators}
    ]
    assert len(rotary) == 6
    assert len({str(operators) for operators in rotary[1:]}) == 1

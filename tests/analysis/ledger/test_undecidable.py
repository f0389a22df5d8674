"""What several placements explain equally well: said, and never called sure."""

import numpy as np
import pytest

from profiler_core.analysis.ledger.alignment import align_codes, alternatives
from profiler_core.analysis.ledger.anchors import in_doubt, shuffled_runs
from profiler_core.analysis.operators import operator_rows
from profiler_core.analysis.wording.groups import how_ledger_knows, undecidable_sentence
from profiler_core.analysis.wording.operator import operator_about
from profiler_core.answers.explanation import fusion_answer
from tests.analysis.ledger.judge.ablation import without
from tests.analysis.ledger.judge.pairs import ROOT, judged, ledger_of, unpacked
from tests.analysis.ledger.test_anchors import product
from tests.larger import LARGER

SAMPLES = ROOT / "sample_traces"
T5 = unpacked(ROOT / "tests" / "fixtures" / "judge_pairs.tar.xz") / "t5_training"


def test_one_of_two_equal_places_is_no_certainty():
    codes, table = np.array([0], np.int32), np.array([[3]], np.int32)
    both = np.array([0, 0], np.int32)
    pairs = align_codes(codes, both, table)
    assert alternatives(codes, both, table, pairs) == [([], [1 - pairs[0][1]])]
    assert alternatives(codes, codes, table, [(0, 0)]) == [([], [])]


def test_products_of_one_size_are_in_doubt_only_where_the_order_changed():
    """A gradient's two products may change places; three of one size among such moves are open."""
    data, weight = product((64, 8), (8, 16)), product((8, 64), (64, 16))
    wide, deep = product((64, 16), (16, 99)), product((16, 64), (64, 99))
    swapped = [(0, 1), (1, 0), (2, 3), (3, 2), (4, 5), (5, 4), (6, 7), (7, 6)]
    assert in_doubt([data, weight, wide, deep] * 2, swapped) == []
    mixed = [(0, 2), (1, 0), (2, 4), (3, 1), (4, 5), (5, 3)]
    assert in_doubt([data, weight] * 3, mixed)


def test_layers_of_one_size_that_changed_places_are_all_in_doubt():
    """Query, key and value of one size: which of three gradients is whose is not to be known."""
    square = [product((64, 8), (8, 8)), product((8, 64), (64, 8))]
    swapped = [(0, 1), (1, 0), (2, 3), (3, 2)]
    assert shuffled_runs(square * 2, swapped) == []
    moved = [(0, 0), (1, 1), (2, 4), (3, 2), (4, 5), (5, 3)]
    assert shuffled_runs(square * 3, moved) == [moved]
    assert {pair for both in in_doubt(square * 3, moved) for pair in both} == set(moved)
    wide = product((64, 8), (8, 99))
    assert shuffled_runs([*square, wide, *square], [(0, 1), (1, 0), (2, 2), (3, 3), (4, 4)]) == []


@pytest.fixture(scope="module")
def of_t5():
    return ledger_of(T5 / "eager", T5 / "default", logs=False)


def test_undecidable_time_is_said_and_never_sure(of_t5):
    for which, share in enumerate((of_t5.undecidable_baseline, of_t5.undecidable_candidate)):
        sides = [(group.baseline, group.candidate)[which] for group in of_t5.groups]
        total = (of_t5.baseline_ns, of_t5.candidate_ns)[which]
        assert 0.05 < share < 0.3
        assert share == sum(side.undecidable_ns for side in sides) / total
    for group in of_t5.groups:
        for side in (group.baseline, group.candidate):
            if 2 * side.undecidable_ns > side.time_ns:
                assert group.confidence == "undecidable"


def test_the_ledger_knows_where_it_would_be_wrong(of_t5):
    """The same pair with every doubt taken away has far more time in a wrong group."""
    said = judged(T5 / "eager", T5 / "default", logs=False)
    with without("in_doubt"), without("_doubt_names"):
        unsaid = judged(T5 / "eager", T5 / "default", logs=False)
    for with_doubts, sure in zip(said, unsaid, strict=True):
        assert with_doubts.left_open > 0 == sure.left_open
        assert sure.wrong - with_doubts.wrong > 0.01 * sure.total


def test_page_and_json_say_how_the_ledger_knows(of_t5):
    assert how_ledger_knows(of_t5).startswith(
        "Matched by shapes and names of operators and kernels"
    )
    answer = fusion_answer(of_t5)
    assert answer.known_by == "shapes"
    assert answer.undecidable_candidate == of_t5.undecidable_candidate
    runs = SAMPLES / "bert" / "eager", SAMPLES / "bert" / "reduce-overhead"
    assert ledger_of(*runs, logs=True).known_by == "logs"
    assert ledger_of(*runs, logs=False).known_by == "names"


def test_operators_say_how_much_of_their_time_is_undecidable(of_t5):
    """Their parts are those of the groups that replace them, rounded to a nanosecond each."""
    rows = operator_rows(of_t5)
    assert sum(row.undecidable_ns for row in rows) == pytest.approx(
        sum(group.candidate.undecidable_ns for group in of_t5.groups), abs=len(of_t5.groups)
    )
    runs = (LARGER / "captures" / f"customcnn_b1.{mode}" for mode in ("eager", "reduce-overhead"))
    ledger = ledger_of(*runs, logs=False)
    rows_of = {row.name: row for row in operator_rows(ledger)}
    open_ns = sum(
        kernel.time_ns / ledger.n_candidate_steps
        for group in ledger.groups
        if group.confidence == "undecidable" and group.title.startswith("max_pool2d")
        for kernel in group.candidate.kernels
    )
    assert open_ns > 0.3 * rows_of["max_pool2d"].step_ns(1)
    assert operator_about(rows_of["max_pool2d"], ("eager", "reduce-overhead"))[-1] == (
        f"For {open_ns / 1000:.2f} µs of it in reduce-overhead another group would explain the "
        "kernels equally well."
    )
    assert not any("equally well" in text for text in operator_about(rows_of["linear"], ("x", "y")))


def test_the_page_of_modules_says_what_is_undecidable(of_t5):
    said = undecidable_sentence(of_t5)
    assert said[1:-1] in how_ledger_knows(of_t5)
    assert said.startswith("For ") and said.endswith("explain the kernels equally well.")
    logged = ledger_of(SAMPLES / "bert" / "eager", SAMPLES / "bert" / "default", logs=True)
    assert undecidable_sentence(logged) == ""

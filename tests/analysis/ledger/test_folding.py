"""Equal groups as one, nothing lost."""

from dataclasses import replace

import pytest

from profiler_core.analysis.ledger.folding import fold, in_program_order
from profiler_core.analysis.ledger.result import FusionGroup, GroupSide, OperatorTime
from profiler_core.analysis.wording.groups import confidence_of, how_known_of_all
from tests.analysis.ledger.pairs import SMALL, small


@pytest.mark.parametrize(("baseline", "candidate"), SMALL)
def test_folding_keeps_every_group_and_every_nanosecond(baseline, candidate):
    ledger = small(baseline, candidate)
    for shown in (fold(ledger.groups), in_program_order(ledger.groups)):
        numbers = sorted(number for one in shown for number in one.numbers)
        assert numbers == list(range(len(ledger.groups)))
        assert sum(one.baseline_ns for one in shown) == pytest.approx(ledger.baseline_ns)
        assert sum(one.candidate_ns for one in shown) == pytest.approx(ledger.candidate_ns)


def test_twelve_layers_are_one_row():
    ledger = small("bert.eager", "bert.default")
    shown = fold(ledger.groups)
    titles = [one.title for one in shown]
    assert "12 × gelu" in titles
    assert "12 × scaled_dot_product_attention" in titles
    assert len(shown) < 25
    assert [one.delta_ns for one in shown] == sorted(one.delta_ns for one in shown)


def a_group(n_bytes, time_ns):
    operator = OperatorTime("aten::convolution_backward", 1, 1, time_ns)
    side = GroupSide((operator,), (), 1, time_ns, bytes_read=n_bytes, bytes_written=n_bytes)
    return FusionGroup("matched", "backward", side, side)


def test_groups_of_one_shape_are_equal():
    (folded,) = fold([a_group(8, 300_000), a_group(8, 800_000)])
    assert folded.are_equal
    assert folded.label == "2 × convolution_backward"


def test_groups_of_other_shapes_are_not_equal_and_say_from_where_to_where_they_run():
    (folded,) = fold([a_group(8, 310_000), a_group(64, 2_550_000), a_group(32, 900_000)])
    assert not folded.are_equal
    assert folded.title == "3 convolution_backward"
    assert folded.label == "3 convolution_backward, 310 µs to 2.55 ms"


@pytest.mark.parametrize(("longest_ns", "are_equal"), [(1_400, True), (1_600, False)])
def test_where_no_shape_is_known_times_tell(longest_ns, are_equal):
    (folded,) = fold([a_group(None, 1_000), a_group(None, longest_ns)])
    assert folded.are_equal == are_equal


def test_the_stages_of_a_resnet_are_not_called_equal():
    labels = [folded.label for folded in fold(small("resnet50.eager", "resnet50.default").groups)]
    (stages,) = [label for label in labels if label.startswith("11 batch_norm + add + relu")]
    assert stages.endswith(" µs")
    assert not any(label.startswith("16 ×") for label in labels)


def test_a_group_that_also_makes_what_its_like_use_is_one_of_them():
    """The first layer's attention also computes the mask, from a line of its own."""
    lines = (("sdpa.py:158", "attn = sdpa("), ("sdpa.py:168", "attn.transpose(1, 2)"))
    mask = (("masking.py:90", "return q_idx >= 0"),)
    first, *others = (
        replace(a_group(8, 1_000), sources=sources)
        for sources in ((*lines, *mask), lines, lines, mask)
    )
    of_masks, of_layers = sorted(fold([first, *others]), key=lambda one: len(one.groups))
    assert (of_layers.numbers, of_masks.numbers) == ((0, 1, 2), (3,))
    assert of_layers.title == "3 × convolution_backward"


def test_a_group_of_further_lines_joins_none_that_are_fewer():
    lines, further = (("a.py:1", "x + 1"),), (("a.py:2", "x + 2"),)
    groups = [replace(a_group(8, 1_000), sources=(*lines, *further)) for _ in range(2)]
    shown = fold([replace(groups[0], sources=lines), *groups])
    assert {one.numbers for one in shown} == {(0,), (1, 2)}


def test_a_row_is_as_sure_as_its_least_sure_match():
    """The bare pair of a BERT, whose attentions are sure but for two."""
    sure = replace(a_group(8, 1_000), confidence="high")
    guess, open_ = replace(sure, confidence="low"), replace(sure, confidence="undecidable")
    (mixed,) = fold([sure, guess, sure])
    assert mixed.confidences == {"low": 1, "high": 2}
    assert confidence_of(mixed) == "low to high confidence"
    assert (
        how_known_of_all(mixed)
        == "Of all 3 matches 2 are of high confidence and 1 is of low confidence."
    )
    for groups, words in (
        ([sure, sure], "high confidence"),
        ([open_, open_], "undecidable"),
        ([sure, open_], "undecidable to high confidence"),
    ):
        (folded,) = fold(groups)
        assert confidence_of(folded) == words
        assert bool(how_known_of_all(folded)) == (len(folded.confidences) > 1)

"""Equal groups as one, nothing lost."""

import pytest

from profiler_core.analysis.ledger.folding import fold, in_program_order
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

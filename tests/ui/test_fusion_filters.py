"""Which groups the fusion page shows."""

import pytest

from profiler_core.analysis.ledger.group_modules import is_in_module
from profiler_core.analysis.ledger.result import FusionLedger
from profiler_core.ui.fusion.filters import (
    ALONE,
    LOST,
    PROGRAM,
    SAVED,
    Filters,
    filtered,
    module_choices,
)
from tests.analysis.ledger.pairs import small
from tests.figures.many_groups import many_groups


@pytest.fixture(scope="module")
def ledger() -> FusionLedger:
    return many_groups(200)


def _n(ledger, **filters):
    return sum(len(one.groups) for one in filtered(ledger, Filters(**filters)))


def test_without_filters_nothing_is_left_out(ledger):
    shown = filtered(ledger, Filters())
    assert _n(ledger) == 200
    assert not Filters().are_set
    assert sum(one.baseline_ns for one in shown) == pytest.approx(ledger.baseline_ns / 5)


def test_saved_and_lost_time_are_two_halves(ledger):
    saved, lost = _n(ledger, change=SAVED), _n(ledger, change=LOST)
    same = sum(group.delta_ns == 0 for group in ledger.groups)
    assert saved > 0
    assert lost > 0
    assert saved + lost + same == 200
    assert _n(ledger, change=ALONE) == 0
    assert Filters(change=SAVED).are_set


def test_of_lost_time_the_most_comes_first(ledger):
    """ "exp, +0.0 µs" stood above what became slower by 290 µs."""
    lost = [group.delta_ns for group in filtered(ledger, Filters(change=LOST))]
    assert lost == sorted(lost, reverse=True)
    assert len(lost) > 1


def test_a_kind_is_looked_for_on_both_sides(ledger):
    assert _n(ledger, kinds=frozenset({"gemm"})) == 34
    assert _n(ledger, kinds=frozenset({"triton_pointwise"})) == 200


def test_words_are_looked_for_in_operators_kernels_lines_and_modules(ledger):
    assert _n(ledger, words="op_17 ") == 11  # 17 and 170 to 179
    assert _n(ledger, words="KERNEL_199") == 1
    assert _n(ledger, words="model.py:42 x") == 1
    assert _n(ledger, words="layers.4.block.39") == 1
    assert _n(ledger, words="nothing of the kind") == 0


def test_a_module_has_what_lies_in_it(ledger):
    assert _n(ledger, module="layers.1") == 40
    assert _n(ledger, module="layers.*.block.7") == 5
    assert _n(ledger, module="layers") == 200
    assert _n(ledger, module="layer") == 0
    assert not is_in_module(None, "layers")
    assert not is_in_module("", "layers")


def test_modules_to_choose_from_have_their_parents_and_all_numbered_ones_at_once(ledger):
    found = module_choices(ledger.groups[:80])
    assert found[0] == "layers"
    assert "layers.*" in found
    assert "layers.*.block.*" in found
    assert found.index("layers.0.block.2") < found.index("layers.0.block.10")
    assert module_choices(many_groups(0).groups) == []


def test_program_order_keeps_the_order_of_the_ledger(ledger):
    shown = filtered(ledger, Filters(order=PROGRAM, module="layers.2"))
    assert [one.numbers[0] for one in shown] == list(range(80, 120))


def test_filters_on_a_real_ledger():
    ledger = small("bert.eager", "bert.default")
    assert 0 < _n(ledger, words="layer_norm") < len(ledger.groups)

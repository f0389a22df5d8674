"""Thousands of groups become some hundred pieces whose times still sum to all of them."""

import re

import pytest

from profiler_core.analysis.ledger.folding import fold, in_program_order
from profiler_core.figures.fusion_map import fusion_maps
from profiler_core.figures.fusion_panel import Panel
from profiler_core.figures.fusion_parts import drawn_parts
from profiler_core.figures.theme import LIGHT
from tests.figures.many_groups import many_groups

N = 5000
MOST_MARKS = 1000
MOST_BYTES = 600_000


@pytest.fixture(scope="module")
def ledger():
    return many_groups(N)


@pytest.mark.parametrize("program_order", [False, True])
def test_nothing_is_lost_in_the_rest(ledger, program_order):
    shown = (in_program_order if program_order else fold)(ledger.groups)
    parts = drawn_parts(shown, 20_000.0, program_order=program_order)
    assert len(parts) < 500
    for side, total in ((0, ledger.baseline_ns / 5), (1, ledger.candidate_ns / 5)):
        assert sum(part.heights[side] for part in parts) == pytest.approx(total, rel=1e-12)
    assert sum(part.n_kernels[0] for part in parts) == pytest.approx(2 * N)
    numbers = [part.number for part in parts if part.number is not None]
    assert len(numbers) == len(set(numbers))


def test_the_rest_says_how_many_it_is_and_how_much(ledger):
    shown = fold(ledger.groups)
    *alone, rest = drawn_parts(shown, 20_000.0)
    found = re.fullmatch(r"and ([\d\u202f]+) smaller groups, (\d+) %", rest.title)
    assert found
    assert int(found[1].replace("\u202f", "")) == N - len(alone)
    share = max(rest.heights) / (ledger.baseline_ns / 5)
    assert int(found[2]) == pytest.approx(100 * share, abs=3)
    assert rest.number is None


def test_one_small_group_keeps_its_name(ledger):
    shown = fold(ledger.groups[:400])
    sizes = sorted(max(g.baseline_ns, g.candidate_ns) for g in shown)
    parts = drawn_parts(shown[:3], sizes[-1] * 9)
    assert all("smaller group" not in part.title or part.number is None for part in parts)
    assert len(drawn_parts(shown[:1], 1e12)) == 1
    assert drawn_parts(shown[:1], 1e12)[0].title == shown[0].title


def test_two_maps_of_thousands_of_groups_are_small(ledger):
    shown = fold(ledger.groups)
    figure = fusion_maps([Panel("default", shown), Panel("max", shown)], "eager", LIGHT)
    marks = sum(len(trace.y) for trace in figure.data if trace.name == "groups")
    assert marks < MOST_MARKS
    assert len(figure.to_json()) < MOST_BYTES


def test_nothing_at_all():
    assert drawn_parts((), 1.0) == []

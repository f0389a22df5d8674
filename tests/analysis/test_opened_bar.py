"""A bar's lines sum to the bar, to the nanosecond, however they are joined."""

import pytest

from profiler_core.analysis.opened_bar import bar_lines, what_it_is
from profiler_core.analysis.waterfall import OTHER_LABELS, WORK_CLASSES, GroupPart, WaterfallRow
from tests.figures.many_groups import many_groups


def a_bar(ledger, *, more_ns=0):
    parts = tuple(
        GroupPart(
            number,
            group.baseline.time_ns / ledger.n_baseline_steps + 0.3,
            group.candidate.time_ns / ledger.n_candidate_steps + 0.6,
        )
        for number, group in enumerate(ledger.groups)
    )
    before = round(sum(part.baseline_ns for part in parts)) + more_ns
    after = round(sum(part.candidate_ns for part in parts))
    return WaterfallRow("pointwise", "pointwise", before, after, groups=parts)


@pytest.mark.parametrize("n", [1, 3, 12, 13, 400])
@pytest.mark.parametrize("most", [2, 12])
def test_lines_sum_to_the_bar(n, most):
    ledger = many_groups(n)
    row = a_bar(ledger)
    lines = bar_lines(row, ledger, most=most)
    assert len(lines) == min(n, most)
    assert sum(line.baseline_ns for line in lines) == row.baseline_ns
    assert sum(line.candidate_ns for line in lines) == row.candidate_ns
    assert sum(line.delta_ns for line in lines) == row.delta_ns
    if n > most:
        assert lines[-1].title == f"{n - most + 1} more kinds of groups"
        assert lines[-1].group is None


def test_the_biggest_change_is_first_and_names_its_group():
    ledger = many_groups(40)
    first, *others = bar_lines(a_bar(ledger), ledger)
    assert abs(first.delta_ns) == max(abs(line.delta_ns) for line in (first, *others[:-1]))
    assert ledger.groups[first.group].title == first.title
    assert first.source.startswith("model.py:")


def test_what_the_ledger_does_not_have_is_a_line_of_its_own():
    ledger = many_groups(3)
    row = a_bar(ledger, more_ns=5_000)
    lines = bar_lines(row, ledger)
    assert (lines[-1].title, lines[-1].group) == ("work that the ledger does not have", None)
    assert sum(line.baseline_ns for line in lines) == row.baseline_ns


def told(key):
    return what_it_is(WaterfallRow(key, key, 5, 7), ("eager", "default"))


def test_a_bar_without_groups_is_explained():
    ledger = many_groups(1)
    assert bar_lines(WaterfallRow("idle", "idle", 5, 7), ledger) == ()
    for key in OTHER_LABELS:
        assert told(key).endswith(".")
    for key in WORK_CLASSES:
        assert told(key) == ""

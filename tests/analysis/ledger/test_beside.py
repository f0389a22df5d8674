"""Two candidates beside each other: the same work at the same height."""

from dataclasses import replace
from itertools import pairwise

import pytest

from profiler_core.analysis.ledger.beside import in_the_order_of
from profiler_core.analysis.ledger.folding import fold
from tests.analysis.ledger.pairs import small
from tests.figures.many_groups import many_groups


def test_the_same_work_stands_at_the_same_place():
    first = fold(small("bert.eager", "bert.default").groups)
    other = fold(small("bert.eager", "bert.reduce-overhead").groups)
    ordered = in_the_order_of(first, other)
    assert sorted(map(id, ordered)) == sorted(map(id, other))
    titles = [group.title for group in first]
    places = [titles.index(group.title) for group in ordered if group.title in titles]
    # Titles may repeat; then the first place counts for all of them.
    assert sum(a > b for a, b in pairwise(places)) <= len(places) // 4
    assert ordered[0].title == first[0].title


def test_what_only_the_other_has_comes_last():
    ledger = many_groups(4)
    first = fold(ledger.groups[:2])
    other = fold(ledger.groups)
    ordered = in_the_order_of(first, other)
    assert [group.first for group in ordered[:2]] == [group.first for group in first]


def test_an_average_step_of_the_whole_ledger():
    """Two classes of steps, of 2 and 3 steps: together the five that the runs have."""
    one, two = many_groups(2).groups
    groups = (
        replace(one, n_steps=(5, 5), class_steps=(2, 2)),
        replace(two, n_steps=(5, 5), class_steps=(3, 3)),
    )
    total = sum(group.baseline.time_ns for group in groups)
    shown = fold(groups)
    assert sorted(group.occurrence for group in shown) == ["in 2 of 5 steps", "in 3 of 5 steps"]
    assert sum(group.baseline_ns for group in shown) == pytest.approx(total / 5)
    assert sum(sum(group.by_category(0).values()) for group in shown) == pytest.approx(total / 5)


def test_copies_and_memsets_are_no_kernels():
    group = many_groups(1).groups[0]
    kernels = group.baseline.kernels
    others = (
        replace(kernels[0], category="memcpy", n=15),
        replace(kernels[0], category="memset", n=30),
    )
    baseline = replace(group.baseline, kernels=(*kernels, *others))
    (shown,) = fold((replace(group, baseline=baseline),))
    assert shown.n_kernels[0] == 2
    assert shown.n_copies == (3, 0)
    assert shown.n_memsets == (6, 0)


def test_a_memset_that_a_graph_does_by_a_kernel_counts_as_a_kernel():
    group = many_groups(1).groups[0]
    kernels = group.baseline.kernels
    by_a_kernel = replace(kernels[0], name="memset32", category="memset", n=30)
    baseline = replace(group.baseline, kernels=(*kernels, by_a_kernel))
    (shown,) = fold((replace(group, baseline=baseline),))
    assert shown.n_kernels[0] == 2 + 6
    assert shown.n_memsets == (0, 0)

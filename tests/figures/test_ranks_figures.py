"""Figures about ranks: what is drawn stays small however many ranks there are."""

from dataclasses import replace

import pytest

from profiler_core.analysis.ranks.job import Job
from profiler_core.analysis.ranks.matching import Arrival
from profiler_core.analysis.ranks.rank_row import RankRow
from profiler_core.analysis.ranks.strip import QUANTITIES, columns_of, quantiles_of
from profiler_core.figures.rank_blocks import RanksOfRun
from profiler_core.figures.ranks_arrivals import MOST_MARKS, ranks_arrivals
from profiler_core.figures.ranks_bars import ranks_bars, ranks_legend
from profiler_core.figures.ranks_strip import MOST_COLUMNS, ranks_strip
from profiler_core.figures.theme import DARK, LIGHT

SLOW = 2001


def a_row(rank, compute=80e6):
    return RankRow(
        rank=rank, step_ns=100e6, compute_ns=compute, communication_ns=30e6,
        exposed_communication_ns=98e6 - compute, exposed_copy_ns=1e6, idle_ns=1e6,
        waited_ns=10e6, made_wait_ns=0.0, n_last=0.0, steps=(),
    )  # fmt: skip


def a_job(n):
    rows = [a_row(rank) for rank in range(n)]
    if n > SLOW:
        rows[SLOW] = replace(a_row(SLOW, compute=97e6), made_wait_ns=1e9)
    return Job(
        ranks=tuple(rows), collectives=(), arrivals=(), n_steps=1, world_size=n, missing=(),
        step_ns=100e6, wait_share=0.1, compute_imbalance=0.0, skew_ns=None, straggler=None,
        critical=None, costs=(), notes=(),
    )  # fmt: skip


def test_4096_ranks_are_at_most_a_few_thousand_marks_and_the_slow_one_is_seen():
    rows = a_job(4096).ranks
    columns = columns_of(rows, MOST_COLUMNS)
    assert len(columns) == MOST_COLUMNS
    figure = ranks_strip([RanksOfRun("eager", 0, rows), RanksOfRun("default", 1, rows)], LIGHT)
    marks = sum(len(row) for heat in figure.data[::2] for row in heat.z)
    assert marks == 2 * MOST_COLUMNS * len(QUANTITIES) < 4000
    compute = [label for _, label in QUANTITIES].index("compute")
    (darkest,) = [n for n, shade in enumerate(figure.data[0].z[compute]) if shade == 1]
    assert columns[darkest].ranks[compute] == SLOW
    cells = figure.data[1]  # which a click tells: nobody sees them
    at = compute * MOST_COLUMNS + darkest
    assert f"(rank {SLOW})" in cells.text[at]
    assert cells.customdata[at] == f"rank:0.{SLOW}"
    assert (cells.x[at], cells.y[at]) == (figure.data[0].x[darkest], "compute")
    assert figure.data[3].customdata[at] == f"rank:1.{SLOW}"


def test_a_difference_of_a_few_ns_is_no_colour():
    rows = [replace(row, idle_ns=2.0 + row.rank % 3) for row in a_job(64).ranks]
    figure = ranks_strip([RanksOfRun("eager", 0, rows)], LIGHT)
    idle = [label for _, label in QUANTITIES].index("idle")
    assert max(figure.data[0].z[idle]) < 1e-5


def test_quantiles_name_the_ranks_at_both_ends():
    rows = {row.key: row for row in quantiles_of(a_job(4096))}
    assert (rows["compute_ns"].most, rows["compute_ns"].most_rank) == (97e6, SLOW)
    assert rows["compute_ns"].median == rows["compute_ns"].p95 == 80e6
    assert quantiles_of(a_job(1)) == ()


@pytest.mark.parametrize("palette", [LIGHT, DARK])
def test_the_parts_of_a_bar_are_its_step(palette):
    rows = [a_row(0), a_row(1, compute=90e6)]
    figure = ranks_bars([RanksOfRun("<b>eager</b>", 2, rows)], palette)
    assert sum(bar.x[0] for bar in figure.data) == pytest.approx(100)
    assert [bar.name for bar in figure.data] == [label for label, _ in ranks_legend(palette)]
    assert all(tuple(bar.customdata) == ("rank:2.0", "rank:2.1") for bar in figure.data)
    assert "&lt;b&gt;eager" in figure.layout.annotations[0].text


def test_arrivals_are_limited_to_the_largest():
    found = [
        Arrival(place=n, kind="all_reduce", label="all-reduce", group="0,1", bytes=None,
                n_steps=3, skew_ns=n * 1e3, wait_ns=0, last_rank=1, last_share=1.0)
        for n in range(1, 2001)
    ]  # fmt: skip
    figure = ranks_arrivals([(0, "eager", found)], LIGHT)
    assert len(figure.data[0].x) == MOST_MARKS
    assert max(figure.data[0].x) == 2000

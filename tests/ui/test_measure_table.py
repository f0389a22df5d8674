"""How wide the overview's table is taken to be, so that what stands beside it moves below it."""

from profiler_core.analysis.rows.table import Cell, Change, Table
from profiler_core.ui.overview.measure_table import table_width_px


def a_table(n_candidates: int, value: str, change: str) -> Table:
    cells = [Cell(value, change=Change(change)) for _ in range(n_candidates)]
    return Table(("",) * (n_candidates + 2), ((Cell("Step time"), Cell(value), *cells),))


def test_long_values_of_three_runs_need_more_room_than_short_ones() -> None:
    short = table_width_px(a_table(2, "6.65 ms", "−15 %"))
    long = table_width_px(a_table(2, "12 345 tokens/s", "+1 234 %"))
    # A window of 1280 px has 880 px beside the menu, of which the figure beside it wants 330.
    assert short <= 880 - 330 < long
    assert table_width_px(a_table(3, "6.65 ms", "−15 %")) > short


def test_a_change_that_is_missing_keeps_its_place() -> None:
    assert table_width_px(a_table(1, "0 B", "")) == table_width_px(a_table(1, "0 B", "−3 %"))

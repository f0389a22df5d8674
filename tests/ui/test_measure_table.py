"""How wide the overview's table is taken to be, so that what stands beside it moves below it."""

import re

from profiler_core.analysis.rows.table import Cell, Change, Table
from profiler_core.ui.overview.measure_table import how_measured, table_width_px
from tests.apps import checked, opened, text_of


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


def test_how_steps_are_timed_is_one_click_from_what_the_numbers_mean() -> None:
    """docs/measuring.md was linked from no page."""
    app = opened("overview", baseline="sample/bert/eager", candidate="sample/bert/default")
    assert not any("## From rounds to a verdict" in part.value for part in app.markdown)
    app = checked(app.toggle(key="how_measured").set_value(True).run())
    assert any("## From rounds to a verdict" in part.value for part in app.markdown)


def test_its_links_to_other_files_of_the_documentation_lead_nowhere_else() -> None:
    assert "](" not in how_measured()


def test_a_phone_does_not_multiply_the_kernels_by_the_time_of_all_of_them() -> None:
    """“73 × 5.85 ms” stood there for 73 kernels that take 5.85 ms together."""
    text = text_of(opened("overview", baseline="sample/bert/eager"))
    cell = re.search(r"fs-phone>73 (\w+)<br>.*?<small>([^<]+)<", text)
    assert cell is not None
    assert cell.groups() == ("in", "5.85 ms")

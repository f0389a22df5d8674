"""`make accuracy` writes the judge's tables where docs/ledger.md has them."""

import pytest

from tests.analysis.ledger.judge.tables import LEDGER_PAGE, replaced


def test_a_table_is_replaced_between_its_marks_alone():
    page = "a\n<!-- table: rules -->\nold\n<!-- end of table -->\nb\n<!-- end of table -->\n"
    assert replaced(page, "rules", ["| x |", "|---|"]) == (
        "a\n<!-- table: rules -->\n\n| x |\n|---|\n\n<!-- end of table -->\nb\n"
        "<!-- end of table -->\n"
    )
    with pytest.raises(ValueError, match="no table speed"):
        replaced(page, "speed", [])


@pytest.mark.parametrize("name", ["with logs", "without logs", "rules"])
def test_the_page_has_each_table(name):
    text = LEDGER_PAGE.read_text(encoding="utf-8")
    assert "| " in text.partition(f"<!-- table: {name} -->")[2].partition("<!-- end")[0]

"""`docs` prints what help texts name."""

import re
from pathlib import Path

import pytest

from profiler_core.cli.main import main

ROOT = Path(__file__).resolve().parents[2]
PAGES = sorted((ROOT / "docs").glob("*.md"))


def test_all_pages_are_listed(capsys):
    assert main(["docs"]) == 0
    said = capsys.readouterr().out
    for path in PAGES:
        assert re.search(rf"^{path.stem} ", said, re.MULTILINE)


@pytest.mark.parametrize("name", ["json", "docs/json.md"])
def test_a_page_is_printed_as_it_is_written(name, capsys):
    assert main(["docs", name]) == 0
    assert capsys.readouterr().out == (ROOT / "docs" / "json.md").read_text("utf-8")


def test_no_such_page_is_a_sentence(capsys):
    assert main(["docs", "../README"]) == 2
    assert "There is no page" in capsys.readouterr().err


def test_every_page_that_the_product_names_is_there():
    named = set()
    for path in (ROOT / "profiler_core").rglob("*.py"):
        named |= set(re.findall(r"\bdocs/([a-z_]+)\.md", path.read_text("utf-8")))
    assert named <= {path.stem for path in PAGES}
    assert "json" in named

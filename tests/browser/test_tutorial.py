"""The tutorial: its pictures are made, of pages that say what the text says."""

import re
import struct
from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Page, expect

from tests.browser import tutorial
from tests.browser.conftest import ROOT, Server, running_server
from tests.quick_python import variables

pytestmark = pytest.mark.browser

TEXT = (ROOT / "docs" / "tutorial.md").read_text(encoding="utf-8")
# What the text quotes of the pages in its pictures.
QUOTED = {
    "02-verdict": ("2.58 times", "933 µs → 362 µs"),
    "05-graph-break": ("52.6 µs", "310 µs instead of 362 µs", "30.7 µs and 70.7 µs"),
    "07-after-the-fix": ("362 µs → 303 µs", "1.15 to 1.24"),
}


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory, quick_python: Path) -> Iterator[Server]:
    """A dashboard with the tutorial's runs."""
    home = tutorial.home_with_runs(tmp_path_factory.mktemp("tutorial-home"))
    log = tmp_path_factory.mktemp("tutorial-server") / "log.txt"
    with running_server(home, log, **variables(quick_python)) as server:
        yield server


@pytest.mark.parametrize("picture", tutorial.PICTURE_LIST, ids=lambda picture: picture.name)
def test_each_picture_is_made_of_a_page_that_says_what_the_text_says(
    picture: tutorial.Picture, page: Page, server: Server, tmp_path: Path
) -> None:
    file = tutorial.take(picture, page, server, tmp_path)
    width, height = struct.unpack(">II", file.read_bytes()[16:24])
    assert (width, height) == (tutorial.WINDOW["width"], tutorial.WINDOW["height"])
    assert f"images/tutorial/{file.name}" in TEXT
    assert (tutorial.PICTURES / file.name).is_file()
    for sentence in QUOTED.get(picture.name, ()):
        expect(page.get_by_text(re.compile(re.escape(sentence))).first).to_be_visible()


def test_every_picture_of_the_text_is_made() -> None:
    shown = re.findall(r"images/tutorial/([\w-]+)\.png", TEXT)
    assert shown == [picture.name for picture in tutorial.PICTURE_LIST]

"""The tutorial: its pictures are made, of pages that say what the text says."""

import re
import shutil
import struct
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest
from playwright.sync_api import Page, expect

from tests.browser import tutorial
from tests.browser.conftest import ROOT, Server, capture_of

pytestmark = pytest.mark.browser

TEXT = (ROOT / "docs" / "tutorial.md").read_text(encoding="utf-8")
# What the text quotes of the pages in its pictures.
QUOTED = {
    "02-verdict": ("2.58 times", "933 µs → 362 µs"),
    "04-findings": ("130 µs", "78.7 to 179 µs", "52.7 µs", "27.3 to 78.0 µs"),
    "05-graph-break": ("52.7 µs", "310 µs instead of 362 µs", "27.3 µs and 78.0 µs"),
    "07-after-the-fix": ("362 µs → 303 µs", "1.15 to 1.24"),
}


@pytest.fixture(scope="module")
def own_server(server: Server) -> Iterator[Server]:
    """The shared dashboard with the tutorial's runs."""
    with ExitStack() as folders:
        for name in tutorial.CAPTURES:
            folder = folders.enter_context(capture_of(server, name))
            shutil.copytree(tutorial.RUNS / name, folder, dirs_exist_ok=True)
        yield server


@pytest.mark.parametrize("picture", tutorial.PICTURE_LIST, ids=lambda picture: picture.name)
def test_each_picture_is_made_of_a_page_that_says_what_the_text_says(
    picture: tutorial.Picture, page: Page, own_server: Server, tmp_path: Path
) -> None:
    file = tutorial.take(picture, page, own_server, tmp_path)
    width, height = struct.unpack(">II", file.read_bytes()[16:24])
    assert (width, height) == (tutorial.WINDOW["width"], tutorial.WINDOW["height"])
    assert f"images/tutorial/{file.name}" in TEXT
    assert (tutorial.PICTURES / file.name).is_file()
    for sentence in QUOTED.get(picture.name, ()):
        pattern = re.escape(sentence).replace(r"\ ", r"\s")  # no break before a unit
        expect(page.get_by_text(re.compile(pattern)).first).to_be_visible()


def test_every_picture_of_the_text_is_made() -> None:
    shown = re.findall(r"images/tutorial/([\w-]+)\.png", TEXT)
    assert shown == [picture.name for picture in tutorial.PICTURE_LIST]

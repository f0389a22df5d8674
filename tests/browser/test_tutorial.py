"""The tutorial: its pictures are made, of pages that say what the text says."""

import re
import struct
from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Page, expect

from tests.browser import tutorial
from tests.browser.conftest import ROOT, Server, ready, running_server

pytestmark = pytest.mark.browser

TEXT = (ROOT / "docs" / "tutorial.md").read_text(encoding="utf-8")


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    """A dashboard with the tutorial's runs."""
    home = tutorial.home_with_runs(tmp_path_factory.mktemp("tutorial-home"))
    with running_server(home, tmp_path_factory.mktemp("tutorial-server") / "log.txt") as server:
        yield server


@pytest.mark.parametrize("picture", tutorial.PICTURE_LIST, ids=lambda picture: picture.name)
def test_each_picture_is_made_and_shown(
    picture: tutorial.Picture, page: Page, server: Server, tmp_path: Path
) -> None:
    file = tutorial.take(picture, page, server, tmp_path)
    width, height = struct.unpack(">II", file.read_bytes()[16:24])
    assert (width, height) == (tutorial.WINDOW["width"], tutorial.WINDOW["height"])
    assert f"images/tutorial/{file.name}" in TEXT
    assert (tutorial.PICTURES / file.name).is_file()


def test_the_pages_say_what_the_text_says(page: Page, server: Server) -> None:
    quoted = {
        ("", "FIRST"): ["2.58 times", "933 µs → 362 µs"],
        ("compilation", "BREAK"): ["52.6 µs", "310 µs instead of 362 µs", "30.7 µs and 70.7 µs"],
        ("", "FIXED"): ["362 µs → 303 µs", "1.19 to 1.20"],
    }
    for (name, runs), sentences in quoted.items():
        page.goto(server.link(name, **getattr(tutorial, runs)))
        ready(page)
        for sentence in sentences:
            expect(page.get_by_text(re.compile(re.escape(sentence))).first).to_be_visible()


def test_every_picture_of_the_text_is_made() -> None:
    shown = re.findall(r"images/tutorial/([\w-]+)\.png", TEXT)
    assert shown == [picture.name for picture in tutorial.PICTURE_LIST]

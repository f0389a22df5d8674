"""The pictures of docs/tutorial.md, made with the runs that ship beside it.

    python -m tests.browser.tutorial [FOLDER]

Without FOLDER they are written where the tutorial shows them (`make tutorial`).
"""

import shutil
import sys
import tempfile
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

from playwright.sync_api import Page, ViewportSize, expect, sync_playwright

from tests.browser import chromium
from tests.browser.conftest import ROOT, Server, at_rest, ready, running_server, signed_in_state

RUNS = ROOT / "docs" / "tutorial" / "runs"
CAPTURES = ("net", "net_fixed")
PICTURES = ROOT / "docs" / "images" / "tutorial"
WINDOW: ViewportSize = {"width": 1280, "height": 860}

FIRST = {"baseline": "run/net/eager", "candidate": ["run/net/default", "run/net/reduce-overhead"]}
BREAK = {"baseline": "run/net/eager", "candidate": "run/net/reduce-overhead"}
FIXED = {"baseline": "run/net/reduce-overhead", "candidate": "run/net_fixed/reduce-overhead"}
AFTER = {"baseline": "run/net_fixed/eager", "candidate": "run/net_fixed/reduce-overhead"}


def _as_opened(page: Page) -> None:
    """The top of the page."""


def _at(heading: str) -> Callable[[Page], None]:
    """Scroll until the heading stands near the top of the window."""

    def scroll(page: Page) -> None:
        target = page.get_by_role("heading", name=heading).first
        expect(target).to_be_attached()
        # Below Streamlit's header, which covers the top of the window.
        target.evaluate(
            "e => { e.style.scrollMarginTop = '80px'; e.scrollIntoView({block: 'start'}) }"
        )
        at_rest(page)

    return scroll


@dataclass(frozen=True)
class Picture:
    """One picture: a page with its runs, and what of it is shown."""

    name: str
    page: str  # "" is the overview
    runs: dict[str, str | list[str]]
    show: Callable[[Page], None] = field(default=_as_opened)


PICTURE_LIST = (
    Picture("01-capture", "capture", {}),
    Picture("02-verdict", "", FIRST),
    Picture("03-waterfall", "", BREAK, _at("Where the difference comes from")),
    Picture("04-findings", "", BREAK, _at("What to do next")),
    Picture("05-graph-break", "compilation", BREAK),
    Picture("06-timeline", "timeline", BREAK),
    Picture("07-after-the-fix", "", FIXED),
    Picture("08-fusion", "fusion", AFTER),
    Picture("09-kernels", "kernels", AFTER),
    Picture("10-memory", "memory", AFTER),
)


def take(picture: Picture, page: Page, server: Server, folder: Path) -> Path:
    """Open the page cold and save what its window shows, as a PNG file in `folder`."""
    page.set_viewport_size(WINDOW)
    page.goto(server.link(picture.page, **picture.runs))
    ready(page)
    at_rest(page)
    picture.show(page)
    file = folder / f"{picture.name}.png"
    page.screenshot(path=file)
    return file


def home_with_runs(home: Path) -> Path:
    """A home whose runs are the tutorial's."""
    for capture in CAPTURES:
        shutil.copytree(RUNS / capture, home / "runs" / capture)
    return home


def main() -> None:
    """Take every picture."""
    folder = Path(sys.argv[1]) if len(sys.argv) > 1 else PICTURES
    folder.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory() as temporary, sync_playwright() as playwright:
        home = home_with_runs(Path(temporary))
        state = signed_in_state(home)
        browser = playwright.chromium.launch(
            executable_path=chromium.find(),
            args=["--no-sandbox", "--disable-dev-shm-usage", "--force-color-profile=srgb"],
        )
        page = browser.new_page(storage_state=state, reduced_motion="reduce")
        with running_server(home, home / "log.txt") as server:
            for picture in PICTURE_LIST:
                print(take(picture, page, server, folder))
        browser.close()


if __name__ == "__main__":
    main()

"""The page ranks in a real browser: cold, light and dark, narrow and wide."""

import os
import subprocess
import sys
from collections.abc import Iterator

import pytest
from playwright.sync_api import Browser, Page, expect

from tests.browser.conftest import ROOT, Server, ready, running_server, watched_page

pytestmark = pytest.mark.browser

PAIR: dict[str, str | list[str]] = {
    "baseline": "sample/ddp/eager",
    "candidate": "sample/ddp/default",
}
SAMPLE = ROOT / "sample_traces" / "ddp"


@pytest.fixture(scope="module")
def ranks_server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    """Everything was read and asked before: a busy machine takes a minute for the first time."""
    home = tmp_path_factory.mktemp("ranks-home")
    places = [str(SAMPLE / variant) for variant in ("eager", "default")]
    for words in (
        ["profiler_core.ranks", places[0]],
        ["profiler_core.ranks", places[1]],
        ["profiler_core", "ranks", *places, "--hta", "--json"],
    ):
        subprocess.run(
            [sys.executable, "-m", *words],
            cwd=ROOT, env={**os.environ, "FUSIONSCOPE_HOME": str(home)},
            stdout=subprocess.DEVNULL, check=True, timeout=240,
        )  # fmt: skip
    with running_server(home, tmp_path_factory.mktemp("ranks-server") / "log.txt") as server:
        yield server


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_it_opens_cold_and_names_the_slow_rank(
    browser: Browser, ranks_server: Server, scheme: str
) -> None:
    for page in watched_page(browser, color_scheme=scheme):
        page.goto(ranks_server.link("ranks", **PAIR))
        ready(page)
        expect(page.get_by_role("heading", level=1).first).to_contain_text(
            "Rank 0 waits for rank 1"
        )
        bars = page.locator(".js-plotly-plot").first
        expect(bars).to_contain_text("one step, ms")
        expect(bars).to_contain_text("rank 1")
        expect(page.get_by_role("rowheader", name="Bus bandwidth, all-reduce")).to_be_visible()


@pytest.mark.parametrize("width", [390, 1280, 1920])
def test_it_is_not_wider_than_its_window(
    browser: Browser, ranks_server: Server, width: int
) -> None:
    for page in watched_page(browser):
        page.set_viewport_size({"width": width, "height": 844})
        page.goto(ranks_server.link("ranks", **PAIR))
        ready(page)
        assert page.evaluate("document.documentElement.scrollWidth") <= width


def test_the_second_opinion_opens(page: Page, ranks_server: Server) -> None:
    page.goto(ranks_server.link("ranks", **PAIR))
    ready(page)
    page.get_by_text("Temporal breakdown · agrees with ours").click()
    expect(page.get_by_role("rowheader", name="rank 0: compute")).to_be_visible()

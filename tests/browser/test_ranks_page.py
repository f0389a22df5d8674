"""The page ranks in a real browser: cold, light and dark, narrow and wide."""

import pytest
from playwright.sync_api import Browser, Page, expect

from tests.browser.conftest import Server, ready, watched_page

pytestmark = pytest.mark.browser

PAIR: dict[str, str | list[str]] = {
    "baseline": "sample/ddp/eager",
    "candidate": "sample/ddp/default",
}


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_it_opens_cold_and_names_the_slow_rank(
    browser: Browser, server: Server, scheme: str
) -> None:
    for page in watched_page(browser, color_scheme=scheme):
        page.goto(server.link("ranks", **PAIR))
        ready(page)
        expect(page.get_by_role("heading", level=1).first).to_contain_text(
            "Rank 0 waits for rank 1"
        )
        bars = page.locator(".js-plotly-plot").first
        expect(bars).to_contain_text("one step, ms")
        expect(bars).to_contain_text("rank 1")
        expect(page.get_by_role("rowheader", name="Bus bandwidth, all-reduce")).to_be_visible()


@pytest.mark.parametrize("width", [390, 1280, 1920])
def test_it_is_not_wider_than_its_window(browser: Browser, server: Server, width: int) -> None:
    for page in watched_page(browser):
        page.set_viewport_size({"width": width, "height": 844})
        page.goto(server.link("ranks", **PAIR))
        ready(page)
        assert page.evaluate("document.documentElement.scrollWidth") <= width


def test_the_second_opinion_opens(page: Page, server: Server) -> None:
    page.goto(server.link("ranks", **PAIR))
    ready(page)
    page.get_by_text("Temporal breakdown · agrees with ours").click()
    expect(page.get_by_role("rowheader", name="rank 0: compute")).to_be_visible()

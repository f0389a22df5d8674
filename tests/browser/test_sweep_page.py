"""The page of sweeps in a real browser: cold, in both modes and all widths, and the way on."""

import re
import shutil
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Page, expect

from tests.browser.conftest import Server, at_rest, capture_of, ready, watched_page
from tests.browser.waiting import expect_to_fit

pytestmark = pytest.mark.browser

SWEEP = Path(__file__).resolve().parents[1] / "fixtures" / "sweeps" / "simplecnn_cpu"
KEY = "run/20261121-181537-simplecnn-training-sweep-of-batch-size-4c5f"
HEADLINE = "default pays at batch size 4, the only one that could be judged."


@pytest.fixture(scope="module")
def own_server(server: Server) -> Iterator[Server]:
    """The shared dashboard with the runs of a sweep."""
    with ExitStack() as folders:
        for point in SWEEP.iterdir():
            folder = folders.enter_context(capture_of(server, point.name))
            shutil.copytree(point, folder, dirs_exist_ok=True)
        yield server


@pytest.mark.parametrize(("scheme", "widths"), [("light", (390, 1280)), ("dark", (1920,))])
def test_a_cold_link_opens_and_fits_its_window(
    browser: Browser, own_server: Server, scheme: str, widths: tuple[int, ...]
) -> None:
    for page in watched_page(browser, color_scheme=scheme):
        page.set_viewport_size({"width": widths[0], "height": 900})
        page.goto(own_server.link("sweep", sweep=KEY))
        for width in widths:
            page.set_viewport_size({"width": width, "height": 900})
            ready(page)
            expect(page.get_by_role("heading", name=HEADLINE)).to_be_visible()
            charts = page.locator(".js-plotly-plot")
            expect(charts).to_have_count(4)
            # The failed point is a mark that says so.
            expect(charts.first.get_by_text("out of memory")).to_be_visible()
            expect_to_fit(page, width)


def test_from_the_runs_to_the_sweep_to_a_point_and_back(page: Page, own_server: Server) -> None:
    page.goto(own_server.link("runs"))
    ready(page)
    page.get_by_role("link", name="simplecnn, batch size 1, 4, 16, 64").click()
    at_rest(page)
    expect(page.get_by_role("heading", name=HEADLINE)).to_be_visible()
    expect(page).to_have_url(re.compile("sweep=run%2F"))
    page.get_by_role("link", name="4", exact=True).click()
    ready(page)
    expect(page.get_by_text("Side by side")).to_be_visible()
    expect(page).to_have_url(re.compile("baseline=run%2Fbatch-4%2Feager"))
    page.get_by_role("link", name="The whole sweep").click()
    ready(page)
    expect(page.get_by_role("heading", name=HEADLINE)).to_be_visible()


def test_what_stands_first_is_not_below_the_header(page: Page, own_server: Server) -> None:
    page.set_viewport_size({"width": 390, "height": 700})
    page.goto(own_server.link("sweep", sweep="gone"))
    for width in (390, 1280):
        page.set_viewport_size({"width": width, "height": 700})
        ready(page)
        expect(page.get_by_text("There is no sweep “gone” here.")).to_be_visible()
        # The card's frame is its first row of pixels.
        card = page.get_by_test_id("stVerticalBlock").filter(has_text="There is no sweep").last
        header = page.get_by_test_id("stHeader")
        expect(card).to_have_css("border-top-width", "1px")
        below = card.evaluate("card => card.getBoundingClientRect().top")
        assert below >= header.evaluate("header => header.getBoundingClientRect().bottom")

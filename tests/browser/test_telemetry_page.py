"""The page telemetry in a real browser: cold, light and dark, narrow and wide, all axes."""

import re
import shutil
from collections.abc import Iterator

import pytest
from playwright.sync_api import Page, expect

from tests.browser.conftest import ROOT, Server, capture_of, ready
from tests.browser.waiting import expect_to_fit, widths

pytestmark = pytest.mark.browser

SAMPLE = ROOT / "sample_traces" / "customcnn"
PAIR: dict[str, str | list[str]] = {
    "baseline": "run/telemetry/eager",
    "candidate": "run/telemetry/reduce-overhead",
}
TRACE_AXIS = "On the trace's axis"


@pytest.fixture(scope="module")
def telemetry_server(server: Server) -> Iterator[Server]:
    with capture_of(server, "telemetry") as folder:
        for variant in ("eager", "reduce-overhead"):
            shutil.copytree(SAMPLE / variant, folder / variant)
        yield server


def expect_every_quantity(page: Page) -> None:
    expect(page.get_by_role("heading", level=1).first).to_contain_text("A fair comparison")
    expect(page.get_by_role("rowheader", name="Energy per step")).to_be_visible()
    chart = page.locator(".js-plotly-plot").first
    for title in ("SM clock, MHz", "Power, W", "GPU busy (NVML), %", "Temperature, °C"):
        expect(chart.get_by_text(title, exact=True)).to_be_visible()


@pytest.fixture(scope="class")
def opened(page_of_class: Page, telemetry_server: Server) -> Page:
    """The page, opened cold once for the tests of a class."""
    page_of_class.goto(telemetry_server.link("telemetry", **PAIR))
    ready(page_of_class)
    return page_of_class


class TestOneWindow:
    def test_it_opens_cold_and_draws_every_quantity(self, opened: Page) -> None:
        expect_every_quantity(opened)

    def test_this_machine_is_read_or_says_why_not(self, opened: Page) -> None:
        expect(opened.get_by_role("heading", name="This machine now")).to_be_visible()
        live = opened.get_by_text("No GPU can be sampled here").or_(opened.get_by_text("GPU 0 ·"))
        expect(live.first).to_be_visible()

    def test_the_axis_is_in_the_address_and_the_trace_has_one(self, opened: Page) -> None:
        opened.get_by_text(TRACE_AXIS, exact=True).click()
        chart = opened.locator(".js-plotly-plot").first
        expect(chart).to_contain_text("seconds on the trace's axis")
        expect(opened).to_have_url(re.compile("axis="))
        opened.goto(opened.url)
        ready(opened)
        expect(chart).to_contain_text("seconds on the trace's axis")


def test_in_the_dark_it_is_not_wider_than_its_window(
    dark_page: Page, telemetry_server: Server
) -> None:
    for width in widths(dark_page, telemetry_server.link("telemetry", **PAIR)):
        expect_to_fit(dark_page, width)
        name = dark_page.get_by_role("rowheader", name="Energy per step")
        # A phone has no room for a long name on one line beside the values of three runs.
        expect(name).to_have_css("white-space", "normal" if width == 390 else "nowrap")
    expect_every_quantity(dark_page)

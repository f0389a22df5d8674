"""The page telemetry in a real browser: cold, light and dark, narrow and wide, all axes."""

import re
import shutil
from collections.abc import Iterator

import pytest
from playwright.sync_api import Browser, Page, expect

from tests.browser.conftest import ROOT, Server, capture_of, ready, watched_page
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


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_it_opens_cold_and_draws_every_quantity(
    browser: Browser, telemetry_server: Server, scheme: str
) -> None:
    for page in watched_page(browser, color_scheme=scheme):
        page.goto(telemetry_server.link("telemetry", **PAIR))
        ready(page)
        expect(page.get_by_role("heading", level=1).first).to_contain_text("A fair comparison")
        expect(page.get_by_role("rowheader", name="Energy per step")).to_be_visible()
        chart = page.locator(".js-plotly-plot").first
        for title in ("SM clock, MHz", "Power, W", "GPU busy (NVML), %", "Temperature, °C"):
            expect(chart.get_by_text(title, exact=True)).to_be_visible()


def test_it_is_not_wider_than_its_window(browser: Browser, telemetry_server: Server) -> None:
    for page in watched_page(browser):
        for width in widths(page, telemetry_server.link("telemetry", **PAIR)):
            expect_to_fit(page, width)
            name = page.get_by_role("rowheader", name="Energy per step")
            # A phone has no room for a long name on one line beside the values of three runs.
            expect(name).to_have_css("white-space", "normal" if width == 390 else "nowrap")


def test_the_axis_is_in_the_address_and_the_trace_has_one(
    page: Page, telemetry_server: Server
) -> None:
    page.goto(telemetry_server.link("telemetry", **PAIR))
    ready(page)
    page.get_by_text(TRACE_AXIS, exact=True).click()
    chart = page.locator(".js-plotly-plot").first
    expect(chart).to_contain_text("seconds on the trace's axis")
    expect(page).to_have_url(re.compile("axis="))
    page.goto(page.url)
    ready(page)
    expect(page.locator(".js-plotly-plot").first).to_contain_text("seconds on the trace's axis")


def test_this_machine_is_read_or_says_why_not(page: Page, telemetry_server: Server) -> None:
    page.goto(telemetry_server.link("telemetry", **PAIR))
    ready(page)
    expect(page.get_by_role("heading", name="This machine now")).to_be_visible()
    live = page.get_by_text("No GPU can be sampled here").or_(page.get_by_text("GPU 0 ·"))
    expect(live.first).to_be_visible()

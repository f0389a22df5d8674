"""A page waits until the browser asks for the picture of its first view, and no longer."""

import threading
from types import SimpleNamespace
from urllib.parse import parse_qsl, urlsplit

import pytest
from streamlit.testing.v1 import AppTest

from profiler_core.ui import drawn
from profiler_core.ui.drawn import let_browser_draw
from profiler_core.ui.routes import drawn as route
from profiler_core.ui.routes.drawn import SCOPE
from profiler_core.ui.routes.token import sign
from tests.ui.test_routes import ask


@pytest.fixture
def browser(monkeypatch):
    """A browser that does with the address of the picture what a test puts here."""
    asked = SimpleNamespace(address="", draw=lambda _query: None)

    def show(style: str) -> None:
        asked.address = style.partition("url('")[2].partition("')")[0]
        query = dict(parse_qsl(urlsplit(asked.address).query))
        threading.Thread(target=asked.draw, args=(query,)).start()

    monkeypatch.setattr(drawn, "signed", sign)
    context = SimpleNamespace(headers={"User-Agent": "a browser"})
    monkeypatch.setattr(drawn, "st", SimpleNamespace(html=show, session_state={}, context=context))
    return asked


def test_the_page_goes_on_when_the_browser_asks_for_the_picture(
    browser, home_with_columns, monkeypatch
):
    monkeypatch.setattr(drawn, "_MOST_S", 60.0)
    answers = []
    browser.draw = lambda query: answers.append(ask("/api/drawn", query))
    let_browser_draw()  # else this lasts a minute, and the test longer than the suite allows
    assert [answer.status for answer in answers] in ([], [200])  # it may still be on its way
    assert browser.address.startswith("api/drawn?token=")  # below the server, whatever its path
    assert not route._awaited


def test_it_waits_once_a_session_and_not_for_a_browser_that_does_not_tell(browser, monkeypatch):
    monkeypatch.setattr(drawn, "_MOST_S", 0.01)
    let_browser_draw()
    assert browser.address
    browser.address = ""
    let_browser_draw()
    assert not browser.address
    assert not route._awaited


def test_a_picture_is_for_whom_its_page_was_drawn(home_with_columns):
    assert ask("/api/drawn").status == 401
    assert ask("/api/drawn", {"token": sign("timeline", "a")}).status == 401
    late = ask("/api/drawn", {"token": sign(SCOPE, "a view that waits no more")})
    assert late.status == 200
    assert late.headers["content-type"] == "image/svg+xml"
    assert late.headers["cache-control"] == "no-store"


def test_nobody_is_waited_for_under_apptest(monkeypatch):
    monkeypatch.setattr(drawn, "awaited", lambda _view: pytest.fail("waits for a browser"))
    script = "from profiler_core.ui.drawn import let_browser_draw\nlet_browser_draw()"
    assert not AppTest.from_string(script).run().exception

"""The document of a page says where the server is, so that the browser asks at no wrong address."""

import pytest
from starlette.applications import Starlette
from starlette.responses import HTMLResponse, JSONResponse
from starlette.routing import Route
from starlette.testclient import TestClient

from profiler_core.ui import ahead
from profiler_core.ui.script_hints import HINTS

DOCUMENT = "<html><head><title>Ω</title></head></html>"


def ask(path: str, answer=HTMLResponse, method="GET", **more):
    routes = [Route("/{path:path}", lambda _request: answer(DOCUMENT, **more))]
    return TestClient(Starlette(routes=routes, middleware=[HINTS])).request(method, path)


@pytest.mark.parametrize("path", ["/fusion", "/modules?baseline=x"])
def test_the_document_of_a_page_names_the_folder_above_it_first_of_all(path):
    answer = ask(path)
    assert answer.text.startswith("<html><head><script>window.__streamlit={BACKEND_BASE_URL:")
    assert answer.text.endswith("<title>Ω</title></head></html>")
    assert int(answer.headers["content-length"]) == len(answer.content)


def test_so_does_it_below_a_base_path(monkeypatch):
    monkeypatch.setattr(ahead, "base_path", lambda: "/profiler")
    assert "BACKEND_BASE_URL" in ask("/profiler/fusion").text
    assert ask("/profiler").text == DOCUMENT


def test_a_page_at_the_server_s_own_address_notes_how_wide_the_window_is_alone():
    answer = ask("/")
    assert "BACKEND_BASE_URL" not in answer.text
    assert '"fusionscope_wide="+(innerWidth>=1700?1:0)' in answer.text
    assert '"fusionscope_wide="+(innerWidth>=1700?1:0)' in ask("/fusion").text


@pytest.mark.parametrize("path", ["/fusion/", "/static/js/x.js", "/fusion/_stcore/health"])
def test_other_addresses_are_answered_as_they_are(path):
    assert ask(path).text == DOCUMENT


def test_what_is_no_document_stays_as_it_is():
    assert ask("/fusion", JSONResponse).json() == DOCUMENT
    assert ask("/fusion", status_code=404).text == DOCUMENT
    assert ask("/fusion", method="HEAD").headers["content-length"] == str(len(DOCUMENT.encode()))

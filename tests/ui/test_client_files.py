"""The files of Streamlit's client are answered in front of Streamlit, and nothing else is."""

from pathlib import Path

import pytest
import streamlit
from starlette.applications import Starlette
from starlette.responses import PlainTextResponse
from starlette.routing import Route
from starlette.testclient import TestClient

from profiler_core.ui import client_files
from profiler_core.ui.client_files import CLIENT_FILES

STATIC = Path(streamlit.__file__).parent / "static" / "static"
SCRIPT = min((STATIC / "js").glob("*.js"), key=lambda path: path.stat().st_size)
BEHIND = "answered by Streamlit"


@pytest.fixture
def client() -> TestClient:
    routes = [Route("/{path:path}", lambda _: PlainTextResponse(BEHIND), methods=["GET", "POST"])]
    return TestClient(Starlette(routes=routes, middleware=[CLIENT_FILES]))


@pytest.mark.parametrize(
    ("name", "kind"),
    [("js/*.js", "javascript"), ("css/*.css", "text/css"), ("media/*.woff2", "font/woff2")],
)
def test_a_file_of_the_client_is_answered_with_its_kind_and_for_good(client, name, kind):
    path = next(STATIC.glob(name))
    response = client.get(f"/static/{path.relative_to(STATIC).as_posix()}")
    assert response.content == path.read_bytes()
    assert kind in response.headers["content-type"]
    assert response.headers["cache-control"] == "public, immutable, max-age=31536000"


@pytest.mark.parametrize(
    "path",
    ["/", "/index.html", "/static/js/none.js", "/static/js/", "/static/js/%2e%2e/%2e%2e/index.html",
     "/static/../app.py", "/app/static/icon.png"],
)  # fmt: skip
def test_all_else_is_streamlits(client, path):
    assert client.get(path).text == BEHIND


def test_parts_of_a_file_and_other_methods_are_streamlits(client):
    path = f"/static/js/{SCRIPT.name}"
    assert client.get(path, headers={"Range": "bytes=0-3"}).text == BEHIND
    assert client.post(path).text == BEHIND
    assert client.get(path).text != BEHIND


def test_a_base_path_stands_before_it(client, monkeypatch):
    monkeypatch.setattr(client_files, "base_path", lambda: "/team")
    assert client.get(f"/team/static/js/{SCRIPT.name}").content == SCRIPT.read_bytes()


def test_a_file_that_is_gone_is_streamlits_to_explain(client, monkeypatch, tmp_path):
    monkeypatch.setattr(client_files, "_files", lambda: {"/static/js/a.js": tmp_path / "a.js"})
    assert client.get("/static/js/a.js").text == BEHIND

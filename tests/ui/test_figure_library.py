"""The hint that a page will need the library of figures, which its document carries."""

import re
from pathlib import Path

import pytest
import streamlit
from starlette.applications import Starlette
from starlette.responses import HTMLResponse, JSONResponse
from starlette.routing import Route
from starlette.testclient import TestClient

from profiler_core.page_specs import page_specs
from profiler_core.ui import figure_library
from profiler_core.ui.figure_library import HINT

STATIC = Path(streamlit.__file__).parent / "static"


def links(path: str, answer=HTMLResponse) -> str | None:
    app = Starlette(
        routes=[Route("/{path:path}", lambda _request: answer("<p>"))],
        middleware=[HINT],
    )
    return TestClient(app).get(path).headers.get("link")


@pytest.mark.parametrize("path", ["/", "/overview", "/ranks", "/ranks/", "/memory?baseline=x"])
def test_the_document_of_a_page_with_figures_names_a_script_that_is_there(path):
    (script,) = re.findall(r"^</(static/js/[^>]+)>; rel=modulepreload; crossorigin$", links(path))
    assert "plotly" in (STATIC / script).read_text(encoding="utf-8")


@pytest.mark.parametrize("path", ["/timeline", "/fusion", "/nonesuch", "/static/js/ranks"])
def test_other_documents_name_none(path):
    assert links(path) is None


def test_what_is_no_document_names_none():
    assert links("/ranks", JSONResponse) is None


def test_the_script_lies_below_the_base_path(monkeypatch):
    monkeypatch.setattr(figure_library, "base_path", lambda: "/team")
    assert str(links("/team/ranks")).startswith("</team/static/js/")


def test_a_streamlit_that_names_it_otherwise_costs_only_the_hint(monkeypatch):
    monkeypatch.setattr(figure_library, "_script", lambda: None)
    assert links("/ranks") is None


def test_pages_that_draw_say_so():
    """Timeline and fusion map are drawn without Plotly; others draw on request or not at all."""
    assert {spec.name for spec in page_specs() if spec.draws_figures} == {
        "compilation", "memory", "overview", "ranks", "sweep", "telemetry",
    }  # fmt: skip

"""The document of a page names the scripts of Streamlit's client that the page will need."""

import re
from pathlib import Path

import pytest
import streamlit
from starlette.applications import Starlette
from starlette.responses import HTMLResponse, JSONResponse
from starlette.routing import Route
from starlette.testclient import TestClient

from profiler_core.page_specs import page_specs
from profiler_core.ui import ahead, script_hints
from profiler_core.ui.script_hints import HINTS

STATIC = Path(streamlit.__file__).parent / "static"
SCRIPTS = STATIC / "static" / "js"


def links(path: str, answer=HTMLResponse) -> str | None:
    app = Starlette(
        routes=[Route("/{path:path}", lambda _request: answer("<p>"))],
        middleware=[HINTS],
    )
    return TestClient(app).get(path).headers.get("link")


def scripts(path: str) -> list[str]:
    return re.findall(r"</static/js/([^>]+)>;rel=modulepreload", links(path) or "")


@pytest.mark.parametrize("path", ["/", "/overview", "/ranks", "/ranks/", "/memory?baseline=x"])
def test_the_document_of_a_page_with_figures_names_their_script_last(path):
    *others, figures = [name for name in scripts(path) if (SCRIPTS / name).stat().st_size > 2000]
    assert figures.startswith("PlotlyChart.")
    assert others


@pytest.mark.parametrize("path", ["/timeline", "/fusion", "/capture"])
def test_other_pages_name_their_elements_alone(path):
    names = scripts(path)
    assert not [name for name in names if name.startswith("PlotlyChart.")]
    for element in ("Html", "Selectbox", "Multiselect", "BidiComponent"):
        assert [name for name in names if name.startswith(f"{element}.")]


def test_all_that_a_script_imports_is_named_or_in_the_document():
    document = (STATIC / "index.html").read_text("utf-8")
    names = scripts("/")
    assert len(names) == len(set(names))
    for name in names:
        assert name not in document
        text = (SCRIPTS / name).read_text("utf-8")
        for imported in re.findall(r"""(?:from|import)["']\./([\w.-]+\.js)["']""", text):
            assert imported in names or imported in document


def test_large_scripts_of_elements_wait_for_those_of_the_document():
    """The document's start the client; the header reaches the browser before the document."""
    waiting = re.findall(r"/([^/>]+)>;rel=modulepreload;fetchpriority=low", links("/") or "")
    assert any(name.startswith("PlotlyChart.") for name in waiting)
    sizes = {name: (SCRIPTS / name).stat().st_size for name in scripts("/")}
    assert set(waiting) == {name for name, size in sizes.items() if size > 10_000}


def test_the_header_fits_into_the_buffer_of_a_proxy():
    """nginx refuses an answer whose header has more than 4 kB; others have set half of it."""
    assert len(links("/")) < 2_200


@pytest.mark.parametrize("path", ["/nonesuch", "/static/js/ranks"])
def test_other_documents_name_none(path):
    assert links(path) is None


def test_what_is_no_document_names_none():
    assert links("/ranks", JSONResponse) is None


def test_the_script_lies_below_the_base_path(monkeypatch):
    for module in (script_hints, ahead):
        monkeypatch.setattr(module, "base_path", lambda: "/team")
    assert str(links("/team/ranks")).startswith("</team/static/js/")


def test_a_streamlit_that_names_them_otherwise_costs_only_the_hint(monkeypatch, tmp_path):
    (tmp_path / "index.html").write_text("<p>")
    (tmp_path / "static" / "js").mkdir(parents=True)
    monkeypatch.setattr(script_hints, "_STATIC", tmp_path)
    script_hints._scripts.cache_clear()
    try:
        assert links("/") is None
    finally:
        script_hints._scripts.cache_clear()


def test_pages_that_draw_say_so():
    """Timeline and fusion map are drawn without Plotly; others draw on request or not at all."""
    assert {spec.name for spec in page_specs() if spec.draws_figures} == {
        "compilation", "experiments", "memory", "modules", "overview", "ranks", "sweep",
        "telemetry",
    }  # fmt: skip

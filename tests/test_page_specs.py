"""The registry of pages: a page is one file that declares itself, and nothing else lists it."""

import ast
import os
import shutil
from pathlib import Path

import pytest
from streamlit.testing.v1 import AppTest

from profiler_core import page_specs as registry
from profiler_core.cli.main import main
from profiler_core.cli.open import _page as path_of_page
from profiler_core.errors import BadInput
from profiler_core.page_specs import PageSpec, page_spec, page_specs, start_page
from profiler_core.ui.links import href, href_from_start
from tests.apps import checked, text_of

ROOT = Path(__file__).resolve().parents[1]
ENTRY = ROOT / "profiler_core" / "ui" / "entry.py"
MADE_UP = '''
"""Page: a made-up one."""

import streamlit as st

from profiler_core.page_specs import PageSpec
from profiler_core.ui.page import page

SPEC = PageSpec(
    title="Made up",
    icon=":material/star:",
    question="Is one file enough?",
    section="Look closer",
    order=125,
    needs="nothing",
    parameters=("colour",),
)

with page(SPEC):
    st.html(f"<p>It is {st.query_params.get('colour', 'grey')}.</p>")
'''


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("FUSIONSCOPE_HOME", str(tmp_path / "home"))
    return tmp_path / "home"


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A pages folder that may be written."""
    folder = tmp_path / "pages"
    shutil.copytree(ROOT / "pages", folder, ignore=shutil.ignore_patterns("__pycache__"))
    monkeypatch.setattr(registry, "pages_directory", lambda: folder)
    return folder


# --- what the pages declare ---


def test_every_page_file_declares_a_page() -> None:
    assert {spec.name for spec in page_specs()} == {p.stem for p in (ROOT / "pages").glob("*.py")}
    assert start_page().name == "overview"
    assert start_page() == page_specs()[0]


def test_no_two_pages_have_one_place_or_one_title() -> None:
    specs = page_specs()
    assert len({spec.order for spec in specs}) == len({spec.title for spec in specs}) == len(specs)


@pytest.mark.parametrize("spec", page_specs(), ids=lambda spec: spec.name)
def test_a_page_declares_each_parameter_that_a_widget_binds(spec: PageSpec) -> None:
    """As far as the name is written out where the widget is drawn."""
    bound = set()
    for file in (spec.file, *(ROOT / "profiler_core" / "ui" / spec.name).glob("*.py")):
        for node in ast.walk(ast.parse(file.read_text("utf-8"))):
            match node:
                case ast.Call(func=ast.Name(id="in_address"), args=[ast.Constant(value=name), *_]):
                    bound.add(name)
    assert bound <= set(spec.address_parameters)


# --- one more page is one more file ---


def test_a_page_of_one_file_is_in_the_menu_and_opens(home: Path, folder: Path) -> None:
    (folder / "made_up.py").write_text(MADE_UP)
    specs = page_specs()
    names = [spec.name for spec in specs]
    assert names[names.index("kernels") + 1] == "made_up"

    app = checked(AppTest.from_file(str(ENTRY), default_timeout=300).run())
    app.query_params["colour"] = "green"
    app.switch_page(os.path.relpath(folder / "made_up.py", ENTRY.parent))
    text = text_of(checked(app.run()))
    assert "Made up" in text
    assert "Is one file enough?" in text
    assert "It is green." in text


def test_it_is_linked_listed_and_opened_from_the_command_line(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (folder / "made_up.py").write_text(MADE_UP)
    assert href("made_up", {"colour": "green"}) == "made_up?colour=green"
    assert href_from_start("made_up") == "made_up"
    assert path_of_page("made_up") == "made_up"
    assert main(["docs", "pages"]) == 0
    assert "Is one file enough?" in capsys.readouterr().out


def test_a_page_that_goes_is_linked_no_more(folder: Path) -> None:
    (folder / "ranks.py").unlink()
    assert page_spec("ranks") is None
    assert href_from_start("ranks") == ""
    with pytest.raises(BadInput, match="There is no page ranks"):
        path_of_page("ranks")


def test_a_section_stands_where_its_first_page_does(folder: Path) -> None:
    (folder / "made_up.py").write_text(
        MADE_UP.replace("Look closer", "Before all else").replace("125", "100")
    )
    sections = list(dict.fromkeys(spec.section for spec in page_specs()))
    assert sections == ["", "Before all else", "Look closer", "Runs"]


def test_the_start_page_answers_at_the_root_and_leads_nowhere() -> None:
    assert href("overview") == "."
    assert path_of_page(None) == path_of_page("overview") == ""
    assert href_from_start("overview") == ""


# --- what is no declaration ---


def test_a_page_is_read_without_being_run(folder: Path) -> None:
    (folder / "made_up.py").write_text(MADE_UP + "\nraise AssertionError\n")
    assert page_spec("made_up") is not None


@pytest.mark.parametrize(
    "text",
    [
        "",
        "SPEC = 1",
        "SPEC = PageSpec(",
        'SPEC = PageSpec("Made up")',
        'SPEC = PageSpec(title="Made up")',
        MADE_UP.replace("order=125", "order=first()"),
        MADE_UP.replace("order=125", "place=125"),
    ],
)
def test_a_file_that_declares_no_page_is_named(folder: Path, text: str) -> None:
    (folder / "made_up.py").write_text(text)
    with pytest.raises(BadInput, match=r"made_up\.py declares no page"):
        page_specs()


@pytest.mark.parametrize("name", ["../pages/kernels", "kernels.py", "", "/etc/passwd", "a b"])
def test_an_address_is_no_path(name: str) -> None:
    assert page_spec(name) is None


def test_two_start_pages_are_refused(folder: Path) -> None:
    (folder / "made_up.py").write_text(
        MADE_UP.replace('needs="no', 'is_start=True,\n    needs="no')
    )
    with pytest.raises(BadInput, match="overview, made_up"):
        start_page()


def test_every_page_that_shows_runs_keeps_the_candidate_in_its_address():
    """Who signs in first is led back to no more than a page says of its address."""
    showing = [spec for spec in page_specs() if spec.has_dossier]
    assert {spec.name for spec in showing} >= {"overview", "compilation", "timeline", "memory"}
    assert all(spec.address_parameters.count("of") == 1 for spec in showing)

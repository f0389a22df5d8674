"""Which of several candidates pages tell of: `?of=2`, alike on each, kept from page to page."""

import re

import pytest
from streamlit.testing.v1 import AppTest

from tests.apps import PAGES, checked, opened, text_of

pytestmark = pytest.mark.usefixtures("home_of_module")

VARIANTS = ("eager", "default", "reduce-overhead")


def three(workload):
    runs = [f"sample/{workload}/{variant}" for variant in VARIANTS]
    return {"baseline": runs[0], "candidate": runs[1:]}


def told(app):
    return VARIANTS[1:][app.button_group(key="fs_candidate").value]


@pytest.mark.parametrize("of", [1, 2])
@pytest.mark.parametrize("page", ["overview", "modules", "memory"])
def test_each_page_tells_of_the_candidate_in_the_address(page, of):
    app = opened(page, **three("customcnn"), of=str(of))
    assert told(app) == VARIANTS[of]
    assert f"of={of}" in text_of(app) or page != "overview"


def test_links_of_the_overview_lead_on_to_the_candidate_that_was_picked():
    app = opened("overview", **three("customcnn"))
    first = told(app)
    other = 1 - VARIANTS[1:].index(first)
    checked(app.button_group(key="fs_candidate").set_value(other).run())
    assert app.query_params["of"] == str(other + 1)
    assert told(app) == VARIANTS[1:][other]
    links = re.findall(r'href="([^"]*)"', text_of(app))
    with_runs = [link for link in links if "baseline=" in link and "fusion" in link]
    assert with_runs
    assert all(f"of={other + 1}" in link for link in with_runs)


def test_earlier_links_of_the_memory_page_name_it_by_its_label():
    app = opened("memory", **three("customcnn"), beside="default")
    assert told(app) == "default"
    checked(app.button_group(key="fs_candidate").set_value(1).run())
    assert told(app) == "reduce-overhead"
    assert "beside" not in app.query_params


@pytest.mark.parametrize("of", [1, 2])
@pytest.mark.parametrize("item", ["finding:{}.recompiles", "break:{}.0", None])
def test_compilation_shows_the_run_that_the_dossier_is_of(of, item):
    """A finding of reduce-overhead opened the page of default: 1.42 s beside 1.40 s."""
    query = {"of": str(of)} if item is None else {"item": item.format(of)}
    app = opened("compilation", **three("breaky"), **query)
    assert VARIANTS[1:][app.button_group(key="fs_compiled").value] == VARIANTS[of]


def test_a_menu_link_keeps_it_and_other_runs_forget_it(tmp_path):
    script = tmp_path / "pages.py"
    script.write_text(
        "import runpy, streamlit as st\n"
        "page = st.session_state.get('page', 'modules')\n"
        f"runpy.run_path({str(PAGES)!r} + f'/{{page}}.py')\n"
    )
    app = AppTest.from_file(str(script), default_timeout=300)
    for name, value in {**three("customcnn"), "of": "1"}.items():
        app.query_params[name] = value
    assert told(checked(app.run())) == "default"
    app.session_state["page"] = "memory"
    app.query_params.clear()  # as links of the menu do
    assert told(checked(app.run())) == "default"
    assert app.query_params["of"] == "1"
    for name, value in three("breaky").items():
        app.query_params[name] = value
    app.query_params.pop("of")
    shown = told(checked(app.run()))
    assert "of" not in app.query_params
    assert shown == told(opened("memory", **three("breaky")))


@pytest.mark.parametrize("of", [1, 2])
def test_kernels_put_it_beside_the_baseline_and_speak_of_it(of):
    app = opened("kernels", **three("customcnn"), of=str(of))
    assert f"most expensive of {VARIANTS[of]} " in text_of(app)


def test_a_run_that_is_picked_on_compilation_is_told_of_everywhere():
    """It had a parameter of its own, and the next page told of another run."""
    app = opened("compilation", **three("breaky"), item="break:1.0")
    checked(app.button_group(key="fs_compiled").set_value(1).run())
    assert app.query_params["of"] == "2"
    assert "item" not in app.query_params  # a break of the other run
    assert "run" not in app.query_params
    assert "run=default" not in text_of(app)
    earlier = opened("compilation", **three("breaky"), run="default", of="2")
    assert earlier.button_group(key="fs_compiled").value == 0


def test_of_other_runs_no_dossier_and_no_candidate_stays(tmp_path):
    """ "module@2" of three runs told of another one when these were chosen in another order."""
    script = tmp_path / "page.py"
    script.write_text(
        "import runpy, streamlit as st\n"
        "from profiler_core.ui.choice import choose\n"
        "if keys := st.session_state.pop('pick', None):\n    choose(tuple(keys))\n"
        f"runpy.run_path({str(PAGES / 'modules.py')!r})\n"
    )
    runs = [f"sample/customcnn/{variant}" for variant in VARIANTS]
    app = AppTest.from_file(str(script), default_timeout=300)
    for name, value in {**three("customcnn"), "of": "2", "item": "module@2:head"}.items():
        app.query_params[name] = value
    assert told(checked(app.run())) == "reduce-overhead"
    app.session_state["pick"] = [runs[0], runs[2], runs[1]]
    checked(app.run())
    assert app.query_params["of"] == "1"  # where reduce-overhead is now
    assert app.query_params["item"] == "module:head"
    app.session_state["pick"] = three("breaky")["baseline"], *three("breaky")["candidate"]
    checked(app.run())
    assert "item" not in app.query_params
    assert "of" not in app.query_params

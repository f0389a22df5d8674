"""Values of widgets in the address, where the browser does not write them there.

AppTest has no browser, so a changed value is missing from the address just as it is where the
browser has lost the binding.
"""

import re
from pathlib import Path

import pytest
from streamlit.testing.v1 import AppTest

ROOT = Path(__file__).resolve().parents[2]


def page():
    import streamlit as st

    from profiler_core.ui.address import in_address

    st.multiselect("Many", ["a", "b", "c"], **in_address("many"))
    st.segmented_control("One", ["x", "y"], default="x", required=True, **in_address("one", "x"))
    st.selectbox("Listed", ["all", "some"], **in_address("listed", "all"))
    st.selectbox("Nobody", ["p", "q"], index=None, **in_address("nobody"))
    st.text_input("Words", **in_address("words"))


def opened(**query):
    app = AppTest.from_function(page)
    for name, value in query.items():
        app.query_params[name] = value
    return looked_at(app.run())


def looked_at(app):
    assert not app.exception
    return app


def values(app):
    return (
        app.multiselect(key="many").value,
        app.button_group(key="one").value,
        app.selectbox(key="listed").value,
        app.selectbox(key="nobody").value,
        app.text_input(key="words").value,
    )


def change_all(app):
    app.multiselect(key="many").set_value(["c", "a"])
    app.button_group(key="one").set_value("y")
    app.selectbox(key="listed").set_value("some")
    app.selectbox(key="nobody").set_value("q")
    app.text_input(key="words").set_value("a b&c")
    return looked_at(app.run())


CHANGED = {
    "many": ["c", "a"],
    "one": ["y"],
    "listed": ["some"],
    "nobody": ["q"],
    "words": ["a b&c"],
}


def in_url(app):
    found = app.query_params
    return {key: [v] if isinstance(v := found[key], str) else list(v) for key in found}


def test_defaults_are_left_out():
    assert in_url(opened()) == {}


def test_a_change_that_the_browser_left_out_is_written_in_the_same_run():
    assert in_url(change_all(opened())) == CHANGED


def test_one_change_leaves_the_others_where_they_are():
    app = change_all(opened())
    app.text_input(key="words").set_value("d")
    assert in_url(looked_at(app.run())) == {**CHANGED, "words": ["d"]}


def test_back_to_the_default_takes_it_out_again():
    app = change_all(opened())
    app.multiselect(key="many").set_value([])
    app.button_group(key="one").set_value("x")
    app.selectbox(key="listed").set_value("all")
    app.selectbox(key="nobody").set_value(None)
    app.text_input(key="words").set_value("")
    assert in_url(looked_at(app.run())) == {}


def test_a_link_sets_the_widgets():
    app = opened(**CHANGED)
    assert values(app) == (["c", "a"], "y", "some", "q", "a b&c")
    assert in_url(app) == CHANGED
    assert values(looked_at(app.run())) == (["c", "a"], "y", "some", "q", "a b&c")


def test_what_is_no_option_is_ignored():
    app = opened(many=["b", "nothing"], one="<b>", listed="", nobody="nobody")
    assert values(app) == (["b"], "x", "all", None, "")
    assert in_url(app) == {"many": ["b"]}


@pytest.mark.parametrize("part", ["profiler_core/ui", "pages"])
def test_every_bound_widget_is_bound_in_this_way(part):
    others = [
        file
        for file in (ROOT / part).rglob("*.py")
        if re.search(r"bind=", file.read_text()) and file.name != "address.py"
    ]
    assert others == []

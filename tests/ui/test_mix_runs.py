"""The form that puts runs of different captures together."""

from dataclasses import replace

from streamlit.testing.v1 import AppTest

from profiler_core.store.catalogue import LineOfRun
from profiler_core.ui.runs import mix_runs
from tests.everything import comparisons


def form() -> None:
    from profiler_core.ui.runs.mix_runs import mix_runs

    mix_runs()


def the_form(tmp_path, monkeypatch):
    monkeypatch.setenv("FUSIONSCOPE_HOME", str(tmp_path))
    app = AppTest.from_function(form, default_timeout=300).run()
    assert not app.exception
    return app


def test_a_choice_of_a_baseline_leaves_the_candidates_as_they_are(tmp_path, monkeypatch):
    app = the_form(tmp_path, monkeypatch)
    first, second, *_ = (entry.key for group in comparisons() for entry in group.entries)
    assert app.button[0].disabled
    app.multiselect[0].set_value([second]).run()
    assert app.button[0].disabled
    app.selectbox[0].set_value(first).run()
    assert app.multiselect[0].value == [second]
    assert not app.button[0].disabled


def test_a_run_that_comes_meanwhile_leaves_the_choice_as_it_is(tmp_path, monkeypatch):
    app = the_form(tmp_path, monkeypatch)
    lines = mix_runs.offered_lines()
    first, second = lines[0].runs[0].key, lines[1].runs[0].key
    app.selectbox[0].set_value(first).run()
    app.multiselect[0].set_value([second]).run()
    run = LineOfRun("run/new/eager", "eager", "eager", "new")
    new = replace(lines[0], key="run/new", runs=(run,))
    monkeypatch.setattr(mix_runs, "offered_lines", lambda: (new, *lines))
    app.run()
    assert len(app.selectbox[0].options) == 1 + sum(len(line.runs) for line in lines)
    assert (app.selectbox[0].value, app.multiselect[0].value) == (first, [second])
    assert not app.button[0].disabled


def test_a_run_is_not_compared_with_itself(tmp_path, monkeypatch):
    app = the_form(tmp_path, monkeypatch)
    key = comparisons()[0].baseline.key
    app.multiselect[0].set_value([key]).run()
    app.selectbox[0].set_value(key).run()
    assert app.button[0].disabled

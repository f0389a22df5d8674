"""The form that puts runs of different captures together."""

from streamlit.testing.v1 import AppTest

from tests.everything import comparisons


def form() -> None:
    from profiler_core.ui.runs.mix_runs import mix_runs

    mix_runs()


def the_form(tmp_path, monkeypatch):
    monkeypatch.setenv("FUSIONSCOPE_HOME", str(tmp_path))
    app = AppTest.from_function(form, default_timeout=60).run()
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


def test_a_run_is_not_compared_with_itself(tmp_path, monkeypatch):
    app = the_form(tmp_path, monkeypatch)
    key = comparisons()[0].baseline.key
    app.multiselect[0].set_value([key]).run()
    app.selectbox[0].set_value(key).run()
    assert app.button[0].disabled

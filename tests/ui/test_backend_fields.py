"""The capture page asks for the options of a backend once that backend is chosen."""

import pytest

from tests.apps import checked, opened, text_of


@pytest.fixture
def page(tmp_path, monkeypatch):
    monkeypatch.setenv("FUSIONSCOPE_HOME", str(tmp_path))
    return opened("capture")


def options(app):
    return [field for field in app.text_input if field.label.startswith("Options of ")]


def test_each_backend_that_takes_options_has_a_field(page):
    assert options(page) == []
    further = next(one for one in page.multiselect if one.label == "Further backends")
    checked(further.set_value(["openvino", "aot_eager"]).run())
    (field,) = options(page)
    assert field.label == "Options of openvino"
    assert "config.NAME=f32" in field.help
    checked(field.set_value("config.INFERENCE_PRECISION_HINT=f32").run())
    shown = "\n".join(str(one.value) for one in page.code)
    assert "openvino+config.INFERENCE_PRECISION_HINT=f32" in shown


def test_a_misspelt_option_is_said_on_the_page(page):
    further = next(one for one in page.multiselect if one.label == "Further backends")
    checked(further.set_value(["openvino"]).run())
    checked(options(page)[0].set_value("devise=CPU").run())
    assert "option devise, which it does not know" in text_of(page)

"""The field of page Capture that chooses another machine."""

from pathlib import Path

import pytest

from profiler_core.door import deeds
from tests.apps import checked, opened, text_of


@pytest.fixture(autouse=True)
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("FUSIONSCOPE_HOME", str(tmp_path))
    (tmp_path / "settings.toml").write_text(
        '[hosts.gpu-box]\nssh = "ada@gpu"\npython = "/opt/torch"\n'
    )
    return tmp_path


def test_a_machine_is_chosen_and_captured_on(monkeypatch: pytest.MonkeyPatch) -> None:
    started: list[tuple[object, ...]] = []

    def start(*asked: object) -> str:
        started.append(asked)
        raise deeds.Refused("seen", remedy="stop here")

    monkeypatch.setattr(deeds, "start_capture", start)
    app = opened("capture")
    (field,) = [box for box in app.selectbox if box.key == "fs_c_host"]
    assert field.options == ["gpu-box"] and field.value is None
    assert "--host" not in app.code[-1].value
    checked(field.select("gpu-box").run())
    assert "--host=gpu-box" in app.code[-1].value
    assert "Runs on **gpu-box**, with `/opt/torch` there" in text_of(app)
    (button,) = [button for button in app.button if button.label == "Start capture"]
    button.click().run()
    (asked,) = started
    assert asked[2] == "gpu-box"

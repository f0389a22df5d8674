"""The form of page Runs that has an inference server profiled."""

from pathlib import Path

import pytest

from profiler_core.ui.runs import profile_server as form
from tests.apps import opened


@pytest.fixture(autouse=True)
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("FUSIONSCOPE_HOME", str(tmp_path))
    (tmp_path / "settings.toml").write_text(
        '[servers.chat]\nurl = "http://gpu:8000"\ntraces = "/traces"\n'
    )
    return tmp_path


def test_a_named_server_is_profiled_and_jobs_are_shown(monkeypatch: pytest.MonkeyPatch) -> None:
    started: list[tuple[object, ...]] = []
    went: list[str] = []
    monkeypatch.setattr(
        form, "start_server_profile", lambda _who, *asked: started.append(asked) or "job"
    )
    monkeypatch.setattr(form, "go_to", went.append)
    app = opened("runs")
    (field,) = [box for box in app.selectbox if box.label == "Server"]
    assert field.options == ["chat"]
    field.select("chat")
    (seconds,) = [number for number in app.number_input if number.label == "Seconds"]
    seconds.set_value(3.0)
    (button,) = [button for button in app.button if button.label == "Profile it"]
    button.click().run()
    assert not app.exception
    assert started == [("chat", "", 3.0)]
    assert went == ["jobs"]


def test_a_wrong_address_is_said_on_the_page() -> None:
    app = opened("runs")
    (traces,) = [t for t in app.text_input if t.label == "Where it writes its traces"]
    traces.set_value("/tmp")
    (button,) = [button for button in app.button if button.label == "Profile it"]
    button.click().run()
    assert not app.exception
    assert any("no address of a server" in str(h.value if hasattr(h, "value") else h.proto.body)
               for h in (*app.get("html"), *app.markdown))  # fmt: skip

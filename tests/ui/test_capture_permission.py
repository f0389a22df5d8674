"""Who may start a capture: whoever sits at the machine, else only if switched on and signed in."""

from pathlib import Path

import pytest

from profiler_core.ui.capture import permission as capture_permission


@pytest.fixture(autouse=True)
def own_home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("FUSIONSCOPE_HOME", str(tmp_path))
    return tmp_path


@pytest.mark.parametrize(
    ("is_local", "is_allowed", "who", "words"),
    [
        (True, False, None, None),
        (False, False, "ada@example.org", "switched off"),
        (False, True, None, "sign in first"),
        (False, True, "ada@example.org", None),
    ],
)
def test_who_may_capture(
    own_home: Path,
    monkeypatch: pytest.MonkeyPatch,
    is_local: bool,
    is_allowed: bool,
    who: str | None,
    words: str | None,
) -> None:
    if is_allowed:
        (own_home / "settings.toml").write_text("allow_capture = true\n")
    monkeypatch.setattr(capture_permission, "is_local_server", lambda: is_local)
    monkeypatch.setattr(capture_permission, "signed_in_as", lambda: who)
    refusal = capture_permission.why_no_capture()
    assert refusal is None if words is None else refusal is not None and words in refusal

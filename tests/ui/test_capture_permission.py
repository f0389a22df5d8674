"""Who may start a capture: whoever sits at the machine, else only if switched on and signed in."""

from pathlib import Path

import pytest

from profiler_core.door.asker import why_no_capture
from profiler_core.ui.sign_in.asker import asker


@pytest.fixture(autouse=True)
def own_home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("FUSIONSCOPE_HOME", str(tmp_path))
    return tmp_path


TEAM = """
[team]
viewers = ["*@example.org"]
runners = ["ada@example.org"]
"""


def claims(address: str | None) -> dict[str, object]:
    """What st.user says of somebody, or of nobody."""
    if address is None:
        return {"is_logged_in": False}
    return {
        "is_logged_in": True, "iss": "https://accounts.example.org", "sub": address,
        "email": address, "email_verified": True, "iat": 1,
    }  # fmt: skip


@pytest.mark.parametrize(
    ("is_local", "is_allowed", "is_team", "who", "words"),
    [
        (True, False, False, None, None),
        (False, False, False, None, "switched off"),
        (False, True, False, None, "does not know who you are"),
        (True, True, True, None, "sign in first"),  # a proxy may stand before a local address
        (True, False, True, "ada@example.org", "switched off"),
        (True, True, True, "bob@example.org", "role here is viewer"),
        (True, True, True, "eve@elsewhere.org", "role here is none"),
        (True, True, True, "ada@example.org", None),
        (False, True, True, "ada@example.org", None),
    ],
)
def test_who_may_capture(
    own_home: Path,
    monkeypatch: pytest.MonkeyPatch,
    is_local: bool,
    is_allowed: bool,
    is_team: bool,
    who: str | None,
    words: str | None,
) -> None:
    text = "allow_capture = true\n" if is_allowed else ""
    (own_home / "settings.toml").write_text(text + (TEAM if is_team else ""))
    monkeypatch.setattr("profiler_core.ui.sign_in.visitor.st.user", FakeUser(claims(who)))
    monkeypatch.setattr(
        "profiler_core.ui.server.config.get_option",
        lambda name: {"server.address": "localhost" if is_local else "0.0.0.0"}.get(name, []),
    )
    refusal = why_no_capture(asker())
    assert refusal is None if words is None else refusal is not None and words in refusal


class FakeUser(dict):
    """st.user outside of a script run."""

    @property
    def is_logged_in(self) -> bool:
        return self["is_logged_in"]

    def to_dict(self) -> dict[str, object]:
        return dict(self)

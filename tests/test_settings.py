"""The owner's decisions: read anew each time, and never guessed."""

from pathlib import Path

import pytest

from profiler_core.errors import BadInput
from profiler_core.settings import FILE, Settings, settings


@pytest.fixture
def file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("FUSIONSCOPE_HOME", str(tmp_path))
    return tmp_path / FILE


def test_nothing_decided(file: Path) -> None:
    assert not file.exists()
    assert settings() == Settings(
        allow_capture=False, open_below=None, largest_upload_bytes=8_000_000_000
    )


def test_a_change_holds_at_once(file: Path) -> None:
    file.write_text(
        'allow_capture = true\nopen_below = ["/data", "~/x"]\nlargest_upload_gb = 0.5\n'
    )
    assert settings() == Settings(
        allow_capture=True,
        open_below=(Path("/data"), Path.home() / "x"),
        largest_upload_bytes=500_000_000,
    )
    file.write_text("open_below = []")
    assert settings() == Settings(open_below=())


@pytest.mark.parametrize(
    "text", ["allow_capture = yes", 'allow_capture = "yes"', "allow_captures = true", "\xff"]
)
def test_what_cannot_be_understood_is_said_and_not_guessed(file: Path, text: str) -> None:
    file.write_bytes(text.encode("latin-1"))
    with pytest.raises(BadInput, match=FILE):
        settings()

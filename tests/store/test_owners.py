"""Whose an upload is, and how much of the disk a person's uploads take."""

from pathlib import Path

import pytest

from profiler_core.owner_file import owner_of, write_owner
from profiler_core.store import uploads
from profiler_core.store.owners import room_left, used_bytes
from tests.store.history.samples import SAMPLES
from tests.uploading import drop


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("FUSIONSCOPE_HOME", str(tmp_path))
    return tmp_path


def uploaded(home: Path, name: str, person: str, n_bytes: int) -> None:
    folder = home / "uploads" / name / "1"
    folder.mkdir(parents=True)
    (folder / "trace.json").write_bytes(b"x" * n_bytes)
    write_owner(folder.parent, person)


def test_each_persons_uploads_are_added_up(home: Path) -> None:
    assert used_bytes("ada") == 0
    uploaded(home, "u1", "ada", 1000)
    uploaded(home, "u2", "ada", 500)
    uploaded(home, "u3", "bob", 7000)
    owner = len((home / "uploads" / "u1" / "owner.json").read_bytes())
    assert used_bytes("ada") == 1500 + 2 * owner


def test_without_a_quota_nobody_is_counted(home: Path) -> None:
    uploaded(home, "u1", "ada", 1000)
    assert room_left("ada") is None
    (home / "settings.toml").write_text("upload_quota_gb = 0.000003")  # 3000 bytes
    assert room_left("bob") == 3000
    assert 1900 < (room_left("ada") or 0) < 2000
    uploaded(home, "u2", "ada", 5000)
    assert room_left("ada") == 0


def test_nobody_owns_what_nobody_signed(home: Path) -> None:
    folder = home / "uploads" / "u"
    folder.mkdir(parents=True)
    assert owner_of(folder) is None
    (folder / "owner.json").write_text("[damaged")
    assert owner_of(folder) is None


def test_an_upload_gets_its_owner_with_its_runs(home: Path) -> None:
    trace = (SAMPLES / "breaky" / "eager" / "trace.json.gz").read_bytes()
    upload_id, numbers = drop({"trace.json.gz": trace})
    uploads.accept(upload_id, numbers, lambda *_: None, "ada@example.org")
    assert owner_of(home / "uploads" / upload_id) == "ada@example.org"

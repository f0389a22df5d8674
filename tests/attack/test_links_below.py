"""Whoever can write below a folder of `open_below` has the server read no file of its own."""

import os
from pathlib import Path

import pytest

from profiler_core.errors import BadInput
from profiler_core.settings import settings
from profiler_core.store import library, server_path
from profiler_core.ui.runs.open_path import _keys
from tests.attack.conftest import TEAM, Server

RECORD = '{"schema_version": 1, "name": "x", "run_id": "x"}'


@pytest.fixture
def shared(server: Server, home: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder that others write to; what lies there is theirs."""
    folder = tmp_path / "shared"
    folder.mkdir()
    server.is_at("127.0.0.1", f'open_below = ["{folder}"]\n{TEAM}')
    monkeypatch.setattr(os, "geteuid", lambda: os.getuid() + 1)
    assert settings().open_below == (folder,)
    return folder


def run_in(folder: Path, name: str = "run") -> Path:
    run = folder / name
    run.mkdir(parents=True)
    (run / "run.json").write_text(RECORD)
    return run


@pytest.mark.parametrize("link", ["stdout.txt", "torch_trace", "ranks/1/torch_logs.txt"])
def test_a_link_out_of_the_folder_is_not_opened(shared: Path, home: Path, link: str) -> None:
    path = run_in(shared) / link
    path.parent.mkdir(parents=True, exist_ok=True)
    path.symlink_to(home if link == "torch_trace" else home / "settings.toml")
    allowed = server_path.roots(is_local=False)
    with pytest.raises(BadInput, match="leads out of the folders"):
        library.entry(library.key_of_path(shared / "run"), allowed=allowed)
    with pytest.raises(BadInput, match="leads out of the folders"):
        _keys(str(shared), allowed)


def test_a_run_that_is_a_link_itself_is_not_opened(shared: Path, home: Path) -> None:
    run_in(shared)
    (shared / "other").symlink_to(run_in(home, "secret"))
    with pytest.raises(BadInput, match="may not be opened"):
        _keys(str(shared), server_path.roots(is_local=False))


def test_links_within_and_ones_own_are_followed(
    shared: Path, home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    run = run_in(shared)
    (run / "stdout.txt").symlink_to(shared / "run" / "run.json")
    allowed = server_path.roots(is_local=False)
    assert library.entry(library.key_of_path(run), allowed=allowed).path == run
    monkeypatch.setattr(os, "geteuid", os.getuid)
    (run / "torch_logs.txt").symlink_to(home / "settings.toml")
    assert library.entry(library.key_of_path(run), allowed=allowed).path == run

"""`open_below` may name a folder in which the server's home lies; nothing of that opens by a path.

What lies in the trash, what was received and not opened, what jobs made and printed: each of these
is somebody's alone.
"""

import os
import shutil
from pathlib import Path

import pytest

from profiler_core import guarded_open
from profiler_core.errors import BadInput, FusionscopeError
from profiler_core.guarded_open import open_guarded
from profiler_core.store import history, library, server_path
from profiler_core.ui.runs.open_path import _keys
from tests.attack.api import person_of
from tests.attack.conftest import RUNNER, TEAM, VIEWER, Server
from tests.store.history.samples import SAMPLES, redated_copy

TRACE = SAMPLES / "breaky" / "default" / "trace.json.gz"


@pytest.fixture
def private(server: Server, home: Path) -> list[Path]:
    """What the pages show to one person each, and a home in a folder that may be opened."""
    server.is_at("127.0.0.1", f'open_below = ["{home.parent}"]\n{TEAM}', VIEWER)
    history.record(redated_copy(home, "c1", whole=True), person=person_of(RUNNER))
    history.delete_run("c1.default", person=person_of(RUNNER))
    received = home / "uploads" / ".incoming" / "20260102-030405-00000000" / "0.data"
    made = home / "jobs" / "20260102-030405-000000" / "export.json.gz"
    for copy in (received, made):
        copy.parent.mkdir(parents=True)
        shutil.copy(TRACE, copy)
    (deleted,) = (home / "runs").glob(".trash/*/c1/default")
    printed = made.with_name("log.txt")
    shutil.copy(SAMPLES / "breaky" / "default" / "torch_logs.txt", printed)
    return [deleted, deleted / TRACE.name, deleted.parent, received, made, printed]


def test_nothing_of_the_home_is_opened(private: list[Path], home: Path) -> None:
    allowed = server_path.roots(is_local=False)
    asked = [*private, home / "settings.toml", home / "runs", home, home.parent]
    for path in (*asked, *(path.with_name("none") for path in private)):
        for ask in (
            lambda path=path: _keys(str(path), allowed),
            lambda path=path: library.entry(library.key_of_path(path), allowed=allowed),
        ):
            with pytest.raises(BadInput, match="may not be opened") as refused:
                ask()
            assert refused.value.problem == f"{path} may not be opened."  # as anywhere else


def test_nor_by_a_link_of_somebody_else(
    private: list[Path], home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    run = home.parent / "somebodys" / "run"
    run.mkdir(parents=True)
    (run / "trace.json.gz").symlink_to(private[1])
    monkeypatch.setattr(os, "geteuid", lambda: os.getuid() + 1)
    allowed = server_path.roots(is_local=False)
    with pytest.raises(BadInput, match="leads out of the folders"):
        library.entry(library.key_of_path(run), allowed=allowed)
    if guarded_open.shared_roots():  # put there after it was looked at
        with pytest.raises(PermissionError), open_guarded(run / "trace.json.gz"):
            pass


def test_what_lies_beside_the_home_or_was_named_in_it_is_opened(
    private: list[Path], server: Server, home: Path
) -> None:
    for folder in (home.parent / "traces", home / "traces"):
        folder.mkdir()
        shutil.copy(TRACE, folder)
        server.is_at("127.0.0.1", f'open_below = ["{home.parent}", "{folder}"]\n{TEAM}', VIEWER)
        allowed = server_path.roots(is_local=False)
        assert len(_keys(str(folder / TRACE.name), allowed)) == 1


def test_on_ones_own_machine_all_is_ones_own(
    private: list[Path], server: Server, home: Path
) -> None:
    server.is_at("127.0.0.1", f'open_below = ["{home.parent}"]\n')
    allowed = server_path.roots(is_local=True)
    opened = [path for path in private if path.suffix != ".txt"]
    try:
        assert all(_keys(str(path), allowed) for path in opened)
    except FusionscopeError as error:
        raise AssertionError(error.problem) from error

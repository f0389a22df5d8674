"""A server whose home is moved away or unmounted says so, writes nothing, and goes on later."""

import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from profiler_core import home as homes
from profiler_core.home import HomeAway, claim_home, home_directory
from profiler_core.jobs.directory import queue_lock
from profiler_core.store import catalogue
from profiler_core.worker.environment import child_environment
from tests.attack.servers import Dashboard, dashboard

_WITHIN_S = 20.0
_WORKS_S = 3.0  # what it looks after by itself comes round


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("FUSIONSCOPE_HOME", str(tmp_path / "home"))
    monkeypatch.setenv("FUSIONSCOPE_CLAIMED_HOME", "")  # as it is put back after the test
    return tmp_path / "home"


def moved(home: Path) -> Path:
    return home.rename(home.with_name("moved"))


def unmounted(home: Path) -> Path:
    """Its folder is there, and empty."""
    away = moved(home)
    home.mkdir()
    return away


@pytest.mark.parametrize("leave", [moved, unmounted])
def test_nothing_is_made_where_the_home_was(
    home: Path, leave: Callable[[Path], Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    claim_home()
    away = leave(home)
    for write in (
        lambda: queue_lock(homes.jobs_directory()).__enter__(),
        lambda: catalogue.refresh(everything=True),
        claim_home,  # a worker that is started again
    ):
        with pytest.raises(HomeAway, match="moved away"):
            write()
    assert not home.exists() or not list(home.iterdir())
    if home.exists():
        home.rmdir()
    away.rename(home)
    assert home_directory() == home


def test_what_a_server_starts_has_its_home_or_none(
    home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    claim_home()
    environment = child_environment()
    assert environment["FUSIONSCOPE_CLAIMED_HOME"] == str(home)
    monkeypatch.setenv("FUSIONSCOPE_HOME", str(home.with_name("of another user")))
    assert home_directory() == home.with_name("of another user")


def test_who_is_no_server_begins_a_home_as_ever(home: Path) -> None:
    assert home_directory() == home
    assert not home.exists()


@pytest.fixture
def server(tmp_path: Path) -> Iterator[Dashboard]:
    with dashboard(tmp_path / "server", tmp_path / "home") as running:
        yield running


@pytest.mark.parametrize("leave", [moved, unmounted])
def test_a_server_is_not_ready_until_its_home_is_back(
    server: Dashboard, leave: Callable[[Path], Path]
) -> None:
    assert becomes(server, 200)
    away = leave(server.home)
    assert becomes(server, 503)
    for path in ("/", "/runs", "/api/runs", "/api/timeline/view"):
        answer = server.ask(path)
        assert (answer.status, "is away" in answer.body) == (503, True), (path, answer.body)
        assert str(server.home) not in answer.body
    assert server.ask("/api/health").status == 200
    assert server.ask("/api/metrics").status in (401, 404, 503)
    assert f"{server.home} was moved away" in server.log.read_text()
    time.sleep(_WORKS_S)
    assert not server.home.exists() or not list(server.home.iterdir())
    if server.home.exists():
        server.home.rmdir()
    away.rename(server.home)
    assert becomes(server, 200)


def becomes(server: Dashboard, status: int) -> bool:
    deadline = time.monotonic() + _WITHIN_S
    while time.monotonic() < deadline:
        if server.ask("/api/ready").status == status:
            return True
        time.sleep(0.5)
    return False

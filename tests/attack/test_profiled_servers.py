"""The server asks no address for somebody that its owner did not list."""

import shutil
import time
from pathlib import Path
from types import SimpleNamespace

import pytest

from profiler_core.capture.elsewhere.profiler_route import ProfiledServer
from profiler_core.cli import server_profile
from profiler_core.door.asker import Asker, Refused
from profiler_core.door.servers import start_server_profile
from profiler_core.errors import BadInput
from profiler_core.jobs import service as jobs
from profiler_core.jobs.room import KEEP_FREE_BYTES
from profiler_core.store import history, library
from profiler_core.store.uploads import Accepted
from profiler_core.ui.sign_in.asker import asker
from tests.attack.conftest import RUNNER, TEAM, VIEWER, Server
from tests.inference_server import running

ALLOWED = "allow_capture = true\n"
WITHIN_S = 240.0


@pytest.mark.parametrize(
    ("name", "traces"),
    [
        ("http://169.254.169.254", "/tmp"),
        ("http://127.0.0.1:5432/", "/etc"),
        ("file:///etc/passwd", ""),
        ("chat/../x", ""),
        ("chat", "/etc"),  # the listed server, and a folder of one's own choice
        ("chat", "eve@other:/x"),
        ("", ""),
    ],
)
def test_a_runner_has_nothing_asked_but_what_is_listed(
    server: Server, tmp_path: Path, name: str, traces: str
) -> None:
    with running("vllm", tmp_path) as chat:
        listed = f'[servers.chat]\nurl = "{chat.url}"\ntraces = "{tmp_path}"\n'
        server.is_at("127.0.0.1", ALLOWED + listed + TEAM, RUNNER)
        with pytest.raises(Refused, match="may not be profiled from here"):
            start_server_profile(asker(), name, traces, 1.0)
        server.is_at("127.0.0.1", ALLOWED + listed + TEAM, VIEWER)
        with pytest.raises(Refused, match="role here is viewer"):
            start_server_profile(asker(), "chat", "", 1.0)
        assert chat.asked == []
    assert (jobs.jobs(), history.entries()) == ((), ())


def test_a_listed_server_is_profiled_by_a_job(
    server: Server, home: Path, tmp_path: Path, columns: Path
) -> None:
    (home / "cache").symlink_to(columns)
    (tmp_path / "traces").mkdir()
    with running("vllm", tmp_path / "traces") as chat:
        listed = f'[servers.chat]\nurl = "{chat.url}"\ntraces = "{tmp_path / "traces"}"\n'
        server.is_at("127.0.0.1", ALLOWED + listed + TEAM, RUNNER)
        who = asker()
        assert who is not None
        job_id = start_server_profile(who, "chat", "", 0.1)
        deadline = time.monotonic() + WITHIN_S
        while jobs.job(job_id).is_live:
            assert time.monotonic() < deadline
            time.sleep(0.1)
        assert [path for path, _ in chat.asked] == ["/start_profile", "/stop_profile"]
    (key,) = jobs.result(job_id, Accepted).keys
    assert library.entry(key).is_readable
    (entry,) = history.entries()
    assert entry.action == "profile server" and entry.subject == "chat"


def test_on_ones_own_machine_any_address_that_is_one(home: Path) -> None:
    me = Asker("me", deeds=("look", "capture", "upload"), is_own_machine=True)
    for name, traces, seconds, words in (
        ("file:///etc", "/tmp", 1.0, "no address of a server"),
        ("http://localhost:1", "", 1.0, "not said where"),
        ("http://localhost:1", "/tmp", 1e9, "up to 600 s"),
    ):
        with pytest.raises(BadInput) as raised:
            start_server_profile(me, name, traces, seconds)
        assert words in str(raised.value)
    agent = Asker("me", deeds=("look", "capture"), is_own_machine=True, is_agent=True)
    with pytest.raises(Refused):
        start_server_profile(agent, "http://localhost:1", "/tmp", 1.0)
    assert jobs.jobs() == ()


def test_who_has_no_room_left_has_nothing_fetched(
    server: Server, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    listed = f'[servers.chat]\nurl = "http://localhost:1"\ntraces = "{tmp_path}"\n'
    server.is_at("127.0.0.1", ALLOWED + listed + TEAM, RUNNER)
    monkeypatch.setattr("profiler_core.door.servers.room_left", lambda _: 0)
    with pytest.raises(Refused, match="all the room"):
        start_server_profile(asker(), "chat", "", 1.0)
    assert (jobs.jobs(), history.entries()) == ((), ())


def test_traces_that_a_persons_room_or_the_disk_does_not_hold_stay_where_they_are(
    home: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(server_profile, "_LOOK_EVERY_S", 0.05)
    traces = tmp_path / "traces"
    traces.mkdir()
    with running("vllm", traces) as chat:
        wish = server_profile.Wish(ProfiledServer(chat.url), str(traces), 0.1, {})
        monkeypatch.setattr(server_profile, "room_left", lambda _: 10)
        with pytest.raises(BadInput, match="your uploads may take 10 B more"):
            server_profile.profile(wish, print, lambda: False, owner="ada")
        free = KEEP_FREE_BYTES + 1_000
        monkeypatch.setattr(shutil, "disk_usage", lambda _: SimpleNamespace(free=free))
        with pytest.raises(BadInput, match="the disk here has no room"):
            server_profile.profile(wish, print, lambda: False, owner="ada")
    assert len(list(traces.glob("dp0*"))) == 1
    assert list(home.glob("uploads/*")) == []

"""A server's files are its user's alone: uploads hold other people's models."""

import errno
import http.client
import os
import stat
from pathlib import Path

import pytest

from profiler_core.store import incoming
from profiler_core.store.private_file import write_private
from profiler_core.ui.own_machine.cookie import cookie_name, new_cookie
from profiler_core.ui.routes.token import sign
from profiler_core.ui.security_headers import HEADERS
from tests.attack.servers import Dashboard, dashboard

TRACE = Path(__file__).resolve().parents[1] / "fixtures" / "kineto" / "plain.json"


@pytest.fixture(scope="module")
def server(tmp_path_factory):
    home = tmp_path_factory.mktemp("home")
    home.chmod(0o755)
    before = os.umask(0o022)  # most people's
    try:
        with dashboard(tmp_path_factory.mktemp("server"), home) as running:
            yield running
    finally:
        os.umask(before)


def _upload(server: Dashboard, upload_id: str) -> int:
    connection = http.client.HTTPConnection("localhost", server.port, timeout=120)
    headers = {
        "Cookie": f"{cookie_name()}={new_cookie()}",
        "Origin": f"http://localhost:{server.port}",
        "X-Fusionscope-Token": sign("upload", upload_id),
    }
    try:
        connection.request("PUT", "/api/upload/0?name=a.json", TRACE.read_bytes(), headers)
        return connection.getresponse().status
    finally:
        connection.close()


def test_what_it_writes_nobody_else_reads(server: Dashboard, monkeypatch):
    monkeypatch.setenv("FUSIONSCOPE_HOME", str(server.home))
    upload_id = "20260101-000000-00000000"
    assert server.ask("/api/ready").status == 200  # the history and the cache are made
    part = incoming.part_path(upload_id, 0)
    written_before = set(server.home.rglob("*"))
    assert _upload(server, upload_id) == 200
    assert part.with_suffix(".data").is_file()
    assert stat.S_IMODE(server.home.stat().st_mode) == 0o700
    open_to_others = [
        path
        for path in server.home.rglob("*")
        if path.lstat().st_mode & 0o077
        and not path.is_symlink()
        and path not in {part.parent, *part.parent.parents} & written_before  # made by this test
    ]
    assert open_to_others == []


def test_each_of_its_answers_has_the_headers(server: Dashboard):
    for path in ("/", "/_stcore/health", "/api/health", "/api/ready", "/static/index.html"):
        answer = server.ask(path, X_Forwarded_Proto="https")
        assert {name.lower() for name in HEADERS} <= set(answer.headers), path
        assert "strict-transport-security" in answer.headers


def test_a_full_disk_leaves_nothing_beside_a_private_file(tmp_path, monkeypatch):
    """A restore that begins on a full disk was kept from going on by what the first try left."""

    def full(*_: object) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(Path, "replace", full)
    with pytest.raises(OSError, match="No space"):
        write_private(tmp_path / "secret", b"content")
    assert list(tmp_path.iterdir()) == []

"""What an archive unpacks to counts: an upload of kilobytes may hold gigabytes of zeros."""

import shutil
from pathlib import Path
from types import SimpleNamespace

import pytest

from profiler_core.errors import BadInput
from profiler_core.home import uploads_directory
from profiler_core.jobs.room import KEEP_FREE_BYTES
from profiler_core.store.owners import used_bytes
from tests.attack.api import call, person_of, token_of, zip_of
from tests.attack.conftest import RUNNER, TEAM, Server
from tests.uploading import accept

pytestmark = pytest.mark.usefixtures("quick_modules")

RUN = b'{"schema_version": 1, "run_id": "zeros", "status": "finished"}'
QUOTA = 1_000_000  # bytes


@pytest.fixture
def token(server: Server) -> str:
    server.is_at("127.0.0.1", f"upload_quota_gb = {QUOTA / 1e9}\n{TEAM}")
    return token_of(RUNNER, "upload")


def test_what_is_packed_does_not_pass_the_quota(token: str, home: Path) -> None:
    files = {"a/run.json": RUN, "a/torch_logs.txt": bytes(20 * QUOTA)}
    answer = call("POST", "/api/runs", token, zip_of(files), name="a.zip")
    assert answer.status == 422
    assert "that your uploads may still take on this server" in answer.problem
    assert used_bytes(person_of(RUNNER)) == 0
    smaller = {**files, "a/torch_logs.txt": bytes(QUOTA // 2)}
    answer = call("POST", "/api/runs", token, zip_of(smaller), name="a.zip")
    assert answer.status == 200, answer.body
    assert QUOTA // 2 < used_bytes(person_of(RUNNER)) <= QUOTA


def test_what_is_packed_leaves_room_on_the_disk(
    home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    free = iter([KEEP_FREE_BYTES * 2, KEEP_FREE_BYTES * 2])
    monkeypatch.setattr(
        shutil, "disk_usage", lambda _: SimpleNamespace(free=next(free, KEEP_FREE_BYTES))
    )
    with pytest.raises(BadInput, match="disk has no room for what is in a"):
        accept({"a.zip": zip_of({"a/run.json": RUN, "a/torch_logs.txt": bytes(3 * QUOTA)})})
    assert [path for path in uploads_directory().rglob("*") if path.is_file()] == []

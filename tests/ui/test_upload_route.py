"""The upload route: who may send, how much, and what stays on the disk."""

import asyncio
import json
import shutil
import time
from collections.abc import Callable, Iterable
from dataclasses import replace
from pathlib import Path
from typing import Any, NamedTuple
from urllib.parse import quote

import pytest
from starlette.applications import Starlette
from starlette.requests import Request

from profiler_core import owner_file
from profiler_core.person import system_user
from profiler_core.store import history, incoming
from profiler_core.ui.routes import guard
from profiler_core.ui.routes.token import sign
from profiler_core.ui.sign_in.roles import STRANGER
from profiler_core.ui.sign_in.visitor import Visitor
from profiler_core.ui.upload import route
from profiler_core.ui.upload.unopened import forget_unopened

APP = Starlette(routes=list(route.ROUTES))


class Answer(NamedTuple):
    status: int
    body: dict[str, Any]


@pytest.fixture(autouse=True)
def own_home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("FUSIONSCOPE_HOME", str(tmp_path))
    return tmp_path


@pytest.fixture
def upload_id() -> str:
    return incoming.new_upload_id()


def put(
    upload_id: str,
    chunks: Iterable[bytes] = (b"data",),
    *,
    place: int | str = 0,
    name: str = "a.json",
    drop: tuple[str, ...] = (),
    breaks_off: bool = False,
    **headers: str,
) -> Answer:
    """Send one PUT straight to the application, chunk by chunk."""
    chunks = list(chunks)
    sent = {
        "host": "localhost:8501",
        "origin": "http://localhost:8501",
        "x-fusionscope-token": sign(route.SCOPE, upload_id),
        "content-length": str(sum(map(len, chunks))),
    }
    sent |= {key.replace("_", "-"): value for key, value in headers.items()}
    messages: list[dict[str, Any]] = [
        {"type": "http.request", "body": chunk, "more_body": True} for chunk in chunks
    ]
    end = {"type": "http.disconnect"} if breaks_off else {"type": "http.request", "body": b""}
    messages.append(end)
    answers: list[dict[str, Any]] = []
    scope = {
        "type": "http",
        "asgi": {"version": "3.0"},
        "http_version": "1.1",
        "method": "PUT",
        "scheme": "http",
        "path": f"/api/upload/{place}",
        "raw_path": quote(f"/api/upload/{place}").encode(),
        "query_string": f"name={quote(name)}".encode(),
        "headers": [(k.encode(), v.encode()) for k, v in sent.items() if k not in drop],
        "client": ("127.0.0.1", 1),
        "server": ("localhost", 8501),
    }

    async def receive() -> dict[str, Any]:
        return messages.pop(0) if messages else {"type": "http.disconnect"}

    async def send(message: dict[str, Any]) -> None:
        answers.append(message)

    asyncio.run(APP(scope, receive, send))
    return Answer(answers[0]["status"], json.loads(answers[1]["body"]))


def files_of(upload_id: str) -> dict[str, bytes]:
    directory = incoming.incoming_directory(upload_id)
    if not directory.is_dir():
        return {}
    return {p.name: p.read_bytes() for p in directory.glob("*") if p.name != owner_file.FILE}


@pytest.mark.parametrize("later", [None, STRANGER - {"upload"}])
def test_who_lost_the_right_while_the_file_came_has_sent_nothing(
    upload_id: str, later: frozenset[str] | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Signed out in another tab, or a role that was taken away: a file may come for hours."""
    real = guard.visitor_of
    asked: list[Request] = []

    def visitor_of(request: Request) -> Visitor | None:
        asked.append(request)
        who = real(request)
        assert who is not None
        if len(asked) == 1:
            return who
        return None if later is None else replace(who, deeds=later)

    monkeypatch.setattr(guard, "visitor_of", visitor_of)
    answer = put(upload_id, (b"da", b"ta"))
    assert answer.status == (401 if later is None else 403)
    assert len(asked) == 2 and not files_of(upload_id)


def test_a_file_arrives_whole_in_whatever_pieces(upload_id: str) -> None:
    chunks = [bytes([n % 256]) * 700_001 for n in range(5)]
    answer = put(upload_id, chunks, name="ResNet 50/eager é.json")
    assert answer == (200, {"name": "ResNet 50/eager é.json", "bytes": 5 * 700_001})
    (file,) = incoming.received(upload_id, (0,))
    assert (file.name, file.path.read_bytes()) == ("ResNet 50/eager é.json", b"".join(chunks))


@pytest.mark.parametrize(
    ("headers", "drop", "status", "words"),
    [
        ({}, ("x-fusionscope-token",), 401, "no token"),
        ({"x_fusionscope_token": "forged.token"}, (), 401, "token"),
        ({"x_fusionscope_token": sign("timeline", "x")}, (), 401, "token"),
        ({"origin": "https://evil.example"}, (), 403, "another page"),
        ({}, ("origin",), 403, "no Origin"),
        ({"host": "evil.example", "origin": "http://evil.example"}, (), 403, "host name"),
    ],
    ids=["no token", "forged", "other scope", "other origin", "no origin", "rebound name"],
)
def test_a_stranger_writes_nothing(
    upload_id: str,
    headers: dict[str, str],
    drop: tuple[str, ...],
    status: int,
    words: str,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(
        "profiler_core.ui.routes.origin.config.get_option",
        {"server.address": "localhost", "secrets.files": []}.get,
    )
    answer = put(upload_id, drop=drop, **headers)
    assert answer.status == status and words in answer.body["problem"] and answer.body["remedy"]
    assert files_of(upload_id) == {}


def test_a_token_fills_only_its_own_upload(upload_id: str) -> None:
    other = incoming.new_upload_id()
    put(upload_id, x_fusionscope_token=sign(route.SCOPE, other))
    assert files_of(upload_id) == {} and len(files_of(other)) == 2


def test_a_token_for_something_that_is_no_upload_is_refused(own_home: Path) -> None:
    answer = put("../../../tmp", [b"x"])
    assert answer.status == 422 and "is no upload" in answer.body["problem"]
    assert not list(own_home.glob("**/*.part"))


@pytest.fixture
def small_limit(own_home: Path) -> None:
    (own_home / "settings.toml").write_text("largest_upload_gb = 0.000001\n")  # 1000 bytes


@pytest.mark.usefixtures("small_limit")
def test_too_large_is_refused_by_the_announced_length(upload_id: str) -> None:
    answer = put(upload_id, [b"x" * 2000])
    assert answer.status == 413 and "larger than the 1.00 kB" in answer.body["problem"]
    assert files_of(upload_id) == {}


@pytest.mark.usefixtures("small_limit")
@pytest.mark.parametrize("length", ["10", "-1", "lots"])
def test_too_large_is_refused_whatever_was_announced(upload_id: str, length: str) -> None:
    answer = put(upload_id, [b"x" * 600] * 3, content_length=length)
    assert answer.status == 413
    assert files_of(upload_id) == {}


def test_a_broken_off_upload_leaves_nothing(upload_id: str) -> None:
    answer = put(upload_id, [b"x" * 100], content_length="200", breaks_off=True)
    assert answer.status == 400
    assert files_of(upload_id) == {}


def test_an_empty_file_is_refused(upload_id: str) -> None:
    assert put(upload_id, []).body["problem"] == "a.json is empty."
    assert files_of(upload_id) == {}


def test_a_full_disk_is_said_before_anything_is_written(
    upload_id: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    full: Callable[[Path], Any] = lambda _: shutil._ntuple_diskusage(10**9, 10**9, 5_000_000)  # noqa: E731
    monkeypatch.setattr(route.shutil, "disk_usage", full)
    answer = put(upload_id)
    assert answer.status == 507 and "only 5.00 MB left" in answer.body["problem"]
    assert files_of(upload_id) == {}


def test_too_many_places_are_refused(upload_id: str) -> None:
    assert put(upload_id, place=incoming.MOST_FILES).status == 422


def test_files_that_nobody_opened_count_towards_the_quota_in_every_tab(own_home: Path) -> None:
    (own_home / "settings.toml").write_text("upload_quota_gb = 0.000025")  # 25 000 bytes
    answers = [put(incoming.new_upload_id(), [b"x" * 10_000]) for _ in range(4)]
    assert [answer.status for answer in answers] == [200, 200, 413, 413]
    kept = sum(path.stat().st_size for path in own_home.glob("uploads/.incoming/*/*"))
    assert kept < 25_000


def test_tabs_that_send_at_once_do_not_pass_the_quota_together(
    own_home: Path, upload_id: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    (own_home / "settings.toml").write_text("upload_quota_gb = 0.000025")
    # Both asked how much room there is before either had sent anything.
    monkeypatch.setattr(route, "room_left", lambda _person: 25_000)
    assert put(upload_id, [b"x" * 20_000]).status == 200
    assert put(incoming.new_upload_id(), [b"x" * 20_000]).status == 413


def test_the_audit_has_a_file_before_it_is_there_and_when_it_goes_unopened(
    own_home: Path, upload_id: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    put(upload_id, [b"half"], breaks_off=True, name="trace.json")
    (entry,) = history.entries()
    assert (entry.person, entry.action, entry.subject) == (
        system_user(), "receive", f"upload/{upload_id}",
    )  # fmt: skip
    assert entry.detail == {"name": "trace.json"}
    put(upload_id, name="trace.json")
    forget_unopened()
    assert files_of(upload_id)
    for hours in (13, 26):
        later = time.time() + hours * 3600.0
        with monkeypatch.context() as patched:
            patched.setattr(incoming.time, "time", lambda at=later: at)
            forget_unopened()
    assert not incoming.incoming_directory(upload_id).exists()
    discarded = history.entries(1)[0]
    assert (discarded.person, discarded.action) == (system_user(), "discard")


@pytest.mark.parametrize("number", ["9" * 5000, "-1", "x", "1e3", "²"])
def test_what_is_no_number_of_a_file_is_one_sentence(upload_id: str, number: str) -> None:
    answer = put(upload_id, place=number)
    assert answer.status == 422 and "no number of a file" in answer.body["problem"]
    assert files_of(upload_id) == {}

"""One person's requests leave the disk and the threads to others."""

import asyncio
import json
import shutil
import threading
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest
from starlette.requests import Request
from starlette.responses import Response

from profiler_core.person import system_user
from profiler_core.store import incoming
from profiler_core.store.orders import Order, keep_order
from profiler_core.ui.routes import merged
from profiler_core.ui.routes.token import sign
from profiler_core.ui.upload import route
from tests.ui.test_routes import HOST

_PIECE_BYTES = 1 << 20
_N_FILES, _N_PIECES = 12, 24


@pytest.fixture(autouse=True)
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("FUSIONSCOPE_HOME", str(tmp_path))
    return tmp_path


class _Together:
    """Lets those that wait go on once so many wait."""

    def __init__(self, n: int) -> None:
        self._n_missing, self._all = n, asyncio.Event()

    async def wait(self) -> None:
        self._n_missing -= 1
        if not self._n_missing:
            self._all.set()
        await asyncio.wait_for(self._all.wait(), 60)


class _Sent(Request):
    """A file that comes in pieces, in turns with the files that come beside it."""

    together: _Together

    async def stream(self) -> AsyncIterator[bytes]:
        await self.together.wait()
        for _ in range(_N_PIECES):
            await asyncio.sleep(0.005)
            yield bytes(_PIECE_BYTES)


async def _taken(together: _Together) -> int | Response:
    upload_id = incoming.new_upload_id()
    length = str(_N_PIECES * _PIECE_BYTES).encode()
    request = _Sent({"type": "http", "headers": [(b"content-length", length)]})
    request.together = together
    partial = incoming.part_path(upload_id, 0)
    return await route.take_file(request, upload_id, partial, "a.json", system_user())


async def _all_taken() -> list[int | Response]:
    together = _Together(_N_FILES)
    return await asyncio.gather(*(_taken(together) for _ in range(_N_FILES)))


def _bytes_on(home: Path) -> int:
    return sum(path.stat().st_size for path in home.rglob("*") if path.is_file())


def test_files_that_come_at_once_leave_the_disk_what_is_kept_free(
    home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    room = 2 * _N_PIECES * _PIECE_BYTES  # of 12 files that each fit, two fit together
    free: list[int] = []

    def disk_usage(_path: Path) -> Any:
        free.append(route.KEEP_FREE_BYTES + room - _bytes_on(home))
        return shutil._ntuple_diskusage(10**12, 10**12 - free[-1], free[-1])

    monkeypatch.setattr(route.shutil, "disk_usage", disk_usage)
    answers = asyncio.run(_all_taken())
    refused = [answer.status_code for answer in answers if isinstance(answer, Response)]
    assert set(refused) == {507}
    free.append(route.KEEP_FREE_BYTES + room - _bytes_on(home))
    # Each file is one piece further on at most when it is refused.
    assert min(free) >= route.KEEP_FREE_BYTES - 2 * _N_FILES * _PIECE_BYTES


def test_files_that_come_at_once_end_near_the_quota(
    home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    quota = 2 * _N_PIECES * _PIECE_BYTES
    (home / "settings.toml").write_text(f"upload_quota_gb = {quota / 1e9}")
    most = 0

    async def watched() -> list[int | Response]:
        nonlocal most
        task = asyncio.create_task(_all_taken())
        while not task.done():
            most = max(most, _bytes_on(home / "uploads"))
            await asyncio.sleep(0.002)
        return task.result()

    answers = asyncio.run(watched())
    refused = [answer for answer in answers if isinstance(answer, Response)]
    assert {answer.status_code for answer in refused} == {413}
    assert "may take" in json.loads(refused[0].body)["problem"]
    assert most < quota + _N_FILES * route.COUNT_EVERY_BYTES + 2 * _N_FILES * _PIECE_BYTES


def test_who_has_merged_traces_made_leaves_others_a_thread(monkeypatch: pytest.MonkeyPatch) -> None:
    is_over, began = threading.Event(), threading.Semaphore(0)

    def make(_order: Order, _who: object) -> bytes:
        began.release()
        assert is_over.wait(60)
        return b"trace"

    async def asked(key: str) -> Response:
        headers = {**HOST, "X-Fusionscope-Token": sign(merged.SCOPE, key)}
        scope: dict[str, Any] = {
            "type": "http", "method": "GET", "path": "/api/perfetto/merged", "scheme": "http",
            "headers": [(name.lower().encode(), text.encode()) for name, text in headers.items()],
            "query_string": b"", "client": ("127.0.0.1", 1), "server": ("localhost", 8501),
        }  # fmt: skip
        return await merged.merged_trace(Request(scope))

    async def scene() -> None:
        key = keep_order(Order("export", (Path("/a"), Path("/b")), ".json.gz"))
        waiting = [asyncio.create_task(asked(key)) for _ in range(60)]
        await asyncio.to_thread(began.acquire, timeout=30)
        await asyncio.sleep(0.5)
        try:
            from anyio.to_thread import run_sync

            assert await asyncio.wait_for(run_sync(lambda: "quick"), 10) == "quick"
        finally:
            is_over.set()
        assert {answer.status_code for answer in await asyncio.gather(*waiting)} == {200}

    monkeypatch.setattr(merged, "file_from_command", make)
    asyncio.run(scene())

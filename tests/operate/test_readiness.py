"""Readiness beside liveness: a server whose database is away says so, and says no more."""

import asyncio
import json
import logging
import os
import shutil
import time
from pathlib import Path

import pytest

from profiler_core.store.history import database
from profiler_core.ui.routes import ready as route
from profiler_core.ui.routes.health import health
from profiler_core.ui.routes.ready import CHECKS, Readiness, ready
from tests.operate.queued import a_job

SECRET_URL = "postgresql://fs:s3cret@127.0.0.1:1/fs"  # nothing listens there


def answer(monkeypatch: pytest.MonkeyPatch) -> tuple[int, dict[str, object]]:
    monkeypatch.setattr(route, "_READINESS", Readiness())
    response = asyncio.run(ready(None))  # type: ignore[arg-type]
    return response.status_code, json.loads(response.body)


def test_a_whole_server_is_ready(home: Path, monkeypatch):
    assert answer(monkeypatch) == (200, {"ready": True, "checks": dict.fromkeys(CHECKS, "ok")})


def test_a_dead_database_is_not_ready_while_the_process_is_healthy(home, monkeypatch, caplog):
    database.close_all()
    monkeypatch.setenv("FUSIONSCOPE_DATABASE_URL", SECRET_URL)
    with caplog.at_level(logging.WARNING):
        status, body = answer(monkeypatch)
    assert status == 503
    assert body == {
        "ready": False,
        "checks": {
            "settings": "ok",
            "database": "failed",
            "queue": "ok",
            "disk": "ok",
            "cache": "ok",
        },
    }
    assert asyncio.run(health(None)).status_code == 200  # type: ignore[arg-type]
    assert "Not ready, database" in caplog.text  # the reason is for whoever runs the server
    assert "s3cret" not in caplog.text


def test_a_cache_that_cannot_be_written_is_not_ready(home, monkeypatch):
    home.mkdir(exist_ok=True)
    (home / "cache").write_text("a file where the folder belongs")
    _, body = answer(monkeypatch)
    assert [name for name, state in body["checks"].items() if state == "failed"] == ["cache"]


def test_a_full_disk_is_not_ready(home, monkeypatch):
    usage = shutil.disk_usage("/")
    monkeypatch.setattr(shutil, "disk_usage", lambda _: usage._replace(free=10**8))
    _, body = answer(monkeypatch)
    assert [name for name, state in body["checks"].items() if state == "failed"] == ["disk"]


def test_settings_that_cannot_be_read_are_not_ready(home, monkeypatch):
    home.mkdir(exist_ok=True)
    (home / "settings.toml").write_text("allow_capture = perhaps")
    _, body = answer(monkeypatch)
    assert body["checks"]["settings"] == "failed"


def test_a_queue_that_takes_no_more_jobs_is_not_ready(home, monkeypatch):
    with a_job(home, "queued", supervised=True):
        assert answer(monkeypatch)[0] == 200
        (home / "settings.toml").write_text("[jobs]\nin_all = 1\n")
        _, body = answer(monkeypatch)
    assert [name for name, state in body["checks"].items() if state == "failed"] == ["queue"]


def test_a_job_that_nobody_starts_is_not_ready(home, monkeypatch):
    with a_job(home, "queued", supervised=False) as directory:
        assert answer(monkeypatch)[0] == 200  # a server may be about to start it
        begun = time.time() - 600
        os.utime(home / "jobs" / "live" / directory.name, (begun, begun))
        _, body = answer(monkeypatch)
    assert [name for name, state in body["checks"].items() if state == "failed"] == ["queue"]


def test_who_asks_often_asks_the_database_once(home, monkeypatch):
    asked: list[int] = []
    monkeypatch.setattr(database, "ping", lambda: asked.append(1))
    readiness = Readiness(kept_s=3600)
    for _ in range(5):
        readiness.states()
    assert asked == [1]

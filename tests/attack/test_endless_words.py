"""Lists of runs hold the words of each run.json: twenty kilobytes, unpacked, filled everybody's.

Ten such uploads made page Runs 50 MB and 23 seconds for each visitor.
"""

import json
from pathlib import Path
from typing import Any

import pytest

from profiler_core.store import history
from tests.attack.api import call, token_of, zip_of
from tests.attack.conftest import RUNNER, TEAM, Server
from tests.everything import comparisons

LONG = "w" * 200_000
FIELDS: tuple[dict[str, Any], ...] = (
    *({field: LONG} for field in ("run_id", "capture_id", "name", "workload", "variant")),
    {"baseline_run_id": LONG},
    {"created_at": LONG},
    {"spec": {"name": LONG}},
    {"sweep": {"id": LONG, "name": "batch", "value": 1, "values": [1]}},
    {"environment": {"gpu": "x", "more": [LONG[:1000]] * 200}},
)


@pytest.fixture
def token(server: Server) -> str:
    server.is_at("127.0.0.1", TEAM)
    return token_of(RUNNER, "upload", "read")


def pushed(token: str, **said: Any) -> Any:
    record = {"schema_version": 1, "run_id": "r", "status": "finished", **said}
    files = {"a/run.json": json.dumps(record).encode()}
    return call("POST", "/api/runs", token, zip_of(files), name="a.zip")


@pytest.mark.parametrize("said", FIELDS, ids=lambda said: next(iter(said)))
def test_words_without_end_are_no_run(token: str, said: dict[str, Any], home: Path) -> None:
    answer = pushed(token, **said)
    assert answer.status == 422, answer.body[:300]
    assert len(answer.body) < 2000
    assert len(call("GET", "/api/runs", token).body) < 100
    assert not list((home / "uploads").rglob("run.json"))


def test_long_words_of_steps_and_failures_are(token: str) -> None:
    """What is measured may be long, and is in no list."""
    rounds = [{"index": 0, "order": 0, "n_steps": 1, "wall_ns": 5}]
    measured = {"rounds": rounds, "step_event_ns": [10**9] * 50_000}
    answer = pushed(token, status="failed", error=LONG, measurement=measured)
    assert answer.status == 200, answer.body[:300]
    assert len(history.run("r").error or "") == 10_000
    (entry,) = (entry for group in comparisons() for entry in group.entries if entry.run.error)
    assert len(entry.run.error or "") == 10_000

"""Lists of runs hold the words of each run.json: twenty kilobytes, unpacked, filled everybody's.

Ten such uploads made page Runs 50 MB and 23 seconds for each visitor.
"""

import json
from pathlib import Path
from statistics import median
from typing import Any

import msgspec
import pytest

from profiler_core.analysis.step_time import step_time_ns
from profiler_core.store import history
from tests.attack.api import call, token_of, zip_of
from tests.attack.conftest import RUNNER, TEAM, Server
from tests.everything import comparisons

pytestmark = pytest.mark.usefixtures("quick_modules")

LONG = "w" * 200_000
FIELDS: tuple[dict[str, Any], ...] = (
    *({field: LONG} for field in ("run_id", "capture_id", "name", "workload", "variant")),
    {"baseline_run_id": LONG},
    {"created_at": LONG},
    {"spec": {"name": LONG}},
    {"sweep": {"id": LONG, "name": "batch", "value": 1, "values": [1]}},
    {"environment": {"gpu": "x", "more": [LONG[:1000]] * 200}},
    {"measurement": {"rounds": [{"index": 0, "order": 0, "n_steps": 1, "wall_ns": 5}] * 10_001}},
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


ROUND = {"index": 0, "order": 0, "n_steps": 1}
MEASURED: tuple[dict[str, Any], ...] = (
    {"error_kind": LONG},
    {"compile_failure": {"error": "E", "reason": LONG}},
    {"compile_failure": {"error": "E", "reason": "r", "hints": ["h"] * 100_000}},
    {"numerics": {"verdict": "wrong", "reason": LONG}},
    {"measurement": {"rounds": [{**ROUND, "wall_ns": n} for n in range(1, 10_001)]}},
    {"measurement": {"rounds": [{**ROUND, "wall_ns": 5}], "notes": [LONG]}},
    {"measurement": {"rounds": [{**ROUND, "wall_ns": 5}], "phase_seconds": {LONG: 1.0}}},
)


@pytest.mark.parametrize("measured", MEASURED, ids=lambda measured: next(iter(measured)))
def test_what_was_measured_is_short_in_lists_and_whole_where_it_is_opened(
    token: str, measured: dict[str, Any]
) -> None:
    """The compiler's failure of one run.json of 32 MB stood in each visitor's list of runs."""
    answer = pushed(token, **{"status": "failed", **measured})
    assert answer.status == 200, answer.body[:300]
    (entry,) = (
        entry for group in comparisons() for entry in group.entries if entry.run.run_id == "r"
    )
    assert len(msgspec.json.encode(entry.run)) < 120_000
    full = msgspec.json.decode(msgspec.json.encode(entry.full_run))
    for field, value in measured.items():
        if isinstance(value, str):
            assert getattr(entry.run, field) == value[:10_000]
        else:
            read = {key: full[field][key] for key in value if key != "rounds"}
            assert read == {key: part for key, part in value.items() if key != "rounds"}
    rounds = measured.get("measurement", {}).get("rounds", ())
    assert len(entry.full_run.measurement.rounds if entry.full_run.measurement else ()) == len(
        rounds
    )
    times = [timed["wall_ns"] for timed in rounds]
    assert step_time_ns(entry.run.measurement) == (median(times) if times else None)

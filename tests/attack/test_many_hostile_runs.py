"""A history full of what others made up: its pages say what they can, and cost what others cost."""

import json
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import streamlit as st
from sqlalchemy import update

from profiler_core.errors import FusionscopeError
from profiler_core.store import history
from profiler_core.store.history.tables import runs as table
from tests.apps import opened, text_of
from tests.store.history.samples import redated_copy

pytestmark = pytest.mark.usefixtures("quick_modules")

N_RUNS = 50
DATES = (
    "0001-01-01T00:00:00+14:00", "9999-12-31T23:59:59-14:00", "2026-02-30T25:61:61Z", "x" * 10_000,
    "2026-11-21T12:00:00Z", "2026-11-22T12:00:00Z", "2026-11-23T12:00:00Z",
)  # fmt: skip
WALL_NS = (-5, 0, 1, 10**12, 2**62, 10**300, float("nan"), float("inf"))
STEP_NS = (-1e300, -1.0, 0.0, 5e-324, 1e300, 1.7e308)  # as an older version could have kept them
NAMES = (
    "n" * 10_000, "<script>alert(1)</script>", "\x1b[31m\u202ered\0", "a/../b|c*_`[x](y)", "",
    "\ud800",
)  # fmt: skip
PAGES: tuple[tuple[str, dict[str, str]], ...] = (
    ("runs", {"view": "Trends"}),
    ("runs", {"view": "Trends", "number": "n_kernels", "axis": "by time"}),
    ("runs", {}),
    ("review", {}),
)


def ordinary(home: Path, number: int) -> Path:
    return redated_copy(
        home, f"c{number:03}", created_at=f"2026-10-{number // 2 + 1:02}T12:00:00Z",
        slower=1 + number / 500,
    )  # fmt: skip


def hostile(home: Path, number: int) -> Path:
    """A run directory that somebody wrote by hand."""
    name = NAMES[number % 5 if number < N_RUNS - 5 else -1]
    directory = redated_copy(
        home,
        f"c{number:03}",
        created_at=DATES[number % len(DATES)],
        workload=name if number % 4 == 0 else "breaky",
        name=name,
        environment={"torch": name, "gpu": [name], "git": {"commit": name, "branch": name}},
    )
    file = directory / "run.json"
    run: dict[str, Any] = json.loads(file.read_text())
    for measured in run["measurement"]["rounds"]:
        measured["wall_ns"] = WALL_NS[number % len(WALL_NS)]
    text = json.dumps(run)
    if number % 10 == 3:
        text = text.replace("{", '{"nested": ' + "[" * 9_000 + "]" * 9_000 + ", ", 1)
    data = text.encode()
    file.write_bytes(data.replace(b"breaky", b"br\xffaky", 1) if number % 10 == 7 else data)
    return directory


def recorded(home: Path, make: Callable[[Path, int], Path]) -> int:
    """Put them into the history; returns how many it took."""
    n = 0
    for number in range(N_RUNS):
        directory = make(home, number)
        try:
            run = history.record(directory)
        except FusionscopeError as error:
            assert len(error.problem) < 1_000
            continue
        n += 1
        if make is hostile and number % 2:
            with history.writing() as connection:
                value = STEP_NS[number // 2 % len(STEP_NS)]
                row = table.c.run_id == run.run_id
                connection.execute(update(table).where(row).values(step_time_ns=value))
    return n


def cpu_s(home: Path, monkeypatch: pytest.MonkeyPatch, make: Callable[[Path, int], Path]) -> float:
    """CPU seconds of this process for all pages over such a history."""
    home.mkdir()
    monkeypatch.setenv("FUSIONSCOPE_HOME", str(home))
    st.cache_resource.clear()
    assert recorded(home, make) > 0.5 * N_RUNS
    began = time.process_time()
    for page, query in PAGES:
        app = opened(page, **query)
        assert "view" not in query or app.get("plotly_chart")
        assert "<script>alert" not in text_of(app)
    return time.process_time() - began


def test_pages_stand_many_hostile_runs_and_cost_what_others_cost(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A step time below 0 stopped Trends. The first history also pays for what is imported."""
    usual = cpu_s(tmp_path / "ordinary", monkeypatch, ordinary)
    assert cpu_s(tmp_path / "hostile", monkeypatch, hostile) < 1.5 * usual + 1
    st.cache_resource.clear()

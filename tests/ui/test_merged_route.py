"""The route that makes one trace of the runs that a page shows: to holders of its token."""

import gzip
import json
import os
from pathlib import Path

import pytest

from profiler_core.door.workload_names import workload_of
from profiler_core.store import orders
from profiler_core.store.orders import Order, keep_order, kept_order
from profiler_core.ui.routes.merged import SCOPE
from profiler_core.ui.routes.token import sign
from tests.ui.test_routes import ask

PATH = "/api/perfetto/merged"
SAMPLES = Path(__file__).resolve().parents[2] / "sample_traces" / "breaky"


@pytest.fixture(autouse=True)
def home(tmp_path, monkeypatch):
    monkeypatch.setenv("FUSIONSCOPE_HOME", str(tmp_path))


def test_a_token_names_the_runs():
    order = Order("export", (SAMPLES / "eager", SAMPLES / "default"), ".json.gz")
    answer = ask(PATH, headers={"X-Fusionscope-Token": sign(SCOPE, keep_order(order))})
    assert answer.status == 200
    assert answer.headers["cache-control"] == "private, no-store"
    events = json.loads(gzip.decompress(answer.body))["traceEvents"]
    assert sum(event["name"] == "process_name" for event in events) == 2


def test_runs_that_are_gone_are_a_sentence(tmp_path):
    order = Order("export", (tmp_path / "gone", tmp_path / "too"), ".json.gz")
    answer = ask(PATH, headers={"X-Fusionscope-Token": sign(SCOPE, keep_order(order))})
    assert answer.status == 422
    assert "gone" in answer.problem


def test_a_key_from_before_a_restart_asks_for_a_reload():
    answer = ask(PATH, headers={"X-Fusionscope-Token": sign(SCOPE, "0" * 32)})
    assert answer.status == 404
    assert "does not know these runs" in answer.problem


@pytest.mark.parametrize("query", [{}, {"token": "x.y"}])
def test_without_a_token_nothing_is_made(query):
    assert ask(PATH, query).status == 401


def test_a_token_for_something_else_is_refused():
    assert ask(PATH, {"token": sign("timeline", "0" * 32)}).status == 401


def test_only_so_many_orders_are_remembered(monkeypatch):
    monkeypatch.setattr(orders, "_MOST", 2)
    keys = []
    for n in range(4):
        keys.append(keep_order(Order("export", (Path(f"/{n}"),), ".json.gz")))
        for kept in orders._folder().iterdir():
            os.utime(kept, (keys.index(kept.name),) * 2)
    assert {path.name for path in orders._folder().iterdir()} == set(keys[-2:])
    assert kept_order(keys[0]) is None


def test_what_another_process_offered_is_made_here(tmp_path):
    order = Order("export", (Path("/a run/\udcff"), Path("/b")), ".json.gz", ("--ranks", "0"))
    assert kept_order(keep_order(order)) == order
    assert kept_order("../server.key") is None
    (tmp_path / "orders" / ("a" * 32)).write_text("[]")
    assert kept_order("a" * 32) is None


def test_a_file_that_is_made_names_its_workload(tmp_path):
    assert workload_of((SAMPLES / "default", SAMPLES / "eager")) == SAMPLES.name
    assert workload_of((tmp_path / "gone",)) == ""

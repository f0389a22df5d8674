"""The route that makes one trace of the runs that a page shows: to holders of its token."""

import gzip
import json
from pathlib import Path

import pytest

from profiler_core.ui.file_from_command import Order
from profiler_core.ui.routes import merged
from profiler_core.ui.routes.merged import SCOPE, order_key
from profiler_core.ui.routes.token import sign
from tests.ui.test_routes import ask

PATH = "/api/perfetto/merged"
SAMPLES = Path(__file__).resolve().parents[2] / "sample_traces" / "breaky"


@pytest.fixture(autouse=True)
def home(tmp_path, monkeypatch):
    monkeypatch.setenv("FUSIONSCOPE_HOME", str(tmp_path))


def test_a_token_names_the_runs():
    order = Order("export", (SAMPLES / "eager", SAMPLES / "default"), ".json.gz")
    answer = ask(PATH, headers={"X-Fusionscope-Token": sign(SCOPE, order_key(order))})
    assert answer.status == 200
    assert answer.headers["cache-control"] == "private, no-store"
    events = json.loads(gzip.decompress(answer.body))["traceEvents"]
    assert sum(event["name"] == "process_name" for event in events) == 2


def test_runs_that_are_gone_are_a_sentence(tmp_path):
    order = Order("export", (tmp_path / "gone", tmp_path / "too"), ".json.gz")
    answer = ask(PATH, headers={"X-Fusionscope-Token": sign(SCOPE, order_key(order))})
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
    monkeypatch.setattr(merged, "_MOST_ORDERS", 2)
    keys = [order_key(Order("export", (Path(f"/{n}"),), ".json.gz")) for n in range(4)]
    assert list(merged._orders) == keys[-2:]

"""Lists of runs take no more memory for what their run.json holds, on both databases."""

import asyncio
import json
import tracemalloc

import pytest
from starlette.requests import Request

from profiler_core.answers.history import RunsAnswer, run_answer
from profiler_core.cli.main import main
from profiler_core.store import history
from profiler_core.store.history import RunFilter
from profiler_core.ui.routes import api_runs
from profiler_core.ui.sign_in.visitor import Visitor
from tests.store.history.samples import redated_copy

N_RUNS, N_ROUNDS = 3, 10_000


@pytest.fixture
def large(home):
    """Runs as large as anybody may push them."""
    for number in range(N_RUNS):
        directory = redated_copy(home, f"c{number}", environment={"words": "x" * 90_000})
        record = json.loads((directory / "run.json").read_text())
        record["measurement"]["rounds"] = [
            {"index": n, "order": 0, "n_steps": 1, "wall_ns": 1_000_000} for n in range(N_ROUNDS)
        ]
        (directory / "run.json").write_text(json.dumps(record))
    history.reconcile()
    history.tag("c1.default", "b", "a")
    return home


def peak_of(function):
    history.runs(RunFilter(workload=("none",)))  # what is imported and opened once
    tracemalloc.start()
    try:
        return function(), tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()


def by_the_api():
    scope = {"type": "http", "method": "GET", "path": "/api/runs", "query_string": b"limit=1000",
             "headers": []}  # fmt: skip
    who = Visitor("ada", "Ada", "viewer", frozenset({"look"}))
    return json.loads(asyncio.run(api_runs.listed.__wrapped__(Request(scope), who)).body)


def test_large_runs_make_no_large_list(large, capsys):
    answer, n_bytes = peak_of(by_the_api)
    assert [run["n_rounds"] for run in answer["runs"]] == [N_ROUNDS] * N_RUNS
    assert n_bytes < 2_000_000
    _, n_bytes = peak_of(lambda: main(["runs", "list", "--json"]))
    assert json.loads(capsys.readouterr().out)["runs"] == answer["runs"]
    assert n_bytes < 4_000_000


def test_a_list_says_what_the_runs_say(large):
    assert RunsAnswer(tuple(map(run_answer, history.listed_runs()))) == RunsAnswer(
        tuple(map(run_answer, history.runs()))
    )
    (tagged,) = history.listed_runs(RunFilter(tag=("a",)))
    assert (tagged.run_id, tagged.tags) == ("c1.default", ("a", "b"))
    assert len(history.listed_runs(limit=3)) == 3

"""What Dynamo traced, against the file that torch writes of it, read by Python's own pstats."""

import pstats
import sys
from types import SimpleNamespace

import pytest

from profiler_core.capture.child.tracing_times import TracingTimes
from tests.lazily import Lazily

torch = Lazily("torch")

pytestmark = pytest.mark.torch


@pytest.fixture(autouse=True)
def _as_it_was(monkeypatch):
    """Torch's own function is put back, and nothing is compiled for the next test."""
    dynamo_profiler = pytest.importorskip("torch._dynamo.dynamo_profiler")
    output_graph = pytest.importorskip("torch._dynamo.output_graph")
    config = torch._dynamo.config
    state = dynamo_profiler.DynamoProfilerState
    monkeypatch.setattr(state, "dump_stats", state.dump_stats)
    graph = output_graph.OutputGraph
    monkeypatch.setattr(graph, "mark_bytecode_tracing_stop", graph.mark_bytecode_tracing_stop)
    with config.patch(dynamo_profiler=False):
        yield
    torch._dynamo.reset()


def halved(x):
    return x / 2


def deep(x, depth):
    return deep(halved(x), depth - 1) if depth else x


def outer(x):
    return deep(x, 3) + torch.nn.functional.relu(x)


def broken(x):
    x = deep(x, 1)
    torch._dynamo.graph_break()
    return halved(x)


def judged(paths):
    """(name, file, line) -> visits, own and cumulative ns, as pstats adds up the files."""
    stats = pstats.Stats(*map(str, paths)).stats
    return {
        (name, file, line): (n, own * 1e9, total * 1e9)
        for (file, line, name), (_, n, own, total, _) in stats.items()
        if n  # without those that only called something before Dynamo gave them up
    }


def test_all_frames_add_up_to_what_torch_writes_of_each(tmp_path, monkeypatch):
    """torch's file holds the last frame alone, so it is given another name for each."""
    state, paths = torch._dynamo.dynamo_profiler.DynamoProfilerState, {}
    write = state.dump_stats

    def dump(frame, *args):  # torch writes a frame that was compiled twice: the last has it all
        path = paths.setdefault(id(frame), tmp_path / f"{len(paths)}.prof")
        kept.append(frame)
        return write(frame, str(path))

    kept = []
    monkeypatch.setattr(state, "dump_stats", dump)
    torch._dynamo.config.dynamo_profiler = str(tmp_path / "users.prof")
    times = TracingTimes()
    times.start()
    for function in (outer, broken):
        torch.compile(function, backend="eager")(torch.ones(3))
    rows = times.rows()
    truth = judged(paths.values())
    assert len(paths) >= 3  # `broken` is traced again, and what follows the break
    assert {(row["function"], row["file"], row["line"]) for row in rows} == truth.keys()
    for row in rows:
        n, own_ns, total_ns = truth[row["function"], row["file"], row["line"]]
        assert row["n"] == n
        assert row["own_ns"] == pytest.approx(own_ns, abs=100)
        assert row["total_ns"] == pytest.approx(total_ns, abs=100)
    by_name = {row["function"]: row for row in rows}
    assert by_name["deep"]["n"] > by_name["outer"]["n"] == 1
    assert rows == sorted(rows, key=lambda row: -row["total_ns"])
    assert rows[0]["total_ns"] >= by_name["deep"]["total_ns"] > by_name["deep"]["own_ns"]


def test_nothing_is_printed_or_written_where_the_user_asked_for_nothing(capsys, tmp_path):
    times = TracingTimes()
    times.start()
    torch.compile(outer, backend="eager")(torch.ones(3))
    assert {"outer", "halved"} <= {row["function"] for row in times.rows()}
    assert capsys.readouterr() == ("", "")
    assert torch._dynamo.config.dynamo_profiler is True


def test_a_torch_without_it_and_a_dynamo_that_is_not_loaded_are_left_alone(monkeypatch):
    monkeypatch.setitem(sys.modules, "torch._dynamo.dynamo_profiler", None)
    times = TracingTimes()
    times.start()
    assert torch._dynamo.config.dynamo_profiler is False
    assert times.rows() is None


def test_records_of_another_shape_are_no_reason_to_fail_the_compilation(monkeypatch):
    times = TracingTimes()
    times.start()
    state = torch._dynamo.dynamo_profiler.DynamoProfilerState
    state.dump_stats(SimpleNamespace(timings=[object()]))
    assert times.rows() is None


def test_short_functions_beyond_the_limit_are_added_up_in_one_row():
    times = TracingTimes()
    times._rows = {(f"f{n}", "a.py", n): [2, 10 * n, 10 * n] for n in range(502)}
    rows = times.rows()
    assert len(rows) == 501
    assert (rows[0]["function"], rows[499]["function"]) == ("f501", "f2")
    assert rows[500] == {
        "function": "", "file": "", "line": 0, "n": 4, "own_ns": 10, "total_ns": 10,
    }  # fmt: skip

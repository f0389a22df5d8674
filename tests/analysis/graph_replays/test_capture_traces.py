"""A folder with capture_traces/ is one run: opened, uploaded, and never compared as a run."""

import gzip
import json
from pathlib import Path

import pytest

from profiler_core.analysis.verdict import Claim
from profiler_core.ingest import graph_captures
from profiler_core.ingest.file_kind import Role
from profiler_core.ingest.formats import kineto
from profiler_core.session.comparison import Comparison
from profiler_core.session.run import Run
from profiler_core.store.upload_groups import Part, group
from profiler_core.timeline.build import build_index
from profiler_core.timeline.event import event
from profiler_core.timeline.index import open_index

_HOST = {"pid": 1, "tid": 1}


Event = dict[str, object]


def _call(name: str, ts: float, correlation: int | None = None, **more: object) -> Event:
    args = {"correlation": correlation, **more}
    call = {"ph": "X", "cat": "cuda_runtime", "name": name, "ts": ts, "dur": 1, "args": args}
    return {**call, **_HOST}


def _write(path: Path, events: list[Event], rank: int | None = None) -> Path:
    job = {} if rank is None else {"distributedInfo": {"rank": rank, "world_size": 2}}
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(gzip.compress(json.dumps({**job, "traceEvents": events}).encode()))
    return path


def capture(path: Path, rank: int | None = None, operator: str = "aten::mm") -> Path:
    """Two launches, captured inside of an operator with shapes."""
    args = {"External id": 7, "Input Dims": [[4, 8], [8, 2]], "Input type": ["float", "float"]}
    events = [
        _call("hipStreamBeginCapture", 1),
        {"ph": "X", "cat": "cpu_op", "name": operator, "ts": 3, "dur": 9, "args": args, **_HOST},
        _call("hipLaunchKernel", 4, 11, kernel="gemm", **{"External id": 7}),
        _call("hipLaunchKernel", 7, 12, kernel="reduce", **{"External id": 7}),
        _call("hipStreamEndCapture", 20),
    ]
    return _write(path, events, rank)


def replay(path: Path, rank: int | None = None) -> Path:
    events = [_call("hipGraphLaunch", 1, 5)]
    for number, name in enumerate(("gemm", "reduce")):
        args = {"correlation": 5, "device": 0, "stream": 0}
        ts = 10 + 10 * number
        events.append(
            {
                "ph": "X",
                "cat": "kernel",
                "name": name,
                "ts": ts,
                "dur": 5,
                "pid": 0,
                "tid": 0,
                "args": args,
            }
        )
    return _write(path, events, rank)


def test_the_captures_beside_a_trace_are_of_its_run(tmp_path: Path) -> None:
    replay(tmp_path / "graph_execution.json.gz")
    capture(tmp_path / "capture_traces" / "bs_8_rank0.json.gz")
    (tmp_path / "capture_traces" / "execution_details.json").write_text("[]")
    run = Run.open(tmp_path)
    assert [path.name for path in run.files.graph_captures] == ["bs_8_rank0.json.gz"]
    assert run.summary is not None
    assert run.summary.replays is not None
    assert run.summary.replays.joined_ns == run.summary.replays.replayed_ns == 10_000
    assert run.problems("trace", "graph captures") == ()


def test_a_capture_that_cannot_be_read_costs_operators_and_no_trace(tmp_path: Path) -> None:
    replay(tmp_path / "graph_execution.json.gz")
    path = capture(tmp_path / "capture_traces" / "bs_8_rank0.json.gz")
    path.write_bytes(path.read_bytes()[:40])
    run = Run.open(tmp_path)
    assert run.summary is not None
    assert run.summary.device_time_ns == 10_000
    assert run.summary.replays is not None
    assert run.summary.replays.joined_ns == 0


def test_each_rank_has_its_own_captures(tmp_path: Path) -> None:
    for rank in (0, 1):
        replay(tmp_path / f"trace_rank{rank}.json.gz", rank)
        capture(tmp_path / "capture_traces" / f"bs_8_rank{rank}.json.gz", rank, f"op_{rank}")
    run = Run.open(tmp_path)
    assert [path.name for path in run.files.graph_captures] == ["bs_8_rank0.json.gz"]
    other = run.of_rank(1)
    assert other is not None
    assert [path.name for path in other.files.graph_captures] == ["bs_8_rank1.json.gz"]


def test_a_folder_of_captures_without_end_is_read_up_to_a_number(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(graph_captures, "MOST_CAPTURES", 2)
    for n in range(3):
        capture(tmp_path / "capture_traces" / f"bs_{n}_rank0.json.gz")
    names = [path.name for path in graph_captures.graph_captures_in(tmp_path, None)]
    assert names == ["bs_0_rank0.json.gz", "bs_1_rank0.json.gz"]


def test_the_timeline_says_the_captured_operator_and_its_shapes(tmp_path: Path) -> None:
    replay(tmp_path / "graph_execution.json.gz")
    capture(tmp_path / "capture_traces" / "bs_8_rank0.json.gz")
    trace = Run.open(tmp_path).trace
    assert trace is not None
    build_index(trace, tmp_path / "index")
    shown = event(trace, open_index(tmp_path / "index"), "device", 1)
    assert shown is not None
    assert (shown.name, shown.operators) == ("reduce", ("aten::mm",))
    assert shown.input_dims == "[[4,8],[8,2]]"
    assert shown.launch_name == "hipGraphLaunch"


def test_a_capture_is_compared_with_no_run(tmp_path: Path) -> None:
    comparison = Comparison(
        [
            Run.open(capture(tmp_path / "bs_8_rank0.json.gz")),
            Run.open(replay(tmp_path / "graph_execution.json.gz")),
        ]
    )
    (pair,) = comparison.pairs
    assert pair.verdict.claim is Claim.GRAPH_CAPTURE
    assert pair.numbers.device_time_ns == (None, 10_000.0)


def parts(*paths: Path, below: Path) -> list[Part]:
    return [Part(path.relative_to(below).as_posix(), path, kineto.FORMAT) for path in paths]


def test_an_upload_keeps_the_captures_with_their_trace(tmp_path: Path) -> None:
    trace = replay(tmp_path / "server" / "graph_execution.json.gz")
    folder = tmp_path / "server" / "capture_traces"
    captures = [capture(folder / f"bs_{size}_rank0.json.gz") for size in (8, 16)]
    (run,) = group(parts(trace, *captures, below=tmp_path)).runs
    assert set(run.files) == {
        "trace.json.gz", "capture_traces/0.json.gz", "capture_traces/1.json.gz",
    }  # fmt: skip
    loose = [replay(tmp_path / "replay.json.gz"), capture(tmp_path / "bs_8_rank0.json.gz")]
    (run,) = group(parts(*loose, below=tmp_path)).runs
    assert set(run.files) == {"trace.json.gz", "capture_traces/0.json.gz"}


def test_a_capture_alone_is_a_trace_and_one_of_two_servers_is_unclear(tmp_path: Path) -> None:
    alone = capture(tmp_path / "bs_8_rank0.json.gz")
    (run,) = group(parts(alone, below=tmp_path)).runs
    assert run.trace is not None
    assert run.trace.role is Role.TRACE
    two = [replay(tmp_path / name / "trace.json.gz") for name in ("a", "b")]
    grouped = group(parts(*two, alone, below=tmp_path))
    assert [set(run.files) for run in grouped.runs] == [{"trace.json.gz"}] * 2
    assert any("bs_8_rank0" in note and "unclear" in note for note in grouped.notes)

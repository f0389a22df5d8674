"""Captures of CUDA graphs are profiled one by one, and nothing of it reaches the user's code."""

import contextlib
import gzip
import json
from types import SimpleNamespace

import pytest

from profiler_core.capture.child import graph_captures, serve, timing
from profiler_core.capture.child.graph_captures import GraphCaptures
from profiler_core.capture.run_writer import RunWriter
from profiler_core.capture.variant_run import VariantRun
from tests.lazily import Lazily

torch = Lazily("torch")

pytestmark = pytest.mark.torch


class Graph:
    """Does what torch.cuda.CUDAGraph does for whoever looks at its capture from outside."""

    broken = False

    def capture_begin(self, pool=None):
        if pool == "taken":
            raise RuntimeError("another capture is under way")
        self.pool = pool

    def capture_end(self):
        if self.broken:
            raise RuntimeError("operation not permitted when stream is capturing")


@pytest.fixture
def watching(monkeypatch, tmp_path):
    monkeypatch.setattr(torch.cuda, "CUDAGraph", Graph)
    captures = GraphCaptures(str(tmp_path / "traces"))
    captures.start()
    yield captures
    captures.stop()
    assert Graph.capture_begin.__qualname__ == "Graph.capture_begin"


def captured(module, graph=None):
    graph = graph or Graph()
    graph.capture_begin(pool=1)
    module(torch.ones(2, 2))
    graph.capture_end()
    return graph


def names_in(path):
    with gzip.open(path) as file:
        return {event["name"] for event in json.load(file)["traceEvents"] if "name" in event}


def test_each_capture_leaves_a_trace_with_operators_and_modules(watching, tmp_path):
    first = captured(torch.nn.Linear(2, 2))
    captured(torch.nn.ReLU())
    linear, relu = (names_in(tmp_path / "traces" / f"graph_{n}.json.gz") for n in range(2))
    assert first.pool == 1
    assert {"aten::addmm", "nn.Module: Linear_0"} <= linear
    assert {"aten::relu", "nn.Module: ReLU_0"} <= relu
    assert "aten::addmm" not in relu
    assert watching.note() is None


def test_nothing_is_profiled_without_a_folder_but_counted(monkeypatch):
    monkeypatch.setattr(torch.cuda, "CUDAGraph", Graph)
    captures = GraphCaptures()
    captures.start()
    captured(torch.nn.ReLU())
    captures.stop()
    captured(torch.nn.ReLU())
    assert (captures.n_captures, captures.n_traces) == (1, 0)


def test_the_users_own_profiler_goes_on_and_the_note_says_that_it_ran(watching, tmp_path):
    with torch.profiler.profile() as users:
        captured(torch.nn.ReLU())
    assert "aten::relu" in {event.key for event in users.key_averages()}
    assert not (tmp_path / "traces").exists()
    assert watching.note() == (
        "0 of 1 captures of CUDA graphs were profiled, so kernels of the others have no operator: "
        "another profiler was running."
    )


def test_a_capture_that_fails_raises_torchs_own_error_and_leaves_no_trace(watching, tmp_path):
    graph = Graph()
    graph.broken = True
    with pytest.raises(RuntimeError, match="stream is capturing"):
        captured(torch.nn.ReLU(), graph)
    captured(torch.nn.Linear(2, 2))  # no profiler is left running
    assert [path.name for path in (tmp_path / "traces").iterdir()] == ["graph_0.json.gz"]


def test_a_capture_that_does_not_begin_leaves_no_profiler_running(watching, tmp_path):
    with pytest.raises(RuntimeError, match="another capture"):
        Graph().capture_begin(pool="taken")
    assert not torch.autograd._profiler_enabled()
    captured(torch.nn.ReLU())
    assert [path.name for path in (tmp_path / "traces").iterdir()] == ["graph_0.json.gz"]


def test_a_folder_that_cannot_be_written_is_a_note_and_no_error(watching, tmp_path):
    (tmp_path / "traces").write_text("a file")
    captured(torch.nn.ReLU())
    assert "FileExistsError" in watching.note()


def test_many_captures_are_bounded(watching, tmp_path, monkeypatch):
    monkeypatch.setattr(graph_captures, "MOST_CAPTURES", 1)
    for _ in range(3):
        captured(torch.nn.ReLU())
    assert len(list((tmp_path / "traces").iterdir())) == 1
    assert watching.note().startswith("1 of 3 captures of CUDA graphs were profiled")
    assert watching.note().endswith("there are more than 1.")


def test_the_second_process_of_a_capture_profiles_the_second_call(monkeypatch, tmp_path):
    monkeypatch.setattr(torch.cuda, "CUDAGraph", Graph)
    spec = {"workload": "", "training": False,
            "variant": {"compile": True, "torchscript": False, "backend": None}}  # fmt: skip
    worker = serve.Worker(spec, None)
    worker._clock = timing.Clock(torch.device("cpu"))
    worker._graphs = GraphCaptures()
    worker._graphs.start()
    worker._step = Step()
    worker.do_watch_graphs(str(tmp_path / "traces"))
    worker._step(0)  # the first call
    assert worker.do_capture_graphs() == {"note": None}
    assert worker._step.n_calls == 1 + 3 * Step.n_shapes
    assert "aten::relu" in names_in(tmp_path / "traces" / "graph_0.json.gz")
    assert Graph.capture_begin.__qualname__ == "Graph.capture_begin"


class Step:
    """Captures in its second call, as Inductor's graphs do."""

    n_shapes = 2
    n_calls = 0

    def ready(self):
        """Nothing is kept between calls."""

    def __call__(self, index):
        self.n_calls += 1
        if self.n_calls == 2:
            captured(torch.nn.ReLU())


class Child:
    """Answers what `results` has; keeps what it was asked."""

    def __init__(self, results):
        self.results, self.asked, self.waiting = results, [], []

    def ask(self, command, **fields):
        self.asked.append((command, fields))
        return self.results.get(command, {})

    def tell(self, command, **fields):
        self.asked.append((command, fields))
        self.waiting.append(command)

    def answers(self):
        return [self.results.get(self.waiting.pop(0), {})]

    def close(self):
        self.asked.append(("close", {}))


@pytest.mark.parametrize("n_captures", [0, 2])
def test_graphs_that_the_profiled_steps_replay_are_captured_in_a_second_process(
    n_captures, tmp_path, monkeypatch
):
    writer = RunWriter(tmp_path / "run", {"status": "running", "measurement": {}})
    run = VariantRun(SimpleNamespace(compile=True, torchscript=False, label="graphs"), writer)
    run._context = SimpleNamespace(
        spec=SimpleNamespace(
            profile_wait=0, profile_warmup=0, steps=1, warm_compile=False, metrics=()
        ),
        progress=SimpleNamespace(say=lambda *_: None),
        telemetry=SimpleNamespace(sampling=lambda _: contextlib.nullcontext()),
    )
    run._work = tmp_path
    results = {"profile": {"started_ns": 0, "wall_ns": 1, "n_active_steps": 1,
                           "peak_allocated_bytes": 0, "peak_reserved_bytes": 0,
                           "n_graph_captures": n_captures},
               "first_call": {"first_call_ns": 1},
               "capture_graphs": {"note": "One was left out."}}  # fmt: skip
    run._child = SimpleNamespace(ask=Child(results).ask, pid=1)
    run._profile(tmp_path / "trace.json.gz", stacks=False)
    second = Child(results)
    monkeypatch.setattr(run, "_spawn", lambda *_: second)
    run.begin_check(None)
    run.end_check()
    folder = str(writer.directory / "capture_traces")
    assert second.asked == (
        [("load", {}), ("watch_graphs", {"path": folder}), ("build", {}), ("first_call", {}),
         ("capture_graphs", {}), ("close", {})] if n_captures else []
    )  # fmt: skip
    assert writer.measurement.get("notes", []) == (["One was left out."] if n_captures else [])
    assert "warm_first_call_ns" not in writer.measurement

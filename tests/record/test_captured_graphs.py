"""A Recorder that is there when CUDA graphs are captured keeps what their captures recorded."""

import gc
from pathlib import Path
from types import SimpleNamespace

import pytest

from profiler_core.record import Recorder
from profiler_core.record.stages.captured import CapturedGraphs
from tests.capture.test_graph_captures import Graph, captured, names_in
from tests.lazily import Lazily

torch = Lazily("torch")

pytestmark = pytest.mark.torch


@pytest.fixture(autouse=True)
def graphs(monkeypatch):
    monkeypatch.setattr(torch.cuda, "CUDAGraph", Graph)
    yield
    gc.collect()
    assert Graph.capture_begin.__qualname__ == "Graph.capture_begin"


def noted(recorder, tmp_path):
    """What the stage before the timed rounds says of the captures."""
    notes = []
    recording = SimpleNamespace(directory=tmp_path, note=notes.append)
    assert not CapturedGraphs(recorder._graphs).begin(recording)
    return notes


def test_captures_before_the_loop_go_into_the_run_and_watching_ends(tmp_path):
    recorder = Recorder(tmp_path / "runs", graphs=True)
    captured(torch.nn.ReLU())
    (note,) = noted(recorder, tmp_path)
    captured(torch.nn.Sigmoid())
    (path,) = (tmp_path / "capture_traces").iterdir()
    assert "aten::relu" in names_in(path)
    assert "makes steps that launch graphs some percent longer" in note


@pytest.mark.parametrize("n_captures", [0, 1])
def test_without_the_option_nothing_is_profiled_and_a_note_names_it(n_captures, tmp_path):
    recorder = Recorder(tmp_path / "runs")
    for _ in range(n_captures):
        captured(torch.nn.ReLU())
    notes = noted(recorder, tmp_path)
    assert ["Recorder(graphs=True)" in note for note in notes] == [True] * n_captures
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("options", [{"enabled": False}, {"profile": False}])
def test_nothing_is_watched_where_it_is_switched_off(options, tmp_path):
    recorder = Recorder(tmp_path, **options)
    assert Graph.capture_begin.__qualname__ == "Graph.capture_begin"
    assert recorder._graphs is None


def test_a_recorder_that_never_starts_leaves_nothing(tmp_path):
    recorder = Recorder(tmp_path, graphs=True)
    captured(torch.nn.ReLU())
    folder = Path(recorder._graphs.folder)
    assert len(list(folder.iterdir())) == 1
    del recorder
    gc.collect()
    assert not folder.parent.exists()
    assert Graph.capture_begin.__qualname__ == "Graph.capture_begin"

"""A Recorder that is there when CUDA graphs are captured keeps what their captures recorded."""

import gc
from pathlib import Path
from types import SimpleNamespace

import pytest
import torch

from profiler_core.record import Recorder
from profiler_core.record.stages.captured import CapturedGraphs
from tests.capture.test_graph_captures import Graph, captured, names_in

pytestmark = pytest.mark.torch


@pytest.fixture(autouse=True)
def graphs(monkeypatch):
    monkeypatch.setattr(torch.cuda, "CUDAGraph", Graph)
    yield
    gc.collect()
    assert Graph.capture_begin.__qualname__ == "Graph.capture_begin"


def test_captures_before_the_loop_go_into_the_run_and_watching_ends(tmp_path):
    recorder, notes = Recorder(tmp_path / "runs"), []
    captured(torch.nn.ReLU())
    recording = SimpleNamespace(directory=tmp_path, note=notes.append)
    assert not CapturedGraphs(recorder._graphs).begin(recording)
    captured(torch.nn.Sigmoid())
    (path,) = (tmp_path / "capture_traces").iterdir()
    assert "aten::relu" in names_in(path)
    assert notes == ["1 capture of a CUDA graph was profiled, before the timed rounds."]


@pytest.mark.parametrize("options", [{"enabled": False}, {"graphs": False}, {"profile": False}])
def test_nothing_is_watched_where_it_is_switched_off(options, tmp_path):
    recorder = Recorder(tmp_path, **options)
    assert Graph.capture_begin.__qualname__ == "Graph.capture_begin"
    assert recorder._graphs is None


def test_a_recorder_that_never_starts_leaves_nothing(tmp_path):
    recorder = Recorder(tmp_path)
    captured(torch.nn.ReLU())
    folder = Path(recorder._graphs.folder)
    assert len(list(folder.iterdir())) == 1
    del recorder
    gc.collect()
    assert not folder.parent.exists()
    assert Graph.capture_begin.__qualname__ == "Graph.capture_begin"

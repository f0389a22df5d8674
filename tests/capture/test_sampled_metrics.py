"""`capture --metrics`: what torch's profiler is asked for, and the sentence where it cannot be."""

import gzip
import json
from types import SimpleNamespace

import pytest

from profiler_core.capture.child import passes
from profiler_core.capture.option_texts import parse_metrics
from profiler_core.capture.spec import CaptureSpec, parse_variants
from profiler_core.errors import BadInput
from tests.lazily import Lazily

torch = Lazily("torch")

SCHEDULE = {"wait": 0, "warmup": 1, "active": 1}
NAME = "sm__cycles_active.avg.pct_of_peak_sustained_elapsed"


@pytest.fixture(autouse=True)
def sampling_torch(monkeypatch):
    """The installed torch, or what torch 2.15 adds to it."""
    if not hasattr(torch.profiler, "PerformanceMetricsConfig"):
        for name in ("PerformanceMetricsConfig", "ProfilerActivityConfig"):
            monkeypatch.setattr(torch.profiler, name, SimpleNamespace, raising=False)


@pytest.fixture
def asked(monkeypatch):
    """The activities that torch's profiler was made with."""
    made = []
    monkeypatch.setattr(torch.profiler, "profile", lambda **more: made.append(more["activities"]))
    return made


def test_torch_is_asked_for_the_metrics_of_the_gpu(asked):
    passes.ProfiledPass(torch.device("cuda"), "t.json", SCHEDULE, False, [NAME])
    ((host, gpu),) = asked
    assert host == torch.profiler.ProfilerActivity.CPU
    (config,) = gpu[torch.profiler.ProfilerActivity.CUDA].profiler_configs
    assert config == torch.profiler.PerformanceMetricsConfig(metric_names=[NAME])


def test_without_metrics_it_is_asked_as_ever(asked):
    passes.ProfiledPass(torch.device("cuda"), "t.json", SCHEDULE, False)
    kinds = torch.profiler.ProfilerActivity
    assert asked == [[kinds.CPU, kinds.CUDA]]


def test_where_it_cannot_be_the_sentence_says_so(asked, monkeypatch):
    passes.ProfiledPass(torch.device("cpu"), "t.json", SCHEDULE, False, [NAME])
    assert asked == [[torch.profiler.ProfilerActivity.CPU]]
    assert "NVIDIA GPUs alone" in passes.why_no_metrics(torch.device("cpu"))
    monkeypatch.delattr(torch.profiler, "PerformanceMetricsConfig")
    assert "torch 2.15" in passes.why_no_metrics(torch.device("cuda"))
    passes.ProfiledPass(torch.device("cuda"), "t.json", SCHEDULE, False, [NAME])
    assert asked[-1][1] == torch.profiler.ProfilerActivity.CUDA


class Steps:
    """Steps of one shape that are counted."""

    n_shapes, n = 1, 0

    def ready(self):
        pass

    def __call__(self, index):
        self.n += 1


def profiled(monkeypatch, tmp_path, events, refusal=None):
    """The result of a pass whose profiler writes these events, or refuses metrics."""

    class Profiler:
        def __init__(self, *, activities, on_trace_ready, **more):
            self.asks, self.ready = any(isinstance(a, dict) for a in activities), on_trace_ready

        def start(self):
            if refusal and self.asks:
                raise RuntimeError(refusal)

        def step(self):
            pass

        def stop(self):
            self.ready(self)

        def export_chrome_trace(self, path):
            with gzip.open(path, "wt") as file:
                json.dump({"traceEvents": events}, file)

    monkeypatch.setattr(torch.profiler, "profile", Profiler)
    monkeypatch.setattr(passes, "reset_peaks", lambda device: None)
    monkeypatch.setattr(passes, "peaks_since", lambda device: {})
    clock, steps = SimpleNamespace(synchronize=lambda: None), Steps()
    path = tmp_path / "trace.json.gz"
    device = torch.device("cuda")
    result = passes.profile(steps, clock, device, str(path), SCHEDULE, False, [NAME])
    return result, steps.n


def test_metrics_that_came_are_not_denied(monkeypatch, tmp_path):
    events = [{"ph": "X", "name": "a"}, {"ph": "C", "name": NAME, "args": {NAME: 3}}]
    result, n = profiled(monkeypatch, tmp_path, events)
    assert (result["no_metrics"], result["exported"], n) == (None, True, 2)


def test_a_trace_without_a_sample_says_that_the_driver_refused(monkeypatch, tmp_path):
    result, _ = profiled(monkeypatch, tmp_path, [{"ph": "X", "name": "C"}])
    assert "NVreg_RestrictProfilingToAdminUsers" in result["no_metrics"]


def test_a_driver_that_refuses_costs_the_metrics_and_not_the_trace(monkeypatch, tmp_path):
    refusal = "CUPTI_ERROR_INSUFFICIENT_PRIVILEGES\nat line 7"
    result, n = profiled(monkeypatch, tmp_path, [], refusal)
    assert result["no_metrics"] == (
        "The driver sampled no performance metrics: CUPTI_ERROR_INSUFFICIENT_PRIVILEGES"
    )
    assert (result["exported"], n) == (True, 2)


def test_the_option_goes_through_the_words_of_the_command():
    spec = CaptureSpec("a/b.py:f", parse_variants("eager"), metrics=parse_metrics(f"{NAME}, x.y"))
    assert f"--metrics={NAME},x.y" in spec.to_argv()
    with pytest.raises(BadInput, match="cannot be read"):
        parse_metrics("a b")

"""`capture --metrics`: what torch's profiler is asked for, and the sentence where it cannot be."""

import pytest
import torch

from profiler_core.capture.child import passes
from profiler_core.capture.option_texts import parse_metrics
from profiler_core.capture.spec import CaptureSpec, parse_variants
from profiler_core.errors import BadInput

SCHEDULE = {"wait": 0, "warmup": 1, "active": 1}
NAME = "sm__cycles_active.avg.pct_of_peak_sustained_elapsed"


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


def test_the_option_goes_through_the_words_of_the_command():
    spec = CaptureSpec("a/b.py:f", parse_variants("eager"), metrics=parse_metrics(f"{NAME}, x.y"))
    assert f"--metrics={NAME},x.y" in spec.to_argv()
    with pytest.raises(BadInput, match="cannot be read"):
        parse_metrics("a b")

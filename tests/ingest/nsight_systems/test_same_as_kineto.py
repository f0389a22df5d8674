"""One recording, written by both tools: the analyses must not tell which one they were given."""

from dataclasses import fields
from pathlib import Path

import polars as pl
import pytest

from profiler_core.analysis.kernel_calls import kernel_calls
from profiler_core.analysis.summary import summarise
from profiler_core.ingest.nsight_systems.reader import read_nsight_systems
from profiler_core.ingest.open import open_trace
from tests.ingest.nsight_systems.of_trace import export_of

CAPTURES = Path(__file__).parents[2] / "fixtures" / "captures"

# Where the window begins counts from the first event, which is of another kind in each.
_OWN = {"source", "n_events", "window", "steps", "memory", "notes", "recorded_by"}


@pytest.fixture(params=["customcnn_b1.eager", "customcnn_b1.reduce-overhead", "breaky.default"])
def both(request, tmp_path, monkeypatch):
    monkeypatch.setenv("FUSIONSCOPE_HOME", str(tmp_path / "home"))
    kineto = open_trace(CAPTURES / request.param / "trace.json.gz")
    return kineto, read_nsight_systems(export_of(kineto, tmp_path / "report.sqlite"))


def test_every_number_of_the_summary_is_the_same(both):
    kineto, nsight = map(summarise, both)
    for field in fields(kineto):
        if field.name not in _OWN:
            assert getattr(nsight, field.name) == getattr(kineto, field.name), field.name
    for own, theirs in zip(nsight.steps, kineto.steps, strict=True):
        assert (own.name, own.dur_ns, own.host_dur_ns) == (
            theirs.name, theirs.dur_ns, theirs.host_dur_ns,
        )  # fmt: skip


def test_each_kernel_has_the_operator_that_kineto_says(both):
    kineto, nsight = both
    for name in kineto.device["name"].cast(pl.String).unique():
        assert kernel_calls(nsight, name).by_operator == kernel_calls(kineto, name).by_operator

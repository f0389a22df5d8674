"""Samples of performance metrics in a trace, by the source of both writers that torch 2.15 has.

`tests/fixtures/kineto/real/pm_sampling.json` has what `_build_chrome_counters` of that torch's own
`torch/profiler/_cuspy/trace.py` makes of samples that were put in; the README beside it says how.
"""

import json
from pathlib import Path

import polars as pl
import pytest

from profiler_core.ingest.kineto.counter_events import counter_rows
from profiler_core.ingest.kineto.reader import read_kineto
from profiler_core.session.run import Run

FILE = Path(__file__).resolve().parents[1] / "fixtures" / "kineto" / "real" / "pm_sampling.json"
# By libkineto/src/output_json.cpp: its lines, with the metric as the key.
OF_KINETO = """
  {
    "ph": "C",
    "cat": "performance_metrics",
    "name": "GPU metrics",
    "pid": 1,
    "tid": 0,
    "ts": 12.500,
    "args": {
      "sm__cycles_active.avg": 42.5,"gpu__dram_throughput.avg": 7
    }
  }"""


def rows(trace):
    counters = trace.counters.with_columns(pl.col("name").cast(pl.String))
    return [row[1:] for row in counters.sort("name", "ts_ns").rows()]


@pytest.mark.parametrize("chunk_bytes", [(1 << 20,), (300,)])
def test_the_samples_of_cuspy_are_a_table_and_no_event_is_lost(chunk_bytes):
    trace = read_kineto(FILE, chunk_bytes=chunk_bytes)
    assert rows(trace) == [
        (0, "DRAM BW (%)", 11.0),
        (0, "DRAM BW (%)", 52.25),
        (0, "DRAM BW (%)", 3.0),
        (0, "SM Active (%)", 25.5),
        (0, "SM Active (%)", 97.0),
        (0, "SM Active (%)", 88.5),
    ]
    kernel_ns = trace.device["ts_ns"][0]
    samples = trace.counters["ts_ns"].unique().sort().to_list()
    assert [sample - kernel_ns for sample in samples] == [0, 1_000_000, 2_000_000]
    assert not trace.tally.skipped
    assert "not read" not in " ".join(Run.open(FILE).summary.notes)


def test_the_samples_of_kineto_are_named_by_their_keys():
    counters, n_events = counter_rows(OF_KINETO.encode())
    assert (n_events, counters.rows()) == (
        1,
        [(12_500, 1, "sm__cycles_active.avg", 42.5), (12_500, 1, "gpu__dram_throughput.avg", 7.0)],
    )


def test_a_counter_without_a_number_stays_among_what_was_not_read(tmp_path):
    events = [
        {"ph": "X", "cat": "kernel", "name": "k", "pid": 0, "tid": 7, "ts": 1, "dur": 1},
        {"args": {"": 5}, "ts": 2, "name": "SM Active (%)", "pid": "GPU 3 Counters", "ph": "C"},
        {"ph": "C", "name": "odd", "pid": 1, "ts": 1, "args": {"": "high"}},
    ]
    path = tmp_path / "trace.json"
    path.write_text(json.dumps({"traceEvents": events}))
    trace = read_kineto(path)
    assert rows(trace) == [(3, "SM Active (%)", 5.0)]
    assert trace.tally.skipped == {"phase 'C' is not read": 1}

"""Counters in words, and in the CSV that the kernels page offers."""

import csv
import io

import pytest

from profiler_core.analysis.counters.groups import MeasuredLedger
from profiler_core.analysis.counters.kernels import KernelCounters
from profiler_core.analysis.counters.measured import Measured
from profiler_core.analysis.kernel_sides import KernelRow, KernelSide
from profiler_core.ui.counters.words import (
    detail_lines,
    dram_change,
    traffic_sentence,
    use_sentence,
)
from profiler_core.ui.kernels.table import kernel_csv

NOTHING = Measured(1, None, None, None, None, None, None, None, None, None)
FULL = Measured(2, 50_000.0, 200e6, 100e6, 300e6, 100e6, 80.0, 54.0, None, 0)


def test_lines_that_no_run_fills_are_left_out():
    assert detail_lines([None, KernelCounters("a", NOTHING)]) == []
    lines = dict(detail_lines([None, KernelCounters("a", FULL, 300e6)]))
    assert lines["DRAM read, per step"] == ["–", "200 MB"]
    assert lines["Bandwidth of DRAM"][1].startswith("6.00 TB/s")
    assert lines["Tensor pipe"] == ["–", "not used"]
    assert "Nearly all" in lines["By shapes, read and written"][1]


@pytest.mark.parametrize(
    ("estimate", "words"),
    [
        (300e6, "100\u00a0% of what shapes say. Nearly all of it goes through the memory."),
        (600e6, "50\u00a0% of what shapes say. The rest stays in the L2 cache."),
        (6e9, "5\u00a0% of what shapes say. It stays in the L2 cache."),
        (150e6, "200\u00a0% of what shapes say. Copies of layouts"),
        (None, "and 100 MB written, per step."),
    ],
)
def test_traffic_is_put_beside_the_estimate(estimate, words):
    assert words in traffic_sentence(FULL, estimate)


def test_no_sentence_without_dram_bytes():
    assert traffic_sentence(NOTHING, 5.0) is None


def test_how_well_the_device_is_used_is_one_sentence():
    assert use_sentence(FULL) == (
        "DRAM at 6.00 TB/s, 80 % of its peak; L2: 300 MB read, 100 MB written; occupancy 54 %; "
        "tensor pipe not used."
    )
    assert use_sentence(NOTHING) is None


def test_traffic_of_folded_groups_is_added_up():
    groups = {0: (FULL, FULL), 1: (FULL, NOTHING), 2: (FULL, None)}
    measured = MeasuredLedger((None, None), (None, None), groups)
    assert dram_change(measured, [0, 1]) == "600 MB → 300 MB"
    assert dram_change(measured, [2]) == "300 MB → –"
    assert dram_change(measured, [7]) == ""


def test_the_csv_has_the_counters_of_the_runs_that_have_them():
    side = KernelSide(1.0, 5.0, 5.0, 5, 5)
    rows = [KernelRow("a", "gemm", (side, side)), KernelRow("b", "gemm", (side, None))]
    text = kernel_csv(["x", "y"], rows, [{"a": KernelCounters("a", FULL)}, None])
    first, second = csv.DictReader(io.StringIO(text))
    assert first["x: dram_read_bytes_per_step"] == "200000000.0"
    assert second["x: dram_read_bytes_per_step"] == ""
    assert not any(head.startswith("y: dram") for head in first)

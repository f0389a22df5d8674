"""Finding ncu, what it is told, and what its complaints mean."""

import re
from pathlib import Path

import pytest

from profiler_core.capture.counters import tool as tool_of_counters
from profiler_core.capture.counters.command import METRICS, OPTIONS, ncu_words
from profiler_core.capture.counters.tool import counters_tool, find_tool
from profiler_core.capture.counters.trouble import trouble
from profiler_core.errors import CaptureFailed
from profiler_core.ingest.counters.metrics import METRICS as READ
from profiler_core.ingest.counters.metrics import TEXTS

ROOT = Path(__file__).resolve().parents[3]


def test_it_is_found_with_its_version(fake_ncu):
    tool = find_tool()
    assert tool.path == str(fake_ncu)
    assert tool.title == "Nsight Compute 2025.3.1.0"
    assert counters_tool("cuda:0") == tool


def test_it_is_found_where_installers_put_it_the_newest_first(tmp_path, monkeypatch):
    monkeypatch.setenv("PATH", "/nowhere")
    for version in ("2024.3.0", "2025.10.1", "2025.3.1"):
        (tmp_path / version).mkdir()
        (tmp_path / version / "ncu").write_text("#!/bin/sh\nexit 1\n")
        (tmp_path / version / "ncu").chmod(0o755)
    monkeypatch.setattr(tool_of_counters, "_ELSEWHERE", (f"{tmp_path}/*/ncu",))
    tool = find_tool()
    assert tool.path == str(tmp_path / "2025.10.1" / "ncu")
    assert tool.version is None and tool.title == "Nsight Compute"
    monkeypatch.setattr(tool_of_counters, "_ELSEWHERE", (f"{tmp_path}/none/*",))
    assert find_tool() is None


def test_without_it_or_without_a_gpu_a_capture_says_so_at_once(monkeypatch):
    monkeypatch.setattr("profiler_core.capture.counters.tool.find_tool", lambda: None)
    with pytest.raises(CaptureFailed, match=r"ncu. is not installed"):
        counters_tool("cuda:0")
    with pytest.raises(CaptureFailed, match="runs on cpu"):
        counters_tool("cpu")


def test_every_column_of_the_model_is_measured_and_nothing_else():
    columns = {column for column, names in READ.items() if {name for name, _ in names} & {*METRICS}}
    # The share of the tensor pipe is another replay; its instructions say whether it is used.
    assert columns == READ.keys() - {"tensor_pct"}
    known = {name for names in READ.values() for name, _ in names} | {*TEXTS.values()}
    assert set(METRICS) <= known


def test_the_page_about_counters_shows_the_same_words():
    text = (ROOT / "docs" / "counters.md").read_text(encoding="utf-8")
    shown = re.sub(r"\s*\\\n\s*", " ", text)
    assert f"ncu {' '.join(OPTIONS)} --log-file" in shown
    assert f"--metrics {','.join(METRICS)} " in shown


def test_the_program_follows_the_words():
    words = ncu_words("/opt/ncu", Path("/tmp/x.csv"))
    assert words[0] == "/opt/ncu"
    assert words[-4:-1] == ("--log-file", "/tmp/x.csv", "--metrics")
    for option in ("--target-processes", "--profile-from-start", "--graph-profiling"):
        assert option in words


@pytest.mark.parametrize(
    ("said", "sentence"),
    [
        ("==ERROR== ERR_NVGPUCTRPERM - The user does not", "may not read this GPU's counters"),
        (
            "==ERROR== Profiling failed because a driver resource was unavailable. Ensure that no "
            "other tool (like DCGM) is concurrently collecting profiling data.",
            "dcgmi profile --pause",
        ),
        ("==ERROR== Cuda driver is not compatible with Nsight Compute.", "does not fit the driver"),
        ("==ERROR== Failed to find metric dram__x.sum", "does not support a requested counter"),
        ("==WARNING== No kernels were profiled.", "saw no kernel"),
        ("==ERROR== The application returned an error code (11).", "segmentation fault"),
        (
            "==PROF== a\n==ERROR== New.\n==ERROR== more",
            "could not measure: New.",
        ),
    ],
)
def test_a_complaint_becomes_a_sentence(said, sentence):
    assert sentence in trouble(said)


def test_no_complaint_is_none():
    assert trouble("==PROF== Connected to process 1\n==WARNING== Note: Running with …\n") is None

"""Samples from files: whole, cut, foreign, packed and hostile ones."""

import gzip
import json

import pytest

from profiler_core.errors import BadInput
from profiler_core.ingest.telemetry import reader
from profiler_core.ingest.telemetry.reader import (
    read_gpu_samples,
    read_host_samples,
    read_run_samples,
)
from profiler_core.model.run import RunFiles, RunRecord

ROW = {"t_ns": 5, "gpu_index": 0, "power_w": 118.9, "process_memory_bytes": {"7": None}}


@pytest.fixture(autouse=True)
def own_home(tmp_path, monkeypatch):
    monkeypatch.setenv("FUSIONSCOPE_HOME", str(tmp_path / "home"))


def written(tmp_path, *lines, packed=False):
    path = tmp_path / "nvml.jsonl"
    data = "\n".join(x if isinstance(x, str) else json.dumps(x) for x in lines).encode()
    path.write_bytes(gzip.compress(data) if packed else data)
    return path


@pytest.mark.parametrize("packed", [False, True])
def test_samples_come_by_time(tmp_path, packed):
    found = read_gpu_samples(written(tmp_path, ROW, {**ROW, "t_ns": 3}, packed=packed))
    assert [s.t_ns for s in found.samples] == [3, 5]
    assert found.samples[0].process_memory_bytes == {"7": None}
    assert found.samples[0].energy_mj is None
    assert found.tally.n_skipped == 0


def test_lines_that_are_no_samples_are_counted(tmp_path):
    lines = (ROW, '{"t_ns": 5, "gpu_in', "", {"t_ns": "x", "gpu_index": 0}, "[1]", "[" * 5000)
    found = read_gpu_samples(written(tmp_path, *lines))
    assert len(found.samples) == 1
    assert (found.tally.n_events, found.tally.n_skipped) == (5, 4)


def test_unknown_keys_and_whole_floats_are_read(tmp_path):
    row = {**ROW, "new_key": [1], "sm_clock_mhz": 1980, "energy_mj": 12.0}
    (sample,) = read_gpu_samples(written(tmp_path, row)).samples
    assert (sample.sm_clock_mhz, sample.energy_mj) == (1980.0, 12)


def test_the_gpu_with_most_samples_comes_first(tmp_path):
    rows = [{**ROW, "gpu_index": g} for g in (0, 1, 1)]
    assert read_gpu_samples(written(tmp_path, *rows)).indexes == (1, 0)


def test_a_file_without_a_sample_is_refused_with_a_sentence(tmp_path):
    with pytest.raises(BadInput, match="holds no sample: none of its 2 lines"):
        read_gpu_samples(written(tmp_path, "{}", "x"))


def test_a_bomb_is_refused_early(tmp_path, monkeypatch):
    monkeypatch.setattr(reader, "MOST_BYTES", 1 << 20)
    path = tmp_path / "nvml.jsonl"
    path.write_bytes(gzip.compress(b" " * (8 << 20)))
    with pytest.raises(BadInput, match="more than 1 MB of samples"):
        read_gpu_samples(path)


def test_a_damaged_file_takes_nothing_else_with_it(tmp_path):
    host = tmp_path / "host.jsonl"
    host.write_text('{"t_ns": 1, "pid": 7, "cpu_ns": 5}\n')
    run = RunFiles(record=RunRecord(), path=tmp_path, nvml=written(tmp_path, "x"), host=host)
    found = read_run_samples(run)
    assert found.gpus is None
    assert "no sample" in found.problems["gpu"]
    assert found.hosts.samples == read_host_samples(host).samples

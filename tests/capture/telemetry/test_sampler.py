"""The sampling loop against a fake clock, and what it writes of GPUs."""

import json

import pytest

from profiler_core.capture.nvml import Gpu
from profiler_core.capture.telemetry.gpu_series import GpuReader, gpu_series
from profiler_core.capture.telemetry.sampler import Sampler, Series
from profiler_core.capture.telemetry.sampling import telemetry_of
from tests.capture.test_nvml import KEYS, FakeNvml


class FakeTime:
    """A clock that moves by waiting, and by `costs` for each sample; stops after `n` waits."""

    def __init__(self, n, costs=()):
        self.now, self.n, self.waits, self.costs = 100.0, n, [], list(costs)

    def monotonic(self):
        return self.now

    def wall_ns(self):
        at = round((self.now - 100.0) * 1e9)
        self.now += self.costs.pop(0) if self.costs else 0.0
        return at

    def wait(self, seconds):
        self.waits.append(seconds)
        self.now += seconds
        return len(self.waits) >= self.n


def sampled(tmp_path, time, devices=None, others=(), period_s=0.05):
    path = tmp_path / "nvml.jsonl"
    measured = devices or [Gpu(FakeNvml(), None, 0)]
    series, _ = gpu_series(measured, others, "nvml", [path], period_s)
    Sampler(series, period_s, time.monotonic, time.wall_ns).run(time.wait)
    return [json.loads(line) for line in path.read_text().splitlines()]


def test_samples_keep_their_rate_though_each_takes_time(tmp_path):
    time = FakeTime(n=4, costs=[0.008] * 4)
    samples = sampled(tmp_path, time)
    assert [round(s["t_ns"] / 1e6) for s in samples] == [0, 50, 100, 150]
    assert time.waits == pytest.approx([0.042] * 4)


def test_a_missed_deadline_is_left_out_and_the_others_keep_their_place(tmp_path):
    samples = sampled(tmp_path, FakeTime(n=4, costs=[0.0, 0.12, 0.0, 0.0]))
    assert [round(s["t_ns"] / 1e6) for s in samples] == [0, 50, 200, 250]


def test_a_thousand_samples_do_not_drift(tmp_path):
    samples = sampled(tmp_path, FakeTime(n=1000, costs=[0.003, 0.011] * 500))
    assert [round(s["t_ns"] / 1e6) for s in samples] == [50 * k for k in range(1000)]


def test_other_gpus_are_read_once_a_second(tmp_path):
    nvml = FakeNvml()
    samples = sampled(tmp_path, FakeTime(n=41), [Gpu(nvml, None, 1)], [Gpu(nvml, None, 0)])
    assert sum(s["gpu_index"] == 1 for s in samples) == 41
    others = [s["t_ns"] / 1e9 for s in samples if s["gpu_index"] == 0]
    assert others == pytest.approx([0, 1, 2])


def test_the_gpu_of_every_rank_is_read_at_full_rate(tmp_path):
    nvml = FakeNvml()
    ranks = [Gpu(nvml, None, 2), Gpu(nvml, None, 0)]
    samples = sampled(tmp_path, FakeTime(n=41), ranks, [Gpu(nvml, None, 1)])
    n_of = [sum(s["gpu_index"] == index for s in samples) for index in range(3)]
    assert n_of == [41, 3, 41]


def test_more_gpus_than_can_be_read_in_a_period_are_read_less_often(tmp_path):
    nvml = FakeNvml()
    samples = sampled(tmp_path, FakeTime(n=10), [Gpu(nvml, None, n) for n in range(8)])
    assert [round(s["t_ns"] / 1e6) for s in samples if s["gpu_index"] == 7] == [
        0,
        100,
        200,
        300,
        400,
    ]


def test_a_row_has_the_keys_of_the_design_and_the_first_says_who_sampled(tmp_path):
    first, *others = sampled(tmp_path, FakeTime(n=3))
    assert first.pop("sampler") == {"source": "nvml", "gpu": "NVIDIA Made Up", "period_s": 0.05}
    assert all(set(row) == KEYS for row in (first, *others))


def test_reasons_are_written_when_they_change():
    nvml = FakeNvml(["nvmlDeviceGetTotalEnergyConsumption"])
    read = GpuReader(Gpu(nvml, None, 0), "nvml", 0.05)
    assert read(0)["reasons"] == {"energy_mj": "nvmlDeviceGetTotalEnergyConsumption: Not Supported"}
    assert "reasons" not in read(1)
    nvml._broken = ()
    assert read(2)["reasons"] == {}


def test_pcie_is_read_apart_and_is_in_the_next_row_only():
    read = GpuReader(Gpu(FakeNvml(), None, 0), "nvml", 0.05)
    assert read(0)["pcie_tx_kbps"] is None
    read.read_pcie(lambda seconds: True)
    row = read(1)
    assert (row["pcie_tx_kbps"], row["pcie_rx_kbps"]) == (11504, 700)
    assert read(2)["pcie_tx_kbps"] is None


def test_a_pcie_pair_is_read_once_a_second():
    waits = []
    read = GpuReader(Gpu(FakeNvml(), None, 0), "nvml", 0.05)
    read.read_pcie(lambda seconds: waits.append(seconds) or len(waits) == 3)
    assert waits == [1.0, 1.0, 1.0]


def test_every_run_gets_each_row(tmp_path):
    paths = [tmp_path / "a.jsonl", tmp_path / "b.jsonl"]
    series, _ = gpu_series([Gpu(FakeNvml(), None, 0)], [], "nvml", paths, 0.1)
    time = FakeTime(n=3)
    Sampler(series, 0.1, time.monotonic, time.wall_ns).run(time.wait)
    assert paths[0].read_text() == paths[1].read_text() != ""


def test_the_threads_sample_until_the_phase_ends(tmp_path):
    path = tmp_path / "nvml.jsonl"
    series, beside = gpu_series([Gpu(FakeNvml(), None, 0)], [], "nvml", [path], 0.001)
    with Sampler(series, 0.001, beside=beside):
        while not path.exists() or len(path.read_text().splitlines()) < 3:
            pass
    lines = [json.loads(line) for line in path.read_text().splitlines()]
    assert all(set(line) - {"sampler"} == KEYS for line in lines)


def test_a_series_with_nothing_to_say_writes_nothing(tmp_path):
    path = tmp_path / "host.jsonl"
    time = FakeTime(n=2)
    Sampler([Series(lambda t_ns: None, (path,))], 0.1, time.monotonic, time.wall_ns).run(time.wait)
    assert path.read_text() == ""


def test_without_a_gpu_it_says_so():
    telemetry = telemetry_of(["cpu"], [])
    assert telemetry.gpu is None
    assert telemetry.facts()["telemetry_missing"] == "The variants ran on the CPU."

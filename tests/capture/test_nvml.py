"""The NVML sampler against a fake NVML and a fake clock."""
# ruff: noqa: N802 - the fake has the names of pynvml

import json
from types import SimpleNamespace

import pytest

from profiler_core.capture.nvml import Gpu, Sampler

KEYS = {
    "t_ns", "gpu_index", "utilization_gpu_pct", "utilization_memory_pct", "memory_used_bytes",
    "power_w", "energy_mj", "sm_clock_mhz", "memory_clock_mhz", "temperature_c",
    "clocks_event_reasons", "pcie_tx_kbps", "pcie_rx_kbps", "process_memory_bytes",
}  # fmt: skip


class FakeNvmlError(Exception):
    pass


class FakeNvml:
    """Answers like pynvml; a name in `broken` raises, as an unsupported query does."""

    NVMLError = FakeNvmlError
    NVML_CLOCK_SM, NVML_CLOCK_MEM, NVML_TEMPERATURE_GPU = 1, 2, 0
    NVML_PCIE_UTIL_TX_BYTES, NVML_PCIE_UTIL_RX_BYTES = 0, 1

    def __init__(self, broken=()):
        self._broken = broken

    def __getattribute__(self, name):
        if name.startswith("nvml") and name in object.__getattribute__(self, "_broken"):

            def refuse(*arguments):
                raise FakeNvmlError("Not Supported")

            return refuse
        return object.__getattribute__(self, name)

    def nvmlDeviceGetHandleByIndex(self, index):
        return f"handle {index}"

    def nvmlDeviceGetHandleByUUID(self, uuid):
        return f"handle of {uuid}"

    def nvmlDeviceGetIndex(self, handle):
        return 3 if handle == "handle of GPU-x" else int(handle.split()[-1])

    def nvmlDeviceGetUtilizationRates(self, handle):
        return SimpleNamespace(gpu=67, memory=17)

    def nvmlDeviceGetMemoryInfo(self, handle):
        return SimpleNamespace(used=2_021_523_456)

    def nvmlDeviceGetPowerUsage(self, handle):
        return 159_842

    def nvmlDeviceGetTotalEnergyConsumption(self, handle):
        return 12_759_669

    def nvmlDeviceGetClockInfo(self, handle, clock):
        return {1: 1980, 2: 3201}[clock]

    def nvmlDeviceGetTemperature(self, handle, sensor):
        return 39

    def nvmlDeviceGetCurrentClocksThrottleReasons(self, handle):
        return 4

    def nvmlDeviceGetComputeRunningProcesses(self, handle):
        return [SimpleNamespace(pid=1149, usedGpuMemory=1_367_343_104)]

    def nvmlDeviceGetPcieThroughput(self, handle, counter):
        return {0: 11504, 1: 700}[counter]


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


def sampled(tmp_path, time, **more):
    path = tmp_path / "nvml.jsonl"
    sampler = Sampler(Gpu(FakeNvml(), None, 0), path, 0.05, time.monotonic, time.wall_ns)
    for name, value in more.items():
        setattr(sampler, name, value)
    sampler.run(time.wait)
    return [json.loads(line) for line in path.read_text().splitlines()]


def test_a_sample_has_all_keys():
    sample = Gpu(FakeNvml(), None, 0).sample(5)
    assert set(sample) == KEYS
    assert sample["t_ns"] == 5
    assert sample["power_w"] == 159.842
    assert sample["clocks_event_reasons"] == 4  # by the name of older drivers
    assert sample["process_memory_bytes"] == {"1149": 1_367_343_104}
    assert sample["pcie_tx_kbps"] is None  # read apart


@pytest.mark.parametrize(
    ("broken", "keys"),
    [
        (
            "nvmlDeviceGetUtilizationRates",
            {"utilization_gpu_pct", "utilization_memory_pct"},
        ),
        ("nvmlDeviceGetTotalEnergyConsumption", {"energy_mj"}),
        ("nvmlDeviceGetPowerUsage", {"power_w"}),
        ("nvmlDeviceGetComputeRunningProcesses", {"process_memory_bytes"}),
        ("nvmlDeviceGetCurrentClocksThrottleReasons", {"clocks_event_reasons"}),
    ],
)
def test_what_the_gpu_does_not_tell_is_null_and_not_zero(broken, keys):
    sample = Gpu(FakeNvml([broken]), None, 0).sample(0)
    missing = {key for key, value in sample.items() if value is None}
    assert missing == keys | {"pcie_tx_kbps", "pcie_rx_kbps"}


def test_the_uuid_finds_the_device_that_cuda_visible_devices_renumbered():
    assert Gpu(FakeNvml(), "GPU-x", 0).index == 3
    assert Gpu(FakeNvml(["nvmlDeviceGetHandleByUUID"]), "GPU-x", 1).index == 1


def test_samples_keep_their_rate_though_each_takes_time(tmp_path):
    time = FakeTime(n=4, costs=[0.008] * 4)
    samples = sampled(tmp_path, time)
    assert [round(s["t_ns"] / 1e6) for s in samples] == [0, 50, 100, 150]
    assert time.waits == pytest.approx([0.042] * 4)


def test_a_missed_deadline_is_left_out_and_the_others_keep_their_place(tmp_path):
    samples = sampled(tmp_path, FakeTime(n=4, costs=[0.0, 0.12, 0.0, 0.0]))
    assert [round(s["t_ns"] / 1e6) for s in samples] == [0, 50, 200, 250]


def test_pcie_is_in_the_next_sample_only(tmp_path):
    samples = sampled(tmp_path, FakeTime(n=3), _pcie=(11504, 700))
    assert [s["pcie_tx_kbps"] for s in samples] == [11504, None, None]
    assert [s["pcie_rx_kbps"] for s in samples] == [700, None, None]


def test_the_threads_sample_until_the_phase_ends(tmp_path):
    path = tmp_path / "nvml.jsonl"
    with Sampler(Gpu(FakeNvml(), None, 0), path, period_s=0.001):
        while not path.exists() or len(path.read_text().splitlines()) < 3:
            pass
    lines = [json.loads(line) for line in path.read_text().splitlines()]
    assert all(set(line) == KEYS for line in lines)

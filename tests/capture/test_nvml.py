"""One GPU against a fake NVML."""
# ruff: noqa: N802 - the fake has the names of pynvml

from types import SimpleNamespace

import pytest

from profiler_core.capture.nvml import Gpu

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

    def nvmlDeviceGetName(self, handle):
        return "NVIDIA Made Up"

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


def test_each_null_has_its_reason_and_a_later_answer_takes_it_back():
    nvml = FakeNvml(["nvmlDeviceGetPowerUsage"])
    gpu = Gpu(nvml, None, 0)
    gpu.sample(0)
    assert gpu.reasons == {"power_w": "nvmlDeviceGetPowerUsage: Not Supported"}
    nvml._broken = ()
    assert gpu.sample(1)["power_w"] == 159.842
    assert gpu.reasons == {}


def test_processes_without_their_memory_are_named_and_said_to_be():
    nvml = FakeNvml()
    nvml.nvmlDeviceGetComputeRunningProcesses = lambda handle: [
        SimpleNamespace(pid=7, usedGpuMemory=None)
    ]
    gpu = Gpu(nvml, None, 0)
    assert gpu.sample(0)["process_memory_bytes"] == {"7": None}
    assert "not their memory" in gpu.reasons["process_memory_bytes"]

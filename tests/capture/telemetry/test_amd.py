"""AMD GPUs against a fake amdsmi with the functions and fields that ROCm documents."""

import sys
from enum import Enum
from types import ModuleType

import pytest

from profiler_core.capture import nvml
from profiler_core.capture.telemetry import sources
from profiler_core.capture.telemetry.amd import AmdGpu
from tests.capture.test_nvml import KEYS


class AmdSmiException(Exception):
    pass


def a_fake(**changed):
    """The module as `import amdsmi` gives it; a changed function may raise."""
    fake = ModuleType("amdsmi")
    fake.AmdSmiException = AmdSmiException
    fake.AmdSmiClkType = Enum("AmdSmiClkType", ["GFX", "MEM"])
    fake.AmdSmiTemperatureType = Enum("AmdSmiTemperatureType", ["HOTSPOT", "EDGE"])
    fake.AmdSmiTemperatureMetric = Enum("AmdSmiTemperatureMetric", ["CURRENT"])
    clocks = {
        fake.AmdSmiClkType.GFX: {"clk": 2100, "min_clk": 132, "max_clk": 2100},
        fake.AmdSmiClkType.MEM: {"clk": 1300, "min_clk": 900, "max_clk": 1300},
    }
    answers = {
        "amdsmi_init": lambda: None,
        "amdsmi_get_processor_handles": lambda: ["gpu 0", "gpu 1"],
        "amdsmi_get_gpu_asic_info": lambda gpu: {"market_name": "AMD Instinct MI300X"},
        "amdsmi_get_gpu_driver_info": lambda gpu: {"driver_version": "6.8.5"},
        "amdsmi_get_gpu_activity": lambda gpu: {
            "gfx_activity": 97, "umc_activity": 31, "mm_activity": "N/A",
        },
        "amdsmi_get_power_info": lambda gpu: {
            "current_socket_power": 612, "average_socket_power": "N/A", "power_limit": 750,
        },
        "amdsmi_get_clock_info": lambda gpu, kind: clocks[kind],
        "amdsmi_get_temp_metric": lambda gpu, kind, metric: 63,
        "amdsmi_get_energy_count": lambda gpu: {
            "energy_accumulator": 1_000_000, "counter_resolution": 15.3, "timestamp": 1,
        },
        "amdsmi_get_gpu_vram_usage": lambda gpu: {"vram_total": 196_592, "vram_used": 1_024},
        "amdsmi_get_gpu_process_list": lambda gpu: [{"name": "python", "pid": 41, "mem": 9_000}],
    }  # fmt: skip
    for name, answer in {**answers, **changed}.items():
        setattr(fake, name, answer)
    return fake


def test_a_sample_has_the_keys_of_nvml():
    sample = AmdGpu(a_fake(), 1).sample(5)
    assert set(sample) == KEYS
    assert (sample["t_ns"], sample["gpu_index"]) == (5, 1)
    assert sample["utilization_gpu_pct"] == 97
    assert sample["power_w"] == 612
    assert sample["energy_mj"] == 15_300  # a million ticks of 15.3 uJ
    assert sample["sm_clock_mhz"] == 2100
    assert sample["temperature_c"] == 63
    assert sample["memory_used_bytes"] == 1 << 30
    assert sample["process_memory_bytes"] == {"41": 9_000}


def test_what_amdsmi_does_not_tell_is_null_with_a_reason():
    def refuse(*_):
        raise AmdSmiException("AMDSMI_STATUS_NOT_SUPPORTED")

    gpu = AmdGpu(
        a_fake(
            amdsmi_get_energy_count=refuse,
            amdsmi_get_gpu_activity=lambda gpu: {"gfx_activity": "N/A", "umc_activity": 3},
        ),
        0,
    )
    sample = gpu.sample(0)
    assert sample["energy_mj"] is None
    assert "NOT_SUPPORTED" in gpu.reasons["energy_mj"]
    assert sample["utilization_gpu_pct"] is None
    assert "N/A" in gpu.reasons["utilization_gpu_pct"]
    nulls = {key for key, value in sample.items() if value is None}
    assert nulls <= gpu.reasons.keys()


def test_an_older_card_tells_its_power_as_an_average():
    power = {"current_socket_power": "N/A", "average_socket_power": 140, "power_limit": 225}
    gpu = AmdGpu(a_fake(amdsmi_get_power_info=lambda gpu: power), 0)
    assert gpu.sample(0)["power_w"] == 140
    assert "power_w" not in gpu.reasons


def test_facts_name_the_driver_and_the_limits():
    assert AmdGpu(a_fake(), 0).facts() == {
        "driver": "6.8.5",
        "power_limit_w": 750,
        "sm_clock_max_mhz": 2100,
        "memory_clock_max_mhz": 1300,
        "amdsmi_index": 0,
    }


@pytest.fixture
def without_nvml(monkeypatch):
    monkeypatch.setattr(sources, "nvml_or_reason", lambda: (None, "NVML reports: no driver"))


def test_where_nvml_is_absent_amdsmi_is_asked(without_nvml, monkeypatch):
    monkeypatch.setitem(sys.modules, "amdsmi", a_fake())
    found = sources.find_gpus()
    assert found.source == "amdsmi"
    assert [device.name for device in found.devices] == ["AMD Instinct MI300X"] * 2


def test_without_either_there_is_a_sentence(without_nvml, monkeypatch):
    monkeypatch.setitem(sys.modules, "amdsmi", None)  # importing it raises ImportError
    found = sources.find_gpus()
    assert found.devices == ()
    assert found.reason.startswith("No GPU can be sampled here: NVML reports: no driver; amdsmi")


def test_nvml_without_its_package_says_so(monkeypatch):
    monkeypatch.setitem(sys.modules, "pynvml", None)
    assert nvml.nvml_or_reason() == (
        None,
        f"nvidia-ml-py is not installed for {sys.executable}",
    )

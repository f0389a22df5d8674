"""Which GPUs of this machine can be sampled, and through what; a sentence where none can."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from profiler_core.capture.nvml import SOURCE as NVML
from profiler_core.capture.nvml import Gpu, nvml_or_reason
from profiler_core.capture.telemetry.amd import SOURCE as AMDSMI
from profiler_core.capture.telemetry.amd import AmdGpu, amdsmi_or_reason
from profiler_core.capture.telemetry.gpu_series import Device


@dataclass(frozen=True)
class Gpus:
    """Devices that can be read, in the library's order; none, and then `reason` says why."""

    devices: tuple[Device, ...] = ()
    source: str | None = None  # "nvml" or "amdsmi"
    reason: str = ""


def find_gpus() -> Gpus:
    """Every GPU of this machine: NVIDIA's through NVML, else AMD's through amdsmi."""
    nvml, no_nvml = nvml_or_reason()
    if nvml is not None:
        devices: list[Device] = [Gpu(nvml, None, n) for n in range(_count(nvml))]
        if devices:
            return Gpus(tuple(devices), NVML)
        no_nvml = "NVML sees no GPU"
    amdsmi, no_amdsmi = amdsmi_or_reason()
    if amdsmi is not None:
        handles = amdsmi.amdsmi_get_processor_handles()
        if handles:
            return Gpus(tuple(AmdGpu(amdsmi, n) for n in range(len(handles))), AMDSMI)
        no_amdsmi = "amdsmi sees no GPU"
    return Gpus(reason=f"No GPU can be sampled here: {no_nvml}; {no_amdsmi}.")


def _count(nvml: Any) -> int:
    try:
        return int(nvml.nvmlDeviceGetCount())
    except nvml.NVMLError:
        return 0

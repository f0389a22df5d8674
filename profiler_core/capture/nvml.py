"""One NVIDIA GPU as NVML sees it, from outside of the process that computes.

Keys as in docs/columns.md, Telemetry; a value that GPU, driver or permission does not give is None,
never 0 (MIG has no utilisation, a container no per-process memory, …), and `reasons` says why.
Measured on an H200: the two PCIe calls take about 20 ms each, all others together about 8 ms; so
`sample` leaves PCIe out and `pcie` reads it apart.
"""

from __future__ import annotations

import importlib
import sys
from typing import Any

SOURCE = "nvml"

_PCIE = ("pcie_tx_kbps", "pcie_rx_kbps")


def nvml_or_reason() -> tuple[Any | None, str]:
    """(the initialised pynvml module, "") or (None, why not)."""
    try:
        nvml = importlib.import_module("pynvml")
    except ImportError:
        return None, f"nvidia-ml-py is not installed for {sys.executable}"
    try:
        nvml.nvmlInit()
    except nvml.NVMLError as error:
        return None, f"NVML reports: {error}"
    return nvml, ""


class Gpu:
    """One device of NVML. `index` is NVML's own, which CUDA_VISIBLE_DEVICES does not change.

    `reasons` has a sentence for each key that the last reading left null.
    """

    def __init__(self, nvml: Any, uuid: str | None, index: int) -> None:
        self._nvml = nvml
        self.reasons: dict[str, str] = {}
        handle = None
        if uuid is not None:
            handle = self._call((), "nvmlDeviceGetHandleByUUID", uuid)
        self._handle = handle or nvml.nvmlDeviceGetHandleByIndex(index)
        nvml_index = self._get((), "nvmlDeviceGetIndex")
        self.index = index if nvml_index is None else int(nvml_index)

    @property
    def name(self) -> str | None:
        """The product name that the driver reports."""
        return _text(self._get((), "nvmlDeviceGetName"))

    def facts(self) -> dict[str, Any]:
        """What does not change while a capture runs: driver, power limit, highest clocks."""
        nvml = self._nvml
        limit = self._get((), "nvmlDeviceGetPowerManagementLimit")
        return {
            "driver": _text(self._call((), "nvmlSystemGetDriverVersion")),
            "power_limit_w": None if limit is None else limit / 1000,
            "sm_clock_max_mhz": self._get((), "nvmlDeviceGetMaxClockInfo", nvml.NVML_CLOCK_SM),
            "memory_clock_max_mhz": self._get((), "nvmlDeviceGetMaxClockInfo", nvml.NVML_CLOCK_MEM),
            "persistence_mode": self._get((), "nvmlDeviceGetPersistenceMode"),
            "nvml_index": self.index,
        }

    def sample(self, t_ns: int) -> dict[str, Any]:
        """One sample without PCIe.

        Args:
            t_ns: epoch ns.
        """
        nvml = self._nvml
        use = self._get(
            ("utilization_gpu_pct", "utilization_memory_pct"), "nvmlDeviceGetUtilizationRates"
        )
        memory = self._get(("memory_used_bytes",), "nvmlDeviceGetMemoryInfo")
        power = self._get(("power_w",), "nvmlDeviceGetPowerUsage")
        reasons = self._get(("clocks_event_reasons",), "nvmlDeviceGetCurrentClocksEventReasons")
        if reasons is None:  # the name up to NVML 12.1
            reasons = self._get(
                ("clocks_event_reasons",), "nvmlDeviceGetCurrentClocksThrottleReasons"
            )
        return {
            "t_ns": t_ns,
            "gpu_index": self.index,
            "utilization_gpu_pct": None if use is None else use.gpu,
            "utilization_memory_pct": None if use is None else use.memory,
            "memory_used_bytes": None if memory is None else memory.used,
            "power_w": None if power is None else power / 1000,
            "energy_mj": self._get(("energy_mj",), "nvmlDeviceGetTotalEnergyConsumption"),
            "sm_clock_mhz": self._get(
                ("sm_clock_mhz",), "nvmlDeviceGetClockInfo", nvml.NVML_CLOCK_SM
            ),
            "memory_clock_mhz": self._get(
                ("memory_clock_mhz",), "nvmlDeviceGetClockInfo", nvml.NVML_CLOCK_MEM
            ),
            "temperature_c": self._get(
                ("temperature_c",), "nvmlDeviceGetTemperature", nvml.NVML_TEMPERATURE_GPU
            ),
            "clocks_event_reasons": reasons,
            "pcie_tx_kbps": None,
            "pcie_rx_kbps": None,
            "process_memory_bytes": self.processes(),
        }

    def pcie(self) -> tuple[int | None, int | None]:
        """(tx, rx) in kB/s over the last 20 ms; slow."""
        nvml = self._nvml
        name = "nvmlDeviceGetPcieThroughput"
        return (
            self._get(_PCIE[:1], name, nvml.NVML_PCIE_UTIL_TX_BYTES),
            self._get(_PCIE[1:], name, nvml.NVML_PCIE_UTIL_RX_BYTES),
        )

    def processes(self) -> dict[str, int | None] | None:
        """Memory of each compute process in bytes, by pid; None where NVML does not report it."""
        field = "process_memory_bytes"
        running = self._get((field,), "nvmlDeviceGetComputeRunningProcesses")
        if running is None:
            return None
        memory = {str(process.pid): process.usedGpuMemory for process in running}
        if memory and all(value is None for value in memory.values()):
            self.reasons[field] = "NVML names the processes here, but not their memory"
        return memory

    def _get(self, fields: tuple[str, ...], function: str, *arguments: Any) -> Any | None:
        return self._call(fields, function, self._handle, *arguments)

    def _call(self, fields: tuple[str, ...], function: str, *arguments: Any) -> Any | None:
        """The answer; None, and a reason for each of `fields`, where there is none."""
        call = getattr(self._nvml, function, None)
        reason = f"this nvidia-ml-py has no {function}"
        if call is not None:
            try:
                answer = call(*arguments)
            except self._nvml.NVMLError as error:
                reason = f"{function}: {error}"
            else:
                for field in fields:
                    self.reasons.pop(field, None)
                return answer
        for field in fields:
            self.reasons[field] = reason
        return None


def _text(value: Any) -> str | None:
    # nvidia-ml-py before 11.5 answers with bytes.
    return value.decode() if isinstance(value, bytes) else value

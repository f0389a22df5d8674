"""NVML samples of one GPU, taken from outside of the process that computes.

Keys of design section 6.7; a value that this GPU, driver or permission does not give is None,
never 0 (MIG has no utilisation, a container no per-process memory, …). Measured on an H200: the
two PCIe calls take about 20 ms each, all others together about 8 ms; so PCIe is read in a thread
of its own, once a second, and a sample carries it only when it is new.
"""

import importlib
import json
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

PERIOD_S = 0.05  # the energy counter moves about every 0.1 s, utilisation every 1/6 s
PCIE_PERIOD_S = 1.0


def load_nvml() -> Any | None:
    """The initialised pynvml module, or None where there is no driver or no pynvml."""
    try:
        nvml = importlib.import_module("pynvml")
    except ImportError:
        return None
    try:
        nvml.nvmlInit()
    except nvml.NVMLError:
        return None
    return nvml


class Gpu:
    """One device of NVML. `index` is NVML's own, which CUDA_VISIBLE_DEVICES does not change."""

    def __init__(self, nvml: Any, uuid: str | None, index: int) -> None:
        self._nvml = nvml
        handle = None
        if uuid is not None:
            handle = self._call("nvmlDeviceGetHandleByUUID", uuid)
        self._handle = handle or nvml.nvmlDeviceGetHandleByIndex(index)
        found = self._get("nvmlDeviceGetIndex")
        self.index = index if found is None else int(found)

    def facts(self) -> dict[str, Any]:
        """What does not change while a capture runs: driver, power limit, highest clocks."""
        nvml = self._nvml
        limit = self._get("nvmlDeviceGetPowerManagementLimit")
        return {
            "driver": _text(self._call("nvmlSystemGetDriverVersion")),
            "power_limit_w": None if limit is None else limit / 1000,
            "sm_clock_max_mhz": self._get("nvmlDeviceGetMaxClockInfo", nvml.NVML_CLOCK_SM),
            "memory_clock_max_mhz": self._get("nvmlDeviceGetMaxClockInfo", nvml.NVML_CLOCK_MEM),
            "persistence_mode": self._get("nvmlDeviceGetPersistenceMode"),
            "nvml_index": self.index,
        }

    def sample(self, t_ns: int) -> dict[str, Any]:
        """One sample without PCIe.

        Args:
            t_ns: epoch ns.
        """
        nvml = self._nvml
        use = self._get("nvmlDeviceGetUtilizationRates")
        memory = self._get("nvmlDeviceGetMemoryInfo")
        power = self._get("nvmlDeviceGetPowerUsage")
        reasons = self._get("nvmlDeviceGetCurrentClocksEventReasons")
        if reasons is None:  # the name up to NVML 12.1
            reasons = self._get("nvmlDeviceGetCurrentClocksThrottleReasons")
        return {
            "t_ns": t_ns,
            "gpu_index": self.index,
            "utilization_gpu_pct": None if use is None else use.gpu,
            "utilization_memory_pct": None if use is None else use.memory,
            "memory_used_bytes": None if memory is None else memory.used,
            "power_w": None if power is None else power / 1000,
            "energy_mj": self._get("nvmlDeviceGetTotalEnergyConsumption"),
            "sm_clock_mhz": self._get("nvmlDeviceGetClockInfo", nvml.NVML_CLOCK_SM),
            "memory_clock_mhz": self._get("nvmlDeviceGetClockInfo", nvml.NVML_CLOCK_MEM),
            "temperature_c": self._get("nvmlDeviceGetTemperature", nvml.NVML_TEMPERATURE_GPU),
            "clocks_event_reasons": reasons,
            "pcie_tx_kbps": None,
            "pcie_rx_kbps": None,
            "process_memory_bytes": self._process_memory(),
        }

    def pcie(self) -> tuple[int | None, int | None]:
        """(tx, rx) in kB/s over the last 20 ms; slow."""
        nvml = self._nvml
        return (
            self._get("nvmlDeviceGetPcieThroughput", nvml.NVML_PCIE_UTIL_TX_BYTES),
            self._get("nvmlDeviceGetPcieThroughput", nvml.NVML_PCIE_UTIL_RX_BYTES),
        )

    def _process_memory(self) -> dict[str, int | None] | None:
        running = self._get("nvmlDeviceGetComputeRunningProcesses")
        if running is None:
            return None
        return {str(process.pid): process.usedGpuMemory for process in running}

    def _get(self, function: str, *arguments: Any) -> Any | None:
        return self._call(function, self._handle, *arguments)

    def _call(self, function: str, *arguments: Any) -> Any | None:
        call = getattr(self._nvml, function, None)
        if call is None:
            return None
        try:
            return call(*arguments)
        except self._nvml.NVMLError:
            return None


class Sampler:
    """Writes samples to a file from a thread, at a rate that does not drift.

    Args:
        gpu: what is sampled.
        path: JSON lines are appended.
        period_s: the distance of the deadlines; a deadline that was missed is left out, the
            others keep their place.
        monotonic: s, for the deadlines.
        wall_ns: epoch ns, for the samples.
    """

    def __init__(
        self,
        gpu: Gpu,
        path: Path,
        period_s: float = PERIOD_S,
        monotonic: Callable[[], float] = time.monotonic,
        wall_ns: Callable[[], int] = time.time_ns,
    ) -> None:
        self._gpu = gpu
        self._path = path
        self._period_s = period_s
        self._monotonic = monotonic
        self._wall_ns = wall_ns
        self._stop = threading.Event()
        self._pcie: tuple[int | None, int | None] | None = None
        self._threads = [
            threading.Thread(target=self.run, args=(self._stop.wait,), daemon=True),
            threading.Thread(target=self.run_pcie, args=(self._stop.wait,), daemon=True),
        ]

    def __enter__(self) -> None:
        for thread in self._threads:
            thread.start()

    def __exit__(self, *_: object) -> None:
        self._stop.set()
        for thread in self._threads:
            thread.join()

    def run(self, wait: Callable[[float], bool]) -> None:
        """Sample until `wait(seconds)` says True."""
        started = self._monotonic()
        tick = 0
        with self._path.open("a", encoding="utf-8") as file:
            while True:
                sample = self._gpu.sample(self._wall_ns())
                if self._pcie is not None:
                    (sample["pcie_tx_kbps"], sample["pcie_rx_kbps"]), self._pcie = self._pcie, None
                file.write(json.dumps(sample) + "\n")
                file.flush()
                late = self._monotonic() - started
                tick = max(tick + 1, int(late / self._period_s) + 1)
                if wait(max(0.0, started + tick * self._period_s - self._monotonic())):
                    return

    def run_pcie(self, wait: Callable[[float], bool]) -> None:
        """Read PCIe once a second until `wait(seconds)` says True."""
        while True:
            self._pcie = self._gpu.pcie()
            if wait(PCIE_PERIOD_S):
                return


def _text(value: Any) -> str | None:
    # nvidia-ml-py before 11.5 answers with bytes.
    return value.decode() if isinstance(value, bytes) else value

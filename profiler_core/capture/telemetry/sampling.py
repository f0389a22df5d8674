"""What is sampled while variants run: the GPUs into nvml.jsonl, each process into host.jsonl."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from profiler_core import run_directory as names
from profiler_core.capture.nvml import SOURCE as NVML
from profiler_core.capture.nvml import Gpu, nvml_or_reason
from profiler_core.capture.telemetry.gpu_series import Device, gpu_series
from profiler_core.capture.telemetry.host import HostReader, host_or_reason
from profiler_core.capture.telemetry.sampler import PERIOD_S, Loop, Sampler, Series
from profiler_core.capture.telemetry.sources import Gpus, find_gpus


@dataclass(frozen=True)
class Sampled:
    """A variant while it is measured: where its files lie, and which process computes."""

    directory: Path
    pid: int


class Telemetry:
    """Made once a capture.

    Args:
        gpus: all that can be sampled; those that are not measured get a row a second.
        gpu: the one that is measured; None on the CPU and where it cannot be sampled.
        reason: why there is no GPU; "" where there is.
    """

    def __init__(self, gpus: Gpus, gpu: Device | None, reason: str = "") -> None:
        self._gpus = gpus
        self.gpu = gpu
        self.reason = reason

    def facts(self) -> dict[str, Any]:
        """For `measurement` of run.json: what is sampled through what, and what is not, and why."""
        return {
            "telemetry_source": self._gpus.source if self.gpu is not None else None,
            "telemetry_missing": self.reason or None,
            "host_missing": host_or_reason() or None,
        }

    def sampling(
        self, sampled: Sequence[Sampled], period_s: float = PERIOD_S
    ) -> AbstractContextManager[None]:
        """Sample between `with` and its end; the GPUs' rows go to every one of `sampled`."""
        series: list[Series] = []
        beside: list[Loop] = []
        if self.gpu is not None and self._gpus.source is not None:
            devices = (self.gpu, *(d for d in self._gpus.devices if d.index != self.gpu.index))
            paths = [target.directory / names.NVML for target in sampled]
            series, beside = gpu_series(devices, self._gpus.source, paths, period_s)
        if not host_or_reason():
            series += [
                Series(HostReader(target.pid), (target.directory / names.HOST,))
                for target in sampled
            ]
        return Sampler(series, period_s, beside=beside) if series and sampled else nullcontext()


def telemetry_of(device: str, gpu_uuids: Sequence[str | None]) -> Telemetry:
    """For a capture on this device.

    Args:
        device: "cpu", "cuda:0", …
        gpu_uuids: of torch's GPUs, in torch's order, which CUDA_VISIBLE_DEVICES renumbers.
    """
    if not device.startswith("cuda"):
        return Telemetry(Gpus(), None, "The variants ran on the CPU.")
    index = int(device.partition(":")[2] or 0)
    gpus = find_gpus()
    if gpus.source == NVML:
        nvml, _ = nvml_or_reason()
        if nvml is not None and index < len(gpu_uuids):
            return Telemetry(gpus, Gpu(nvml, gpu_uuids[index], index))
    elif index < len(gpus.devices):
        return Telemetry(gpus, gpus.devices[index])
    return Telemetry(gpus, None, gpus.reason or f"No library that reads GPUs lists {device}.")

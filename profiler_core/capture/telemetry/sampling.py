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
        measured: by rank; none on the CPU and where they cannot be sampled.
        reason: why there is no GPU; "" where there is.
    """

    def __init__(self, gpus: Gpus, measured: Sequence[Device] = (), reason: str = "") -> None:
        self._gpus = gpus
        self._measured = tuple(measured)
        self.reason = reason

    @property
    def gpu(self) -> Device | None:
        """That of the first rank."""
        return self._measured[0] if self._measured else None

    def gpu_facts(self) -> list[dict[str, Any]]:
        """Of each rank's GPU what does not change, for `environment` of its run.json."""
        return [device.facts() for device in self._measured]

    def facts(self) -> dict[str, Any]:
        """For `measurement` of run.json: what is sampled through what, and what is not, and why."""
        of_ranks = [device.index for device in self._measured]
        return {
            "rank_gpus": of_ranks if len(of_ranks) > 1 else [],
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
        if self._measured and self._gpus.source is not None:
            measured = {device.index for device in self._measured}
            others = [device for device in self._gpus.devices if device.index not in measured]
            paths = [target.directory / names.NVML for target in sampled]
            series, beside = gpu_series(self._measured, others, self._gpus.source, paths, period_s)
        if not host_or_reason():
            series += [
                Series(HostReader(target.pid), (target.directory / names.HOST,))
                for target in sampled
            ]
        return Sampler(series, period_s, beside=beside) if series and sampled else nullcontext()


def telemetry_of(devices: Sequence[str], gpu_uuids: Sequence[str | None]) -> Telemetry:
    """For a capture on these devices.

    Args:
        devices: by rank: "cpu", "cuda:0", …
        gpu_uuids: of torch's GPUs, in torch's order, which CUDA_VISIBLE_DEVICES renumbers.
    """
    if not devices[0].startswith("cuda"):
        on_cpu = devices[0] == "cpu"
        reason = "The variants ran on the CPU." if on_cpu else f"No library reads {devices[0]}."
        return Telemetry(Gpus(), reason=reason)
    gpus = find_gpus()
    measured = [_device(gpus, device, gpu_uuids) for device in devices]
    for device, gpu in zip(devices, measured, strict=True):
        if gpu is None:
            unlisted = f"No library that reads GPUs lists {device}."
            return Telemetry(gpus, reason=gpus.reason or unlisted)
    return Telemetry(gpus, [gpu for gpu in measured if gpu is not None])


def _device(gpus: Gpus, device: str, gpu_uuids: Sequence[str | None]) -> Device | None:
    index = int(device.partition(":")[2] or 0)
    if gpus.source == NVML:
        nvml, _ = nvml_or_reason()
        is_listed = nvml is not None and index < len(gpu_uuids)
        return Gpu(nvml, gpu_uuids[index], index) if is_listed else None
    return gpus.devices[index] if index < len(gpus.devices) else None

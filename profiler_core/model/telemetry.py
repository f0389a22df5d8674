"""Samples of GPUs and of the process that computed, as they stand in nvml.jsonl and host.jsonl.

Keys as in docs/columns.md, Telemetry. t_ns is epoch ns, taken just before the values are read; a
null is "not available", and never means 0.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field

import msgspec

from profiler_core.model.tally import Tally


class SamplerNote(msgspec.Struct, frozen=True, kw_only=True):
    """On the first sample of each GPU after a sampler was started."""

    source: str  # "nvml" or "amdsmi"
    gpu: str | None = None
    period_s: float | None = None


class GpuSample(msgspec.Struct, frozen=True, kw_only=True):
    """One GPU at one moment."""

    t_ns: int
    gpu_index: int
    utilization_gpu_pct: float | None = None
    utilization_memory_pct: float | None = None
    memory_used_bytes: int | None = None
    power_w: float | None = None
    energy_mj: float | None = None  # a counter since the driver was loaded
    sm_clock_mhz: float | None = None
    memory_clock_mhz: float | None = None
    temperature_c: float | None = None
    clocks_event_reasons: int | None = None  # bits, see analysis/telemetry/clock_events.py
    pcie_tx_kbps: float | None = None  # once a second
    pcie_rx_kbps: float | None = None
    process_memory_bytes: dict[str, int | None] | None = None  # by pid
    sampler: SamplerNote | None = None
    reasons: dict[str, str] | None = None  # key -> why it is null, from here on


class HostSample(msgspec.Struct, frozen=True, kw_only=True):
    """The process that computes, with all that it started, and the whole host. Counters in ns."""

    t_ns: int
    pid: int
    cpu_ns: int
    busiest_thread_ns: int | None = None
    rss_bytes: int | None = None
    n_threads: int | None = None
    n_processes: int | None = None
    host_busy_ns: int | None = None
    n_cpus: int | None = None


@dataclass(frozen=True)
class GpuSamples:
    """All samples of a file, by time."""

    samples: tuple[GpuSample, ...]
    tally: Tally = field(default_factory=Tally)

    @property
    def indexes(self) -> tuple[int, ...]:
        """The GPUs, the one with most samples first: that one was measured."""
        counts: dict[int, int] = {}
        for sample in self.samples:
            counts[sample.gpu_index] = counts.get(sample.gpu_index, 0) + 1
        return tuple(sorted(counts, key=lambda index: (-counts[index], index)))

    def of(self, index: int) -> tuple[GpuSample, ...]:
        """The samples of one GPU."""
        return tuple(sample for sample in self.samples if sample.gpu_index == index)


@dataclass(frozen=True)
class HostSamples:
    """All samples of a file, by time."""

    samples: tuple[HostSample, ...]
    tally: Tally = field(default_factory=Tally)


def reasons_of(samples: tuple[GpuSample, ...]) -> Mapping[str, str]:
    """The latest reason for each key that stayed null."""
    reasons: dict[str, str] = {}
    for sample in samples:
        if sample.reasons is not None:
            reasons = sample.reasons
    return reasons

"""One run's telemetry in numbers: was the GPU busy, how fast, how hot, and what did a step cost?

Numbers come from the steady phase (see phases.py). A number that cannot be given is None, with
its sentence in `reasons` under the same key.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from statistics import median
from typing import Any

from profiler_core.analysis.telemetry.clock_events import ClockEvent, clock_events
from profiler_core.analysis.telemetry.energy import MeanPower, mean_power
from profiler_core.analysis.telemetry.host import HostUse, host_use
from profiler_core.analysis.telemetry.jitter import SamplerJitter, jitter
from profiler_core.analysis.telemetry.of_ranks import RankGpu, numbers_of_job
from profiler_core.analysis.telemetry.phases import WORDS, Phase, steady_phase
from profiler_core.analysis.throughput import batch_size, samples_per_step
from profiler_core.errors import NothingToAnalyse
from profiler_core.model.run import RunRecord
from profiler_core.model.telemetry import (
    GpuSample,
    GpuSamples,
    HostSample,
    HostSamples,
    reasons_of,
)

# NVML averages utilisation over up to this long (1/6 to 1 s, by GPU), power over 1 s since Ampere:
# what was read earlier in a phase is partly of what ran before it.
SETTLES_S = 1.0
# The least that must be left after settling.
MIN_AVERAGED_S = 1.0
# One clock reading may fall into a change of the clocks.
MIN_CLOCK_SAMPLES = 3
_OF_A_RANK = (
    "power_w", "energy_per_step_j", "sm_clock_mhz", "temperature_max_c", "memory_used_bytes",
    "clock_events",
)  # fmt: skip
BY_PROFILER = {"gpu": "Only the profiler sampled the GPU, while it recorded the trace."}


@dataclass(frozen=True)
class RunTelemetry:
    """A run's GPU (and process) while it ran in steady state.

    Of a job of ranks the GPU of its first rank, but for the energy, the highest temperature and
    what held clocks back: the energy is of all its GPUs together, since one that waits for another
    rank draws less power and saves nothing by it; the others are of the GPU that has most of them.

    phase: where the numbers come from. energy_per_step_j is power_w times phase_ns over n_steps,
    so idle power is in it. *_pct as NVML defines them: the share of time in which at least one
    kernel ran, so 100 does not mean that the GPU could do no more.
    """

    gpu_index: int | None
    gpu: str | None
    source: str | None  # "nvml" or "amdsmi"
    phase: str | None
    phase_ns: int | None
    n_steps: int | None
    n_samples: int
    utilization_gpu_pct: float | None = None
    utilization_memory_pct: float | None = None
    power_w: float | None = None
    power_max_w: float | None = None
    power_limit_w: float | None = None
    energy_per_step_j: float | None = None
    energy_per_sample_j: float | None = None
    energy_error_fraction: float | None = None
    batch_size: int | None = None
    sm_clock_mhz: float | None = None
    sm_clock_min_mhz: float | None = None
    sm_clock_max_mhz: float | None = None  # what the GPU can do, not what it did
    memory_clock_mhz: float | None = None
    temperature_c: float | None = None
    temperature_max_c: float | None = None
    memory_used_bytes: int | None = None
    process_memory_bytes: int | None = None
    pcie_tx_kbps: float | None = None
    pcie_rx_kbps: float | None = None
    clock_events: tuple[ClockEvent, ...] | None = None
    jitter: SamplerJitter | None = None
    host: HostUse | None = None
    ranks: tuple[RankGpu, ...] = ()  # of a job
    reasons: Mapping[str, str] = field(default_factory=dict)

    @property
    def is_steady(self) -> bool:
        """Are its numbers of steps that ran alone, and not of all samples that there are?"""
        return self.phase not in (None, WORDS["file"])

    @property
    def throttling(self) -> tuple[ClockEvent, ...]:
        """What slowed the clocks down for long enough to count; empty where nothing is known."""
        return tuple(event for event in self.clock_events or () if event.is_throttling)


def run_telemetry(
    record: RunRecord,
    gpus: GpuSamples | None,
    hosts: HostSamples | None = None,
    problems: Mapping[str, str] | None = None,
) -> RunTelemetry | None:
    """Of one run; None where neither GPU nor process was sampled.

    Args:
        record: of the run; an empty one for samples alone.
        gpus: all samples; the numbers are of the GPU that the run used.
        hosts: samples of the process.
        problems: "gpu" or "host" -> why its file cannot be read.
    """
    if gpus is None and hosts is None and not problems:
        return None
    samples = gpus.of(_index(record, gpus)) if gpus else ()
    host_samples = hosts.samples if hosts else ()
    times = [s.t_ns for s in samples] or [s.t_ns for s in host_samples]
    phase = steady_phase(record.measurement, times)
    inside = [s for s in samples if phase is not None and phase.holds(s.t_ns)]
    reasons = {**(problems or {}), **_why_not_sampled(record, samples, host_samples)}
    if phase is None and times:
        reasons["phase"] = _no_phase(record)
    numbers: dict[str, object] = {}
    if samples and phase is not None:
        numbers = _Reader(samples, inside, phase, record, reasons).numbers()
    environment = record.environment
    ranks = _ranks(record, gpus, phase)
    if ranks:
        numbers.update(numbers_of_job(ranks, record, reasons))
    return RunTelemetry(
        ranks=ranks,
        **_device(samples, environment),
        **_stretch(phase),
        n_samples=len(inside),
        power_limit_w=_number(environment.get("power_limit_w")),
        sm_clock_max_mhz=_number(environment.get("sm_clock_max_mhz")),
        batch_size=batch_size(record),
        jitter=jitter(samples),
        host=host_use(host_samples, phase),
        reasons=reasons,
        **numbers,  # type: ignore[arg-type]
    )


def _ranks(record: RunRecord, gpus: GpuSamples | None, phase: Phase | None) -> tuple[RankGpu, ...]:
    """The GPU of each rank of a job, as far as run.json says which they are."""
    if gpus is None or phase is None or record.measurement is None:
        return ()
    of_ranks, uuids = record.measurement.rank_gpus, record.measurement.rank_gpu_uuids
    made = []
    for rank, index in enumerate(of_ranks):
        samples = gpus.of(index)
        inside = [s for s in samples if phase.holds(s.t_ns)]
        numbers = _Reader(samples, inside, phase, record, {}).numbers() if inside else {}
        kept = {key: numbers.get(key) for key in _OF_A_RANK}
        uuid = uuids[rank] if rank < len(uuids) else None
        made.append(RankGpu(rank=rank, gpu_index=index, gpu_uuid=uuid, **kept))  # type: ignore[arg-type]
    return tuple(made)


def _device(samples: Sequence[GpuSample], environment: Mapping[str, object]) -> dict[str, Any]:
    """Which GPU was sampled, and by what; run.json's name of it before the sampler's."""
    note = next((s.sampler for s in samples if s.sampler is not None), None)
    return {
        "gpu_index": samples[0].gpu_index if samples else None,
        "gpu": _text(environment.get("gpu")) or (note.gpu if note else None),
        "source": note.source if note else "nvml" if samples else None,
    }


def _stretch(phase: Phase | None) -> dict[str, Any]:
    """What the numbers were taken from."""
    if phase is None:
        return {"phase": None, "phase_ns": None, "n_steps": None}
    return {"phase": WORDS[phase.kind], "phase_ns": phase.length_ns, "n_steps": phase.n_steps}


def _why_not_sampled(
    record: RunRecord, gpu: Sequence[GpuSample], host: Sequence[HostSample]
) -> dict[str, str]:
    """What run.json says of missing samples, by "gpu" and "host"."""
    measurement = record.measurement
    missing = {
        "gpu": None if gpu or measurement is None else measurement.telemetry_missing,
        "host": None if host or measurement is None else measurement.host_missing,
    }
    return {sampled: reason for sampled, reason in missing.items() if reason}


def without_samples(record: RunRecord) -> str | None:
    """Why nothing was sampled, a sentence, as far as run.json tells; None: it does not."""
    measurement = record.measurement
    if measurement is None:
        return None
    if measurement.telemetry_missing:
        return measurement.telemetry_missing
    is_phaseless = record.world_size > 1 and measurement.telemetry is None
    return _no_phase(record) if is_phaseless else None


def nothing_sampled(
    path: str, record: RunRecord, telemetry: RunTelemetry | None
) -> NothingToAnalyse:
    """What an answer about samples alone says where there are none.

    Args:
        path: of the run.
        record: of the run.
        telemetry: with the reasons, where there are any.
    """
    missing = without_samples(record)
    reasons = " ".join(telemetry.reasons.values()) if telemetry is not None else ""
    nothing = f"{path} holds no samples of a GPU or a process"
    ranks = "Capture the model with one rank" if record.world_size > 1 else ""
    return NothingToAnalyse(
        reasons or f"{nothing}{f': {missing}' if missing else '.'}",
        remedy=f"{ranks or 'Capture on a machine with NVML or amdsmi'}, or pass an nvml.jsonl.",
    )


def _no_phase(record: RunRecord) -> str:
    if record.world_size > 1:
        return (
            f"A capture with several ranks ({record.world_size} here) has no telemetry phase: "
            "that ends after a time, and ranks that stop at different steps would wait forever."
        )
    return "The timed rounds took turns with other variants, and none ran alone."


@dataclass(frozen=True)
class _Reader:
    """The numbers of one GPU's samples; puts a sentence into `reasons` for each that is missing."""

    samples: Sequence[GpuSample]
    inside: Sequence[GpuSample]
    phase: Phase
    record: RunRecord
    reasons: dict[str, str]

    def numbers(self) -> dict[str, object]:
        power = self._power()
        energy = self._energy(power)
        clocks = self._values("sm_clock_mhz", least=MIN_CLOCK_SAMPLES)
        temperatures = self._values("temperature_c")
        powers = self._settled("power_max_w", "power_w")
        utilization = self._settled("utilization_gpu_pct")
        memory_utilization = self._settled("utilization_memory_pct")
        masks = self._values("clock_events", "clocks_event_reasons", least=MIN_CLOCK_SAMPLES)
        return {
            "utilization_gpu_pct": _mean(utilization),
            "utilization_memory_pct": _mean(memory_utilization),
            "power_w": power.power_w if power else None,
            "power_max_w": max(powers, default=None),
            "energy_error_fraction": power.error_fraction if power else None,
            **energy,
            "sm_clock_mhz": median(clocks) if clocks else None,
            "sm_clock_min_mhz": min(clocks, default=None),
            "memory_clock_mhz": _median(self._values("memory_clock_mhz", least=MIN_CLOCK_SAMPLES)),
            "temperature_c": _median(temperatures),
            "temperature_max_c": max(temperatures, default=None),
            "memory_used_bytes": _whole(max(self._values("memory_used_bytes"), default=None)),
            "process_memory_bytes": self._process_memory(),
            "pcie_tx_kbps": _median(self._values("pcie_tx_kbps")),
            "pcie_rx_kbps": _median(self._values("pcie_rx_kbps")),
            "clock_events": clock_events([int(mask) for mask in masks]) if masks else None,
        }

    def _values(self, key: str, of: str | None = None, *, least: int = 1) -> list[float]:
        """Known values inside the phase; none where there are fewer than `least`."""
        of = of or key
        values = [value for s in self.inside if (value := getattr(s, of)) is not None]
        if len(values) >= least:
            return values
        reason = reasons_of(tuple(self.samples)).get(of)
        anywhere = any(getattr(s, of) is not None for s in self.samples)
        if anywhere:
            few = f"{len(values)} sample{'' if len(values) == 1 else 's'}"
            self.reasons[key] = f"Too short: {few} in the {WORDS[self.phase.kind]}."
        else:
            self.reasons[key] = reason or "Not in the samples."
        return []

    def _settled(self, key: str, of: str | None = None) -> list[float]:
        """What was read after the driver's own averages had settled."""
        of = of or key
        if not self._values(key, of):
            return []
        settled_ns = self.phase.start_ns + round(SETTLES_S * 1e9)
        settled = [s for s in self.inside if s.t_ns >= settled_ns]
        if self.phase.end_ns - settled_ns < MIN_AVERAGED_S * 1e9:
            self.reasons[key] = (
                f"Too short: the driver averages over up to {SETTLES_S:.0f} s, so "
                f"{SETTLES_S + MIN_AVERAGED_S:.0f} s is the least, and this is "
                f"{self.phase.length_ns / 1e9:.2f} s."
            )
            return []
        return [value for s in settled if (value := getattr(s, of)) is not None]

    def _power(self) -> MeanPower | None:
        mean = mean_power(self.samples, self.phase)
        if isinstance(mean, MeanPower):
            return mean
        reason = reasons_of(tuple(self.samples)).get("energy_mj")
        for key in ("power_w", "energy_per_step_j", "energy_per_sample_j"):
            self.reasons[key] = f"{mean} {reason}." if reason else mean
        return None

    def _energy(self, power: MeanPower | None) -> dict[str, object]:
        steps = self.phase.n_steps
        if power is None:
            return {}
        if not steps:
            reason = "The steps that ran while this was sampled were not counted."
            self.reasons.update(energy_per_step_j=reason, energy_per_sample_j=reason)
            return {}
        step_j = power.power_w * self.phase.length_ns / 1e9 / steps
        batch = samples_per_step(self.record, batch_size(self.record))
        if batch is None:
            self.reasons["energy_per_sample_j"] = "run.json does not say how large a batch is."
        return {
            "energy_per_step_j": step_j,
            "energy_per_sample_j": None if batch is None else step_j / batch,
        }

    def _process_memory(self) -> int | None:
        """The most that the process's own entry held; never the sum of all that compute there."""
        key = "process_memory_bytes"
        entries = [s.process_memory_bytes for s in self.inside if s.process_memory_bytes]
        measurement = self.record.measurement
        pid = None if measurement is None else measurement.child_pid
        if pid is None and entries and all(len(entry) == 1 for entry in entries):
            pid = int(next(iter(entries[0])))  # the only one there
        sizes = [size for entry in entries if (size := entry.get(str(pid))) is not None]
        if sizes:
            return max(sizes)
        reason = reasons_of(tuple(self.samples)).get(key)
        self.reasons[key] = reason or (
            "No entry of the process: a container may show other process ids."
            if entries
            else "No process is listed."
        )
        return None


def _index(record: RunRecord, gpus: GpuSamples) -> int:
    """The GPU of the run: as run.json says, else the one with most samples."""
    for key in ("nvml_index", "amdsmi_index"):
        index = record.environment.get(key)
        if isinstance(index, int) and index in gpus.indexes:
            return index
    return gpus.indexes[0]


def _mean(values: Sequence[float]) -> float | None:
    return sum(values) / len(values) if values else None


def _median(values: Sequence[float]) -> float | None:
    return median(values) if values else None


def _whole(value: float | None) -> int | None:
    return None if value is None else round(value)


def _number(value: object) -> float | None:
    return value if isinstance(value, int | float) and not isinstance(value, bool) else None


def _text(value: object) -> str | None:
    return value if isinstance(value, str) and value else None

"""What was sampled of a run's GPU and process."""

from collections import Counter
from collections.abc import Mapping
from typing import Annotated

from profiler_core.analysis.telemetry.clock_events import ClockEvent
from profiler_core.analysis.telemetry.host import HostUse
from profiler_core.analysis.telemetry.jitter import SamplerJitter
from profiler_core.analysis.telemetry.metrics import Metrics
from profiler_core.analysis.telemetry.of_ranks import RankGpu
from profiler_core.analysis.telemetry.phases import Phase, PhaseKind, phase_of, phases
from profiler_core.analysis.telemetry.run import RunTelemetry
from profiler_core.answers.record import Answer, means
from profiler_core.ingest.telemetry.reader import RunSamples
from profiler_core.model.run import RunRecord

_PHASES: tuple[PhaseKind | None, ...] = ("timing", "telemetry", "profiled", None)
_OF_RECORD = means("of run.json")
_GPU = means("the GPU that the run used; `nvml` or `amdsmi`")
_FROM = means(
    "where the numbers come from: `telemetry phase`, `timed rounds` or `whole file`; null: no "
    "phase of its own",
    "ns, count",
)
_NVML = means("as NVML defines them", "%")
_POWER = means("by the energy counter; the driver's highest reading; what is allowed", "W")
_ENERGY = means("per step and per sample; how far it may be off; samples per step", "J")
_CLOCKS = means("median, lowest, what the GPU can do, median", "MHz")
_HEAT = means("median, highest", "°C")
_MEMORY = means("of the device in all; of the run's own process", "bytes")
_PCIE = means("medians, read once a second", "kB/s")


class MetricAnswer(Answer, frozen=True):
    """One metric of one device."""

    name: str
    device: int | None
    n_samples: int
    period_ns: float | None
    mean: float
    median: float
    lowest: float
    highest: float


class TelemetryAnswer(Answer, frozen=True):
    """`telemetry`."""

    name: Annotated[str, _OF_RECORD]
    workload: Annotated[str, _OF_RECORD]
    variant: Annotated[str, _OF_RECORD]
    gpu_index: Annotated[int | None, _GPU]
    gpu: Annotated[str | None, _GPU]
    source: Annotated[str | None, _GPU]
    phase: Annotated[str | None, _FROM]
    phase_ns: Annotated[int | None, _FROM]
    n_steps: Annotated[int | None, _FROM]
    n_samples: Annotated[int, _FROM]
    utilization_gpu_pct: Annotated[float | None, _NVML]
    utilization_memory_pct: Annotated[float | None, _NVML]
    power_w: Annotated[float | None, _POWER]
    power_max_w: Annotated[float | None, _POWER]
    power_limit_w: Annotated[float | None, _POWER]
    energy_per_step_j: Annotated[float | None, _ENERGY]
    energy_per_sample_j: Annotated[float | None, _ENERGY]
    energy_error_fraction: Annotated[float | None, _ENERGY]
    batch_size: Annotated[int | None, _ENERGY]
    sm_clock_mhz: Annotated[float | None, _CLOCKS]
    sm_clock_min_mhz: Annotated[float | None, _CLOCKS]
    sm_clock_max_mhz: Annotated[float | None, _CLOCKS]
    memory_clock_mhz: Annotated[float | None, _CLOCKS]
    temperature_c: Annotated[float | None, _HEAT]
    temperature_max_c: Annotated[float | None, _HEAT]
    memory_used_bytes: Annotated[int | None, _MEMORY]
    process_memory_bytes: Annotated[int | None, _MEMORY]
    pcie_tx_kbps: Annotated[float | None, _PCIE]
    pcie_rx_kbps: Annotated[float | None, _PCIE]
    clock_events: Annotated[
        tuple[ClockEvent, ...] | None,
        means(
            "{keys}",
            name="NVML's",
            kind="`idle`, `setting`, `power`, `thermal`, `hardware`, `unknown`",
            share="of the samples",
        ),
    ]
    jitter: Annotated[
        SamplerJitter | None, means("of the sampler: {keys}", "ns", max_ns="from the deadlines")
    ]
    host: Annotated[
        HostUse | None, means("the process: {keys}", "", others_cpu_pct="100 is one core")
    ]
    ranks: Annotated[
        tuple[RankGpu, ...],
        means(
            "the GPU of each rank of a job, whose energy per step is the sum of theirs: {keys}",
            "W, J, MHz, °C, bytes",
        ),
    ]
    metrics: Annotated[
        tuple[MetricAnswer, ...],
        means(
            "what the profiler sampled of each device during the profiled steps (torch 2.15 and "
            "later), in the unit that the name says: {keys}",
            period_ns="median distance of the samples",
        ),
    ]
    reasons: Annotated[Mapping[str, str], means("key → sentence for each number that is null")]
    phases: Annotated[
        tuple[Phase, ...], means("{keys}", "epoch ns", kind="`timing`, `telemetry`, `profiled`")
    ]
    n_samples_by_phase: Annotated[
        Mapping[str, int],
        means("GPU samples in `timing`, `telemetry`, `profiled` and in `none` of them", "count"),
    ]
    gpu_indexes: Annotated[
        tuple[int, ...], means("all GPUs in the samples, the one with most first")
    ]
    n_skipped: Annotated[int, means("lines that are no samples", "count")]


def telemetry_answer(
    record: RunRecord, telemetry: RunTelemetry, samples: RunSamples, metrics: Metrics
) -> TelemetryAnswer:
    """Of one run, or of samples alone."""
    measured = phases(record.measurement)
    times = [sample.t_ns for sample in samples.gpus.samples] if samples.gpus else []
    counted = Counter(phase_of(time, measured) for time in times)
    return TelemetryAnswer.of(
        telemetry,
        name=record.name,
        workload=record.workload,
        variant=record.variant,
        phases=tuple(measured),
        n_samples_by_phase={kind or "none": counted[kind] for kind in _PHASES},
        gpu_indexes=samples.gpus.indexes if samples.gpus else (),
        n_skipped=n_skipped(samples),
        metrics=tuple(map(MetricAnswer.of, metrics.metrics)),
    )


def n_skipped(samples: RunSamples) -> int:
    """Lines of both files that are no samples."""
    return sum(part.tally.n_skipped for part in (samples.gpus, samples.hosts) if part is not None)

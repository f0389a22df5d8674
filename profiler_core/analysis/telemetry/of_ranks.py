"""The GPUs of a job's ranks: each by itself, and what they say of the job together."""

from collections.abc import Sequence
from dataclasses import dataclass, replace

from profiler_core.analysis.telemetry.clock_events import ClockEvent
from profiler_core.model.run import RunRecord


@dataclass(frozen=True)
class RankGpu:
    """The GPU of one rank of a job, in steady state; what cannot be given is None."""

    rank: int
    gpu_index: int
    gpu_uuid: str | None = None
    power_w: float | None = None
    energy_per_step_j: float | None = None
    sm_clock_mhz: float | None = None
    temperature_max_c: float | None = None
    memory_used_bytes: int | None = None
    clock_events: tuple[ClockEvent, ...] | None = None


def numbers_of_job(
    ranks: Sequence[RankGpu], record: RunRecord, reasons: dict[str, str]
) -> dict[str, object]:
    """What differs from the numbers of the first rank's GPU; a missing rank leaves no sum.

    Args:
        ranks: at least one.
        record: of the run.
        reasons: gets a sentence for each number that cannot be given.
    """
    energies = [rank.energy_per_step_j for rank in ranks if rank.energy_per_step_j is not None]
    step_j = sum(energies) if len(energies) == len(ranks) else None
    if step_j is None:
        reasons.setdefault("energy_per_step_j", "Not every rank's GPU was sampled for long enough.")
    reasons["energy_per_sample_j"] = "How many samples the ranks share is not known."
    reasons["utilization_gpu_pct"] = reasons["utilization_memory_pct"] = (
        f"NVML counts a collective that waits for another rank as use; the parts of the job's step "
        f"say how busy its {record.world_size} GPUs are."
    )
    temperatures = [rank.temperature_max_c for rank in ranks if rank.temperature_max_c is not None]
    return {
        "energy_per_step_j": step_j,
        "energy_per_sample_j": None,
        "utilization_gpu_pct": None,
        "utilization_memory_pct": None,
        "temperature_max_c": max(temperatures, default=None),
        "clock_events": _clock_events(ranks),
    }


def _clock_events(ranks: Sequence[RankGpu]) -> tuple[ClockEvent, ...] | None:
    """Each reason of the GPU that had it for longest; None where no GPU tells any."""
    if all(rank.clock_events is None for rank in ranks):
        return None
    most: dict[str, ClockEvent] = {}
    for rank in ranks:
        for event in rank.clock_events or ():
            if event.name not in most or event.share > most[event.name].share:
                most[event.name] = replace(event, rank=rank.rank)
    return tuple(sorted(most.values(), key=lambda event: -event.share))

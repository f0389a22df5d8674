"""Two jobs of the same work side by side: what compiling changed for all ranks together."""

from collections.abc import Callable
from dataclasses import dataclass
from statistics import fmean
from typing import Literal

from profiler_core.analysis.ranks.claim import claim_of
from profiler_core.analysis.ranks.job import CollectiveRow, Job

Unit = Literal["ns", "share", "rank", "bytes_per_s"]
BETTER_LESS, BETTER_MORE, NEITHER = -1, 1, 0


@dataclass(frozen=True)
class Measure:
    """One line of the comparison. None: not available in that job."""

    key: str
    label: str
    meaning: str
    unit: Unit
    better: int  # BETTER_LESS, BETTER_MORE or NEITHER
    values: tuple[float | None, ...]  # one a job, the baseline first


def measures(jobs: tuple[Job, ...]) -> tuple[Measure, ...]:
    """All measures of these jobs; means over ranks and steps unless they say otherwise."""
    rows = [
        Measure(key, label, meaning, unit, better, tuple(value_of(job) for job in jobs))
        for key, label, meaning, unit, better, value_of in _MEASURES
    ]
    kinds = dict.fromkeys(
        (row.kind, row.group_size) for job in jobs for row in job.collectives if row.bus_bandwidth
    )
    for kind, size in kinds:
        collectives = [_collective(job, kind, size) for job in jobs]
        label = next(row.label for row in collectives if row is not None)
        several = sum(other_kind == kind for other_kind, _ in kinds) > 1
        rows.append(
            Measure(
                f"bus_bandwidth_{kind}" + (f"_{size}" if several else ""),
                f"Bus bandwidth, {label}" + (f" of {size}" if several else ""),
                _BUS,
                "bytes_per_s",
                BETTER_MORE,
                tuple(row.bus_bandwidth if row else None for row in collectives),
            )
        )
    return tuple(rows)


def _collective(job: Job, kind: str, size: int | None) -> CollectiveRow | None:
    return next((r for r in job.collectives if (r.kind, r.group_size) == (kind, size)), None)


def _mean(field: str) -> Callable[[Job], float | None]:
    return lambda job: fmean(getattr(r, field) for r in job.ranks) if job.ranks else None


def overlap_share(job: Job) -> float | None:
    """Share of all communication time that ran beside compute, over all ranks."""
    total = sum(r.communication_ns for r in job.ranks)
    exposed = sum(r.exposed_communication_ns for r in job.ranks)
    return 1 - exposed / total if total else None


_BUS = (
    "Bytes of the collectives over the time of the fastest rank (the others' includes waiting), "
    "times the factor of nccl-tests: comparable with the bandwidth of the links."
)
_MEASURES: tuple[tuple[str, str, str, Unit, int, Callable[[Job], float | None]], ...] = (
    (
        "step_ns", "Step", "Profiled step of the slowest rank, mean over the steps.",
        "ns", BETTER_LESS, lambda job: job.step_ns,
    ),
    (
        "compute_ns", "Compute", "Time per step in which a kernel ran that is no communication.",
        "ns", BETTER_LESS, _mean("compute_ns"),
    ),
    (
        "communication_ns", "Communication",
        "Time per step in which a communication kernel ran, hidden behind compute or not; "
        "waiting for late ranks is in it.",
        "ns", BETTER_LESS, _mean("communication_ns"),
    ),
    (
        "exposed_communication_ns", "Exposed communication",
        "Communication that no compute covers: what the step is longer for.",
        "ns", BETTER_LESS, _mean("exposed_communication_ns"),
    ),
    (
        "overlap_share", "Overlap", "Share of the communication that ran beside compute.",
        "share", BETTER_MORE, overlap_share,
    ),
    (
        "exposed_copy_ns", "Exposed copies", "Copies and memsets that neither of the two covers.",
        "ns", BETTER_LESS, _mean("exposed_copy_ns"),
    ),
    ("idle_ns", "Idle", "The device did nothing.", "ns", BETTER_LESS, _mean("idle_ns")),
    (
        "wait_share", "Waiting",
        "Share of all ranks' time spent in collectives before the last rank arrived.",
        "share", BETTER_LESS, lambda job: job.wait_share,
    ),
    (
        "skew_ns", "Arrival skew",
        "Between the first and the last rank's arrival at a collective; median.",
        "ns", BETTER_LESS, lambda job: job.skew_ns,
    ),
    (
        "compute_imbalance", "Compute imbalance",
        "Compute of the slowest rank over the mean of all, minus 1.",
        "share", BETTER_LESS, lambda job: job.compute_imbalance,
    ),
    (
        "straggler", "Straggler",
        "The rank that the others wait for, where one stands out; without the profiler, where the "
        "step was timed.",
        "rank", NEITHER, lambda job: claim_of(job).rank,
    ),
)  # fmt: skip

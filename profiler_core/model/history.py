"""A run as the history keeps it: what it was, its raw rounds, and its headline numbers.

One row of the table `runs`, the same on SQLite and on PostgreSQL. The numbers outlive the files:
a trend goes on after retention has deleted the traces.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from profiler_core.model.run import Measurement, Role, Round, RunRecord, Status


@dataclass(frozen=True)
class HeadlineMetrics:
    """The numbers that are followed over time; None: not available for this run.

    Counts are per profiled step and may have a fraction. Compile numbers are None for runs that
    do not compile and for runs without logs.
    """

    step_time_ns: float | None = None  # unprofiled, the median over the rounds
    n_kernels: float | None = None
    n_launches: float | None = None
    n_graph_breaks: float | None = None  # distinct places, frames given up included; a run
    n_recompiles: float | None = None  # a run
    compile_s: float | None = None  # of the logs, else the first call beyond a later step
    peak_reserved_bytes: float | None = None
    peak_allocated_bytes: float | None = None
    energy_per_step_j: float | None = None  # of the telemetry phase
    sm_clock_mhz: float | None = None  # the mean while it ran alone; explains changes


METRICS = tuple(HeadlineMetrics.__dataclass_fields__)


@dataclass(frozen=True)
class RunHead:
    """What lists say of a run of the history. Texts are "" where they are not known."""

    run_id: str
    capture_id: str
    baseline_run_id: str | None
    role: Role | None
    name: str
    workload: str
    variant: str
    status: Status
    error: str | None
    created_at: str  # ISO 8601, UTC, "2026-11-21T12:48:35Z": sorts by time
    recorded_at: str
    origin: str  # "capture" or "upload"
    gpu: str  # of a CPU run the CPU's name
    torch: str  # without the local part: "2.11.0"
    git_branch: str
    git_commit: str
    host: str
    person: str  # who recorded or uploaded it
    metrics: HeadlineMetrics
    key: str  # of the library (store/library.py) on the machine that recorded it
    artifact: str | None  # name below the artifacts' URL; None: only in the folder of `key`
    files_deleted_at: str | None = None  # retention took the files, the numbers stay
    tags: tuple[str, ...] = ()


@dataclass(frozen=True, kw_only=True)
class ListedRun(RunHead):
    """One run of a list: without what makes a record large."""

    n_rounds: int


@dataclass(frozen=True, kw_only=True)
class RecordedRun(RunHead):
    """One run of the history."""

    rounds: tuple[Round, ...]
    spec: Mapping[str, Any]
    environment: Mapping[str, Any]

    @property
    def n_rounds(self) -> int:
        """How many rounds were timed."""
        return len(self.rounds)

    def as_record(self) -> RunRecord:
        """The part of run.json that analyses of environments and step times ask for."""
        return RunRecord(
            run_id=self.run_id,
            capture_id=self.capture_id,
            role=self.role,
            created_at=self.created_at,
            name=self.name,
            workload=self.workload,
            variant=self.variant,
            status=self.status,
            spec=dict(self.spec),
            environment=dict(self.environment),
            measurement=Measurement(rounds=self.rounds) if self.rounds else None,
        )


@dataclass(frozen=True)
class Baseline:
    """A run that others are held against, by name: "main", "release-2.4"."""

    name: str
    run_id: str
    set_at: str
    person: str
    note: str = ""

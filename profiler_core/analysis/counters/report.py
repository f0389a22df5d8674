"""One file of counters in numbers: the keys of `counters` in docs/json.md."""

from collections.abc import Mapping
from dataclasses import dataclass

from profiler_core.analysis.counters.estimate import estimated_bytes
from profiler_core.analysis.counters.groups import ENOUGH
from profiler_core.analysis.counters.join import Joined, join
from profiler_core.analysis.counters.kernels import (
    KernelCounters,
    counters_by_name,
    counters_by_trace_name,
)
from profiler_core.analysis.counters.measured import CounterSums, Measured
from profiler_core.analysis.ledger.sides import LedgerSide
from profiler_core.analysis.work import device_work
from profiler_core.model.counters import Counters
from profiler_core.units import format_share


@dataclass(frozen=True)
class RunMeasured:
    """Counters of one run beside its trace. None: it has none that belong to it; see `notes`."""

    joined: Joined | None = None
    kernels: Mapping[str, KernelCounters] | None = None  # of a step, by the trace's names
    notes: tuple[str, ...] = ()


def run_measured(counters: Counters, side: LedgerSide) -> RunMeasured:
    """Join a run's counters with its trace.

    Args:
        counters: what Nsight Compute measured.
        side: the run.
    """
    work = device_work(side.trace)
    joined = join(counters, work)
    if joined is None:
        return RunMeasured()
    kernels = counters_by_trace_name(joined, work, estimated_bytes(side))
    return RunMeasured(joined, kernels, (*counter_notes(counters), *joined_notes(joined)))


@dataclass(frozen=True)
class CountersReport:
    """A file of counters, joined with a trace where there is one."""

    source: str
    device_name: str | None
    l2_size_bytes: int | None
    total: Measured  # of the whole file
    kernels: tuple[KernelCounters, ...]  # the longest first
    joined: Joined | None
    notes: tuple[str, ...]

    @property
    def matched_time_share(self) -> float | None:
        """Kernel time of the trace's step whose kernels have a row; None without a trace."""
        return None if self.joined is None else self.joined.matched_time_share


def counters_report(counters: Counters, side: LedgerSide | None = None) -> CountersReport:
    """Add it up.

    Args:
        counters: the file.
        side: the run that it belongs to.
    """
    joined = estimates = None
    if side is not None:
        joined = join(counters, device_work(side.trace))
        estimates = estimated_bytes(side)
    return CountersReport(
        source=counters.source,
        device_name=counters.device_name,
        l2_size_bytes=counters.l2_size_bytes,
        total=CounterSums(counters).total,
        kernels=counters_by_name(counters, joined, estimates),
        joined=joined,
        notes=(*counter_notes(counters), *joined_notes(joined)),
    )


_WORDS = {
    "time_ns": "times",
    "dram_read_bytes": "bytes read from DRAM",
    "dram_write_bytes": "bytes written to DRAM",
    "l2_read_bytes": "L2 traffic",
    "occupancy_pct": "occupancy",
}


def counter_notes(counters: Counters) -> tuple[str, ...]:
    """What the file does not hold, one sentence each."""
    notes = []
    absent = [label for column, label in _WORDS.items() if column in counters.missing]
    if absent:
        notes.append(f"{counters.source} does not hold {', '.join(absent)}: not among its metrics.")
    lost = counters.tally.skipped.get("not a kernel", 0)
    if lost:
        notes.append(f"{lost} lines of {counters.source} could not be read as kernels.")
    return tuple(notes)


def joined_notes(joined: Joined | None) -> tuple[str, ...]:
    """What limits the join, one sentence each."""
    if joined is None:
        return ()
    notes = []
    share = joined.matched_time_share
    if share is not None and share < ENOUGH:
        notes.append(
            f"Only {format_share(share)} of the trace's kernel time is found in "
            f"{joined.counters.source}: the counters are of other kernels than the trace, for "
            "instance of another version, or of another choice of the libraries."
        )
    if joined.n_counted_steps > 1:
        notes.append(
            f"{joined.counters.source} holds {joined.n_counted_steps} steps; sums are of all."
        )
    return tuple(notes)

"""How fast the GPU of each rank of a job ran while the job's steps did."""

from collections.abc import Sequence
from dataclasses import dataclass
from statistics import median

from profiler_core.analysis.telemetry.clock_events import ClockEvent, clock_events
from profiler_core.analysis.telemetry.phases import phase_of, phases
from profiler_core.analysis.telemetry.run import MIN_CLOCK_SAMPLES
from profiler_core.model.run import Measurement
from profiler_core.model.telemetry import GpuSample, GpuSamples


@dataclass(frozen=True)
class RankClock:
    """The GPU of one rank while its steps ran.

    held_by: what held its clock back for long enough to count, a setting too; () also where no
    sample tells.
    """

    rank: int
    sm_clock_mhz: float  # median of the samples
    held_by: tuple[ClockEvent, ...]
    is_profiled: bool  # sampled in the profiled steps; else in all steps of the run


def clocks_of_ranks(measurement: Measurement, gpus: GpuSamples) -> tuple[RankClock, ...]:
    """The clock of each rank whose GPU was sampled often enough; () where nobody says which it is.

    Of the profiled steps, whose traces say who is late, where every rank has enough samples of
    them; else of all steps of the run.

    Args:
        measurement: of a job that one capture made.
        gpus: all its samples.
    """
    of_ranks = {rank: gpus.of(index) for rank, index in enumerate(measurement.rank_gpus)}
    profiled = {rank: _during(measurement, of, profiled=True) for rank, of in of_ranks.items()}
    is_profiled = all(len(clocked) >= MIN_CLOCK_SAMPLES for clocked in profiled.values())
    chosen = profiled if is_profiled else {
        rank: _during(measurement, of, profiled=False) for rank, of in of_ranks.items()
    }  # fmt: skip
    clocks = (_clock(rank, clocked, is_profiled) for rank, clocked in chosen.items())
    return tuple(clock for clock in clocks if clock is not None)


def clock_of_rank(rank: int, measurement: Measurement, gpus: GpuSamples) -> RankClock | None:
    """The clock of a rank with samples of its own, as a Recorder leaves them; None: too few.

    Args:
        rank: whose.
        measurement: of that rank.
        gpus: that it sampled; the GPU with most samples is its own.
    """
    own = gpus.of(gpus.indexes[0])
    return _clock(rank, _during(measurement, own, profiled=False), is_profiled=False)


def _during(
    measurement: Measurement, samples: Sequence[GpuSample], *, profiled: bool
) -> list[GpuSample]:
    """Samples with a clock while steps of the run ran; all where nobody knows when."""
    run_phases = phases(measurement)
    among = [phase for phase in run_phases if phase.kind == "profiled"] if profiled else run_phases
    return [
        sample
        for sample in samples
        if sample.sm_clock_mhz is not None
        and (phase_of(sample.t_ns, among) is not None or (not run_phases and not profiled))
    ]


def _clock(rank: int, clocked: Sequence[GpuSample], is_profiled: bool) -> RankClock | None:
    if len(clocked) < MIN_CLOCK_SAMPLES:
        return None
    masks = [s.clocks_event_reasons for s in clocked if s.clocks_event_reasons is not None]
    return RankClock(
        rank,
        median(sample.sm_clock_mhz or 0.0 for sample in clocked),
        tuple(event for event in clock_events(masks) if event.is_lasting and event.kind != "idle"),
        is_profiled,
    )

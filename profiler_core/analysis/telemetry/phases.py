"""What ran while a sample was taken: the telemetry phase, timed rounds, profiled steps.

All on one clock: t_ns of samples and started_ns of phases are epoch ns of the same host
(time.time_ns), and a trace's zero is `Trace.origin_ns`, its baseTimeNanoseconds plus its first ts,
which Kineto takes from the system clock too. So a sample lies at t_ns − origin_ns on the trace's
axis. The error: t_ns is taken before the values are read, which takes up to 10 ms; Kineto converts
the CPU's counter to the system clock to within some µs; and NVML's own averages (utilisation 1/6 to
1 s, power 1 s on Ampere and later) lag far more than either.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from profiler_core.model.run import Measurement

PhaseKind = Literal["telemetry", "timing", "profiled", "file"]

WORDS: dict[PhaseKind, str] = {
    "telemetry": "telemetry phase",
    "timing": "timed rounds",
    "profiled": "profiled steps",
    "file": "whole file",
}


@dataclass(frozen=True)
class Phase:
    """A stretch of time of one run, epoch ns; n_steps is None where nobody counted them."""

    kind: PhaseKind
    start_ns: int
    end_ns: int
    n_steps: int | None = None

    @property
    def length_ns(self) -> int:
        """From start to end."""
        return self.end_ns - self.start_ns

    def holds(self, t_ns: int) -> bool:
        """Does this moment lie in it? Its ends belong to it."""
        return self.start_ns <= t_ns <= self.end_ns


def phases(measurement: Measurement | None) -> tuple[Phase, ...]:
    """All phases of a run whose times are known, by their start; each timed round is one.

    Captures before rounds had a start give the telemetry phase alone; other files nothing.
    """
    if measurement is None:
        return ()
    spans = [
        Phase("timing", span.started_ns, span.started_ns + span.wall_ns, span.n_steps)
        for span in measurement.rounds
        if span.started_ns is not None
    ]
    for kind, span in (("telemetry", measurement.telemetry), ("profiled", measurement.profiled)):
        if span is not None:
            end_ns = span.started_ns + span.wall_ns
            spans.append(Phase(kind, span.started_ns, end_ns, span.n_steps))  # type: ignore[arg-type]
    return tuple(sorted(spans, key=lambda phase: phase.start_ns))


def phase_of(t_ns: int, among: Sequence[Phase]) -> PhaseKind | None:
    """What ran at this moment; None: none of them (another variant's turn, a pause)."""
    return next((phase.kind for phase in among if phase.holds(t_ns)), None)


def steady_phase(measurement: Measurement | None, times: Sequence[int]) -> Phase | None:
    """The stretch that numbers of a run are taken from.

    The telemetry phase; else all timed rounds as one, where no other variant ran between them;
    else, where nothing is known of phases, the whole file. None without samples.

    Args:
        measurement: of the run, None for a file alone.
        times: t_ns of the samples, sorted.
    """
    run_phases = phases(measurement)
    for phase in run_phases:
        if phase.kind == "telemetry":
            return phase
    rounds = [phase for phase in run_phases if phase.kind == "timing"]
    if rounds and measurement is not None and not measurement.interleaved:
        n_steps = sum(phase_round.n_steps or 0 for phase_round in rounds)
        return Phase("timing", rounds[0].start_ns, rounds[-1].end_ns, n_steps)
    if run_phases or not times:
        return None
    return Phase("file", times[0], times[-1])

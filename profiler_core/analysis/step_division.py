"""What a run's step divides into: busy, in a job waiting for a rank, and idle by cause.

On the clock of *Overview*: of the step as it was timed, where it was, else of the profiled one.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from profiler_core.analysis.measures import divided_clock, step_ns
from profiler_core.analysis.side import Side, is_empty
from profiler_core.analysis.step_parts import step_parts
from profiler_core.analysis.step_time import Clock
from profiler_core.analysis.summary import Summary
from profiler_core.analysis.waterfall import idle_shares


@dataclass(frozen=True)
class DividedStep:
    """One step, or all of a trace without steps, ns. busy_ns + waiting_ns + idle_ns == step_ns.

    Of a job that waits for a rank they are more by `over_ns`, as in its waterfall.
    """

    step_ns: float
    clock: Clock
    busy_ns: float  # on a GPU as in the trace, but no more than the step
    waiting_ns: float  # for the late rank of a job, which works more
    idle_ns: float
    beyond_ns: float  # of what the device is busy in a profiled step: more than the timed step
    idle_by_cause_ns: Mapping[str, float] | None  # sum to idle_ns; None: the trace tells none

    @property
    def over_ns(self) -> float:
        """What busy, waiting and idle time come to more than the step, of a job that waits."""
        return max(0.0, self.busy_ns + self.waiting_ns + self.idle_ns - self.step_ns)


def divided_steps(sides: Sequence[Side]) -> tuple[DividedStep | None, ...]:
    """The step of each run, all on one clock; None where the trace is cut, or there is none."""
    clock = divided_clock(sides)
    return tuple(
        _divided(side.summary, step_ns(side, clock), clock or "profiled")
        if side.summary is not None and side.has_whole_steps
        else None
        for side in sides
    )


def _divided(summary: Summary, step: float | None, clock: Clock) -> DividedStep:
    parts = step_parts(summary, None if is_empty(summary) else step, clock)
    waiting_ns = min(summary.per_step(summary.late_work_ns), parts.step_ns)
    idle_ns = max(0.0, parts.idle_ns - waiting_ns)
    pace = summary.unprofiled_scale(parts.step_ns)
    return DividedStep(
        step_ns=parts.step_ns,
        clock=parts.clock,
        busy_ns=parts.step_ns - parts.idle_ns,
        waiting_ns=waiting_ns,
        idle_ns=idle_ns,
        beyond_ns=max(0.0, summary.per_step(pace * summary.busy_ns) - parts.step_ns),
        idle_by_cause_ns=_by_cause(summary, idle_ns, parts.step_ns, parts.clock),
    )


def _by_cause(
    summary: Summary, idle_ns: float, step: float, clock: Clock
) -> Mapping[str, float] | None:
    if summary.idle_by_cause_ns is None:
        return None
    if summary.idle_ns == 0 and idle_ns:
        return None  # the profiled steps have no idle time that could be divided
    shares = idle_shares(summary, idle_ns, step, clock)
    return {key.removeprefix("idle_"): ns for key, ns in shares.items()}

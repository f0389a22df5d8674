"""How fast the host was while it was profiled, beside what the profiler costs it for each event."""

from dataclasses import replace

from profiler_core.analysis.compilation.event_cost import (
    MOST_EVENT_NS,
    between,
    profiler_event_ns,
)
from profiler_core.analysis.compilation.two_queues import Queues, replay_ns

# A host without any work leaves this part of the step: the device's own.
DEVICE_HIDES = 0.9


def as_fast_as(two: Queues, speed: float) -> Queues:
    """The same with a host whose every work takes `speed` of its time."""
    host_ns, removable_ns = two.host_ns * speed, two.removable_ns * speed
    return replace(two, host_ns=host_ns, removable_ns=removable_ns)


def host_speed(two: Queues, step_ns: float) -> float:
    """What part of the host's recorded work it needs at its usual speed, beside its events.

    1 where the number of events explains what the profiled steps take longer. Where it would need
    more than `MOST_EVENT_NS` for each, the host as a whole was slower while it was profiled. 1 also
    where the device alone takes the step: it hides how fast the host was.
    """
    event_ns = profiler_event_ns(two, step_ns)
    if event_ns is not None and event_ns <= MOST_EVENT_NS:
        return 1.0
    if event_ns is None and replay_ns(as_fast_as(two, 0.0)) >= DEVICE_HIDES * step_ns:
        return 1.0

    def is_fast_enough(speed: float) -> bool:
        return replay_ns(as_fast_as(two, speed), event_ns=MOST_EVENT_NS) <= step_ns

    return between(is_fast_enough, 0.0, 1.0)[1]

"""How fast the host was while it was profiled, beside what the profiler costs it for each event."""

from dataclasses import replace

from profiler_core.analysis.compilation.two_queues import Queues, profiler_event_ns, replay_ns

# What the profiler costs the host for one event, at most: 2.5 to 7.9 µs on the H200s of
# docs/what_if.md, but where the host was busy with other processes.
MOST_EVENT_NS = 8_000.0
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
    low, high = 0.0, 1.0
    for _ in range(16):
        middle = (low + high) / 2
        if replay_ns(as_fast_as(two, middle), event_ns=MOST_EVENT_NS) > step_ns:
            high = middle
        else:
            low = middle
    return high

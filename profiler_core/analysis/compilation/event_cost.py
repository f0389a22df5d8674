"""What the profiler costs the host for each event that it writes down, as far as the step tells."""

from collections.abc import Callable

from profiler_core.analysis.compilation.two_queues import Queues, replay_ns, unprofiled

# What the profiler costs the host for one event, at most: 2.5 to 7.9 µs on the H200s of
# docs/what_if.md, but where the host was busy with other processes.
MOST_EVENT_NS = 8_000.0
# The device makes for this part of the step: it hides how long the host works.
DEVICE_BOUND = 0.97


def profiler_event_ns(two: Queues, step_ns: float) -> float | None:
    """The cost of one event at which the replay takes `step_ns`; None where the step tells none.

    Profiling does not make the host faster, so the cost is at least 0. None where the host never
    matters, and where another cost fits nearly as well: the device works beside all of the host's
    events, and the step is its work and what a host that sleeps or reads a value adds to it.
    """
    high = _more_than_any_ns(two)
    if replay_ns(two, event_ns=high) >= 0.99 * step_ns:
        return None
    if replay_ns(two) <= step_ns:
        return None if _hides_events(two, 0.0, step_ns) else 0.0
    event_ns = sum(between(lambda cost: replay_ns(two, event_ns=cost) > step_ns, 0.0, high)) / 2
    return None if _hides_events(two, event_ns, step_ns) else event_ns


def _hides_events(two: Queues, event_ns: float, step_ns: float) -> bool:
    """Would the step hardly be shorter if an event cost twice as much, or the most that it can?

    Hardly: by less than half of what the host has less to do then, and by 3 % of the step at most.
    """
    dearer_ns = max(2 * event_ns, MOST_EVENT_NS)
    shorter_ns = replay_ns(two, event_ns=dearer_ns)
    if shorter_ns < DEVICE_BOUND * step_ns:
        return False
    less_ns = (
        unprofiled(two.host_ns, two.host_events, event_ns).sum()
        - unprofiled(two.host_ns, two.host_events, dearer_ns).sum()
    ) / two.n_steps
    gained_ns = replay_ns(two, event_ns=event_ns) - shorter_ns
    return gained_ns < 0.5 * float(less_ns)


def event_ns_that_leaves(two: Queues, work_ns: float) -> float:
    """The cost of one event at which the host's work without the profiler takes so long in all.

    Args:
        two: the queues.
        work_ns: of all steps; at most what was recorded.
    """

    def leaves_more(event_ns: float) -> bool:
        return bool(unprofiled(two.host_ns, two.host_events, event_ns).sum() > work_ns)

    return sum(between(leaves_more, 0.0, _more_than_any_ns(two))) / 2


def between(is_too_low: Callable[[float], bool], low: float, high: float) -> tuple[float, float]:
    """The bounds of where a value stops being too low, after sixteen halvings of their distance."""
    for _ in range(16):
        middle = (low + high) / 2
        if is_too_low(middle):
            low = middle
        else:
            high = middle
    return low, high


def _more_than_any_ns(two: Queues) -> float:
    """More for one event than any can cost: eight times the host's mean work for each."""
    return float(two.host_ns.sum() / max(1.0, two.host_events.sum())) * 8

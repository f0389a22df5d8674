"""The first and the last profiled step, whose host does what no other step's does.

In the first one the profiler has just begun to record (on the H200s of docs/what_if.md its host
took 0.1 to 0.5 ms more than in the steps after it); the last one of captures up to 2026-11 ends
with the query of the allocator's peaks (0.2 to 0.6 ms after the last call). Neither is in a step of
the steady state, and with four steps both weigh a quarter.
"""

from dataclasses import replace

import numpy as np

from profiler_core.analysis.compilation.two_queues import Floats, Queues

# Steps that launch as often do the same work where their device time differs by no more than this.
SAME_DEVICE_TIME = 0.05


def with_inner_edges(two: Queues) -> Queues:
    """The same, but the host's work at both edges is the mean of the steps between.

    Only of those that do the same work: as many launches and waits, in the same order, with the
    same device time. An edge without such a step stays as it was recorded, so that inputs of
    several shapes keep their shares.
    """
    edges = {
        edge: alike
        for edge in {0, two.n_steps - 1}
        if (alike := [n for n in range(1, two.n_steps - 1) if _is_alike(two, edge, n)])
    }

    def averaged(values: Floats) -> Floats:
        result = values.copy()
        for edge, alike in edges.items():
            result[two.step == edge] = np.mean([values[two.step == n] for n in alike], axis=0)
        return result

    return replace(
        two,
        host_ns=averaged(two.host_ns),
        host_events=averaged(two.host_events),
        removable_ns=averaged(two.removable_ns),
        removable_events=averaged(two.removable_events),
    )


def _is_alike(two: Queues, step: int, other: int) -> bool:
    rows, others = two.step == step, two.step == other
    if not np.array_equal(two.waits[rows], two.waits[others]):
        return False
    times = two.device_ns[rows].sum(), two.device_ns[others].sum()
    return bool(abs(times[0] - times[1]) <= SAME_DEVICE_TIME * max(times))

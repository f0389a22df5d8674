"""How fast the host was while it was profiled, on queues of one launch a step."""

import numpy as np
import pytest

from profiler_core.analysis.compilation.host_speed import host_speed
from profiler_core.analysis.compilation.two_queues import Queues

US = 1_000.0
STEP_NS = 100 * US


def waiting_for(device_ns: float, host_ns: float = 200 * US, n: int = 4) -> Queues:
    """Steps of a host that launches one kernel and waits for it, with one event each."""
    zeros, alternating = np.zeros(2 * n), np.arange(2 * n) % 2
    return Queues(
        host_ns=np.where(alternating, 0.0, host_ns),
        host_events=1.0 - alternating,
        removable_ns=zeros,
        removable_events=zeros,
        device_ns=np.where(alternating, 0.0, device_ns),
        waits=alternating == 1,
        step=np.repeat(np.arange(n), 2),
        begins=np.arange(2 * n),
        launch_row=np.arange(2 * n),
        gap_ns=0.0,
        n_steps=n,
        n_all_steps=n,
    )


@pytest.mark.parametrize("device_ns", [91 * US, 97 * US])
def test_a_device_that_takes_nine_tenths_of_the_step_hides_the_host(device_ns):
    assert host_speed(waiting_for(device_ns), STEP_NS) == 1.0


@pytest.mark.parametrize("device_ns", [60 * US, 89 * US])
def test_below_that_the_host_was_slower_while_it_was_profiled(device_ns):
    """Its one event costs 8 µs at most: it has what the device leaves of the step, and these."""
    expected = (STEP_NS - device_ns + 8 * US) / (200 * US)
    assert host_speed(waiting_for(device_ns), STEP_NS) == pytest.approx(expected, rel=0.01)

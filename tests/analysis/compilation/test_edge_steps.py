"""What the host does in the first and the last profiled step alone counts for no step."""

import numpy as np
import pytest

from profiler_core.analysis.compilation.edge_steps import with_inner_edges
from profiler_core.analysis.compilation.two_queues import queues
from profiler_core.analysis.what_if.change import Change
from profiler_core.analysis.what_if.engine import WhatIf
from tests.analysis.compilation.test_costs import US, a_trace_us, broken_step, steps_of
from tests.builders import kernel, launch, step


def with_slow_edges(n, late=300, tail=400):
    """`steps_of`, but the first step begins `late` earlier and the last one ends `tail` later."""
    tables = {"annotations": [], "ops": [], "runtime": [], "device": []}
    for number in range(n):
        rows = broken_step(late + number * 1000, number=number)
        for table, own in rows.items():
            tables[table] += own
    tables["annotations"][0] = step(0, 0, 1000 + late)
    tables["annotations"][-1] = step(n - 1, late + (n - 1) * 1000, 1000 + tail)
    return a_trace_us(**tables)


def per_step(two):
    return [float(two.host_ns[two.step == number].sum()) for number in range(two.n_steps)]


def test_the_edges_work_as_the_steps_between_do():
    recorded = queues(with_slow_edges(4), [])
    assert per_step(recorded) == [1300 * US, 1000 * US, 1000 * US, 1400 * US]
    assert per_step(with_inner_edges(recorded)) == [1000 * US] * 4


def test_slow_edges_change_no_prediction():
    """Steps of 1000 on both sides; what the edges took beyond was laid on the events."""
    for lever in ("graph_replay", "no_breaks", "lighter_guards"):
        even, uneven = (
            WhatIf(trace, 900.0 * US).saved(Change(lever))
            for trace in (steps_of(4), with_slow_edges(4))
        )
        assert uneven.expected_ns == pytest.approx(even.expected_ns, rel=0.01)
        assert uneven.expected_ns > 40 * US


def test_two_steps_have_none_between():
    recorded = queues(with_slow_edges(2), [])
    assert per_step(with_inner_edges(recorded)) == [1300 * US, 1400 * US]


def shapes(*lengths):
    """Steps of 1000 + their kernel's length, so that the host tells them apart."""
    starts = np.cumsum([0, *(1000 + length for length in lengths)]).tolist()
    return a_trace_us(
        annotations=[step(n, starts[n], 1000 + length) for n, length in enumerate(lengths)],
        runtime=[launch(starts[n] + 100, 10, n) for n in range(len(lengths))],
        device=[kernel(starts[n] + 120, length, n) for n, length in enumerate(lengths)],
    )


def test_an_edge_takes_after_steps_of_its_own_shape_alone():
    steps = per_step(with_inner_edges(queues(shapes(10, 500, 10, 500), [])))
    assert steps == [1010 * US, 1500 * US, 1010 * US, 1500 * US]
    # Nothing between does what the edges do: both stay.
    steps = per_step(with_inner_edges(queues(shapes(10, 200, 300, 500), [])))
    assert steps == [1010 * US, 1200 * US, 1300 * US, 1500 * US]


def test_steps_whose_device_time_differs_by_a_twentieth_do_the_same_work():
    """The first step takes 10 more than its kernel's length by the host, of its own work."""
    for between, host_us in ((95, 1095), (94, 1100)):
        steps = per_step(with_inner_edges(queues(shapes(100, between, between, 94), [])))
        assert steps[0] == host_us * US

"""What a replay copies, and what long guards cost beside themselves, on made-up steps."""

import numpy as np
import pytest

from profiler_core.analysis.compilation.compiled_calls import CALL, LOOKUP
from profiler_core.analysis.what_if.change import Change, ReplayInputs
from profiler_core.analysis.what_if.engine import WhatIf
from tests.analysis.compilation.test_costs import US, a_trace_us, steps_of
from tests.builders import kernel, launch, op, step


def test_a_replay_copies_the_inputs_that_operators_made_and_none_of_another_replay():
    """Inputs of both calls move; between the calls of a step nothing is launched."""
    engine = WhatIf(steps_of(6), None)
    inputs = tuple(ReplayInputs(compile_id, 4, 0.0) for compile_id in ("0/0", "1/0"))
    gains = [engine.saved(Change("graph_replay", inputs=inputs[:n])).expected_ns for n in (0, 1, 2)]
    # One copy is a part of any replay; three more of 7 µs each, for the first call alone.
    assert gains[0] - gains[1] == pytest.approx(3 * 7 * US, rel=0.05)
    assert gains[2] == gains[1]


def test_large_inputs_take_the_device_as_long_as_its_memory_does():
    """100 µs for the bytes, 1 for the launch and the gap, where the device is the limit."""
    trace = a_trace_us(
        annotations=[step(n, n * 100, 100) for n in range(6)],
        ops=[op(n * 100 + 10, 80, f"{CALL} k ##") for n in range(6)],
        runtime=[launch(n * 100 + at, 10, 2 * n + at // 60) for n in range(6) for at in (20, 60)],
        device=[
            kernel(n * 1000 + at, 499, 2 * n + at // 550) for n in range(6) for at in (50, 550)
        ],
    )
    copied = Change("graph_replay", inputs=(ReplayInputs("", 1, 100.0 * US),))
    engine = WhatIf(trace, 1000.0 * US)
    lost = engine.expected_ns(Change("graph_replay")) - engine.expected_ns(copied)
    assert lost == pytest.approx(102 * US, rel=0.001)


def test_what_follows_long_guards_finds_its_caches_warm():
    """Guards of 400 of 1000 µs: 0.85 of them go, and 0.3 of their time from what follows."""
    trace = a_trace_us(
        annotations=[step(n, n * 1000, 1000) for n in range(6)],
        ops=[op(n * 1000, 400, LOOKUP) for n in range(6)],
        runtime=[launch(n * 1000 + 900, 20, n) for n in range(6)],
        device=[kernel(n * 1000 + 930, 10, n) for n in range(6)],
    )
    saved = WhatIf(trace, None).saved(Change("lighter_guards"))
    assert saved.expected_ns == pytest.approx((0.85 + 0.3) * 400 * US, rel=0.01)
    assert saved.low_ns < 0.5 * 400 * US + 1
    # What follows takes at most half of its time less: 300 of 600.
    assert saved.high_ns == pytest.approx((400 + 240) * US, rel=0.05)


def test_what_follows_takes_at_least_half_of_its_time_however_long_the_guards():
    """Guards of 700 of 1000 µs: 0.3 of their time would be more than half of the 405 that stay."""
    trace = a_trace_us(
        annotations=[step(n, n * 1000, 1000) for n in range(6)],
        ops=[op(n * 1000, 700, LOOKUP) for n in range(6)],
        runtime=[launch(n * 1000 + 900, 20, n) for n in range(6)],
        device=[kernel(n * 1000 + 930, 10, n) for n in range(6)],
    )
    saved = WhatIf(trace, None).saved(Change("lighter_guards"))
    assert saved.expected_ns == pytest.approx((0.85 * 700 + 405 / 2) * US, rel=0.002)
    # At most all 700, and half of the 300 that follow; beside what a host's times spread.
    beyond = np.hypot(700 + 300 / 2 - 797.5, 70)
    assert saved.high_ns == pytest.approx((797.5 + beyond) * US, rel=0.002)


def test_short_guards_leave_the_caches_as_they_are():
    """Lookups of 40 and 30 of 1000 µs: 0.85 of them goes, and nothing else."""
    saved = WhatIf(steps_of(6), None).saved(Change("lighter_guards"))
    assert saved.expected_ns == pytest.approx(0.85 * 70 * US, rel=0.02)

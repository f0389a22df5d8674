"""A sample of steps answers like all of them where steps are alike, and says how many it holds."""

import numpy as np
import pytest

from profiler_core.analysis import step_sample
from profiler_core.analysis.compilation.compiled_calls import compiled_calls, region_taxes
from profiler_core.analysis.compilation.graph_break_cost import graph_break_cost
from profiler_core.analysis.compilation.two_queues import queues
from profiler_core.analysis.step_sample import sample_steps
from tests.analysis.compilation.test_costs import steps_of


def test_a_short_trace_is_looked_at_whole():
    sample = sample_steps(steps_of(20))
    assert (sample.n, sample.n_all, sample.is_all) == (20, 20, True)


def test_a_sample_is_spread_over_the_trace_and_has_no_step_twice():
    sample = sample_steps(steps_of(300), most_rows=100)
    numbers = sample.numbers.tolist()
    assert 8 <= sample.n < 60
    assert numbers == sorted(set(numbers))
    # One of each stretch; and their places differ, so that inputs in turn all come up.
    width = 300 / sample.n
    assert all(abs(number - (k + 0.5) * width) <= width for k, number in enumerate(numbers))
    assert {number % 2 for number in numbers} == {0, 1}


def test_rows_of_a_sample_are_those_that_lie_in_its_steps():
    trace = steps_of(100)
    sample = sample_steps(trace, most_rows=50)
    for table in (trace.ops, trace.runtime, trace.annotations):
        moments = table["ts_ns"].to_numpy()
        assert sample.rows(moments).tolist() == np.flatnonzero(sample.holds(moments)).tolist()


def test_a_long_trace_costs_what_its_like_steps_cost(monkeypatch: pytest.MonkeyPatch):
    trace = steps_of(400)
    whole = graph_break_cost(trace, None)
    taxes = region_taxes(trace)
    monkeypatch.setattr(step_sample.sample_steps, "__defaults__", (200,))
    some = graph_break_cost(trace, None)
    assert (some.n_steps, whole.n_replayed_steps) == (400, 400)
    assert 8 <= some.n_replayed_steps < 100
    assert (some.n, some.host_work_ns) == (whole.n, whole.host_work_ns)
    assert some.cost_ns == pytest.approx(whole.cost_ns, rel=0.02)
    assert some.share_by_compile_id == whole.share_by_compile_id
    assert region_taxes(trace) == taxes


def test_every_launch_of_a_very_long_trace_is_in_the_queues():
    """Launches behind a limit once counted as none, so that later steps had no device work."""
    trace = steps_of(3000)
    two = queues(trace, [], sample=sample_steps(trace, most_rows=10**9))
    per_step = np.bincount(two.step, weights=two.device_ns)
    assert per_step.size == 3000
    assert per_step.min() == per_step.max() > 0


def test_calls_of_sampled_steps_are_those_of_the_whole_trace():
    trace = steps_of(200)
    sample = sample_steps(trace, most_rows=100)
    every = {call.start_ns: call for call in compiled_calls(trace)}
    found = compiled_calls(trace, sample)
    assert len(found) == 2 * sample.n
    for call in found:
        assert (call.end_ns, call.entry_ns) == (
            every[call.start_ns].end_ns,
            every[call.start_ns].entry_ns,
        )
        assert sample.numbers[call.step] == every[call.start_ns].step

"""How long `assert_not_slower` takes, on a clock that the sides advance."""

import pytest

pytestmark = pytest.mark.torch


@pytest.fixture
def timing():
    """Imports torch: not while every worker collects this file."""
    return pytest.importorskip("profiler_core.testing.timing")


class Clock:
    """Stands in for the module `time`."""

    def __init__(self):
        self.now_ns = 0

    def perf_counter(self):
        return self.now_ns * 1e-9

    def perf_counter_ns(self):
        return self.now_ns

    def takes(self, seconds):
        def side():
            self.now_ns += round(seconds * 1e9)

        return side


@pytest.mark.parametrize(("call_s", "at_most_s"), [(0.3, 30), (1.0, 30), (0.0001, 25)])
def test_it_ends_near_the_time_that_it_may_take(timing, monkeypatch, call_s, at_most_s):
    """A round of 25 slices of both, five of them at least, took minutes where a call is slow."""
    clock = Clock()
    monkeypatch.setattr(timing, "time", clock)
    sides = (clock.takes(call_s), clock.takes(call_s))
    timing.not_slower(sides, (), by="+5%", seconds=20)
    assert clock.perf_counter() < at_most_s


def test_each_side_has_a_slice_even_where_no_time_is_left(timing, monkeypatch):
    clock = Clock()
    monkeypatch.setattr(timing, "time", clock)
    judged = timing.not_slower((clock.takes(1.0), clock.takes(3.0)), (), by="+5%", seconds=0)
    assert judged.outcome == "cannot judge"
    assert clock.perf_counter() < 100

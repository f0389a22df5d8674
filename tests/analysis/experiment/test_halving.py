"""Which settings stop after a few rounds."""

from profiler_core.analysis.experiment.halving import RUNGS, stopped
from profiler_core.model.run import Measurement, Round

EAGER = frozenset(("eager",))


def measured(step_us, n=5):
    rounds = tuple(
        Round(index=i, order=0, n_steps=10, wall_ns=int(step_us * 10_000 * (1 + i % 3 / 1000)))
        for i in range(n)
    )
    return Measurement(rounds=rounds)


def test_the_slower_half_stops_at_a_rung_and_what_may_be_the_fastest_goes_on():
    times_us = {"eager": 300, "best": 100, "a": 100.2, "b": 120, "c": 130, "d": 140}
    runs = {name: measured(us) for name, us in times_us.items()}
    kept = frozenset(("eager", "best"))
    assert stopped(runs, RUNGS[0], kept, "eager", on_gpu=True) == {"c", "d"}
    assert stopped(runs, RUNGS[0] + 1, kept, "eager", on_gpu=True) == frozenset()


def test_what_is_much_slower_stops_whatever_else_does():
    runs = {"eager": measured(300), "a": measured(100), "b": measured(400), "c": measured(500)}
    assert stopped(runs, 5, EAGER, "eager", on_gpu=True) == {"b", "c"}


def test_nothing_stops_that_cannot_be_told():
    runs = {"eager": measured(300), "a": measured(100), "b": measured(100.3)}
    assert stopped(runs, 5, EAGER, "eager", on_gpu=True) == frozenset()
    few = {"eager": measured(300, 2), "a": measured(100, 2), "b": measured(500, 2)}
    assert stopped(few, 5, EAGER, "eager", on_gpu=True) == frozenset()


def test_the_fastest_that_is_compiled_goes_on_where_eager_is_faster():
    """It was stopped as slower than eager, and the slower one that led went on leading."""
    runs = {"eager": measured(50), "leads": measured(200), "a": measured(100), "b": measured(140)}
    kept = frozenset(("eager", "leads"))
    assert stopped(runs, RUNGS[0], kept, "eager", on_gpu=True) == {"b"}
    del runs["leads"], runs["b"]
    assert stopped(runs, RUNGS[0], EAGER, "eager", on_gpu=True) == frozenset()

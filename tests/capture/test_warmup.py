"""The end of the warm-up, on a clock that the steps move."""

from profiler_core.capture.child.warmup import Limits, is_steady, warm_up

LIMITS = Limits(floor_steps=5, ceiling_steps=20, ceiling_ns=10_000)


class Machine:
    """Step i takes `durations[i]` (the last for ever) and compiles when i is in `compiles`."""

    def __init__(self, durations, compiles=()):
        self.now, self.n_compiled = 0, 0
        self.durations, self.compiles = durations, set(compiles)

    def step(self, index):
        self.now += self.durations[min(index, len(self.durations) - 1)]
        self.n_compiled += index in self.compiles

    def warm_up(self, limits=LIMITS, cycle=1):
        return warm_up(self.step, lambda: self.now, lambda: self.n_compiled, limits, cycle)


def test_five_steps_that_agree_are_enough():
    result = Machine([900, 500, 100]).warm_up()
    assert result.ended_by == "steady"
    assert result.step_ns == [900, 500, 100, 100, 100, 100, 100]


def test_five_per_cent_is_the_border():
    assert is_steady([100, 105, 100, 105, 100], 5, 1)
    assert not is_steady([100, 106, 100, 105, 100], 5, 1)


def test_the_floor_holds_steady_steps_back():
    assert len(Machine([100]).warm_up(LIMITS._replace(floor_steps=9)).step_ns) == 9


def test_a_step_that_compiled_does_not_count():
    # Step 6 compiles though it takes no longer; then five more are needed.
    result = Machine([900, 100], compiles=[6]).warm_up(LIMITS._replace(floor_steps=7))
    assert (result.ended_by, len(result.step_ns)) == ("steady", 12)


def test_unsteady_steps_meet_the_ceiling_of_steps():
    result = Machine([100, 200] * 20).warm_up()
    assert (result.ended_by, len(result.step_ns)) == ("ceiling", 20)


def test_unsteady_steps_meet_the_ceiling_of_time():
    result = Machine([2000, 3000] * 20).warm_up()
    assert (result.ended_by, len(result.step_ns)) == ("ceiling", 5)


def test_the_time_begins_anew_with_each_compilation():
    result = Machine([2000, 3000] * 20, compiles=[0, 3]).warm_up()
    # After step 3 (10 000 ns in all) another 10 000 ns: four steps of 2000 and 3000.
    assert (result.ended_by, len(result.step_ns)) == ("ceiling", 8)


def test_shapes_are_compared_with_themselves():
    durations = [100, 300, 700] * 20
    result = Machine(durations).warm_up(LIMITS._replace(ceiling_steps=60), cycle=3)
    assert (result.ended_by, len(result.step_ns)) == ("steady", 15)


def test_only_whole_cycles_are_run():
    assert len(Machine([100, 200] * 40).warm_up(cycle=3).step_ns) % 3 == 0

"""Interleaving and the stopping rule, on a clock that only moves when a round runs."""

import pytest

from profiler_core.capture.rounds import RoundPlan, interleave, steps_per_round


class FakeClock:
    def __init__(self):
        self.now = 0.0

    def __call__(self):
        return self.now


class FakeRunner:
    """Takes `seconds` for each round; dies in round `dies_at`."""

    def __init__(self, name, clock, diary, seconds=1.0, dies_at=None):
        self.name, self.clock, self.diary = name, clock, diary
        self.seconds, self.dies_at = seconds, dies_at

    def run_round(self, index, order):
        self.clock.now += self.seconds
        self.diary.append((index, order, self.name))
        return index != self.dies_at


def run(plan, **seconds):
    clock, diary = FakeClock(), []
    runners = [FakeRunner(name, clock, diary, s) for name, s in seconds.items()]
    return interleave(runners, plan, clock), diary


def test_variants_take_turns():
    n_turns, diary = run(RoundPlan(rounds=2), a=0.1, b=0.1, c=0.1)
    assert n_turns == 2
    assert diary == [
        (0, 0, "a"), (0, 1, "b"), (0, 2, "c"),
        (1, 0, "a"), (1, 1, "b"), (1, 2, "c"),
    ]  # fmt: skip


def test_the_cap_stops_between_turns_but_never_under_the_least():
    plan = RoundPlan(rounds=20, cap_seconds=24.0, least=10)
    assert run(plan, a=1.0, b=1.0)[0] == 20  # 40 s, and two variants may take 48
    assert run(plan, a=2.0, b=2.0)[0] == 12  # 48 s are reached with turn 12
    assert run(plan, a=60.0, b=60.0)[0] == 10


def test_fewer_rounds_than_the_least_are_done_when_asked_for():
    assert run(RoundPlan(rounds=3, cap_seconds=0.0), a=1.0)[0] == 3


def test_who_fails_is_out_and_the_others_go_on():
    clock, diary = FakeClock(), []
    runners = [FakeRunner("a", clock, diary, dies_at=1), FakeRunner("b", clock, diary)]
    assert interleave(runners, RoundPlan(rounds=3), clock) == 3
    assert [name for index, _, name in diary] == ["a", "b", "a", "b", "b"]
    assert diary[-1] == (2, 0, "b")


def test_nobody_left_ends_it():
    clock, diary = FakeClock(), []
    alone = FakeRunner("a", clock, diary, dies_at=0)
    assert interleave([alone], RoundPlan(rounds=5), clock) == 1


@pytest.mark.parametrize(
    ("step_ns", "steps", "seconds", "cycle", "wanted"),
    [
        (1_000_000, 10, 0.1, 1, 100),  # 0.1 s decide
        (50_000_000, 10, 0.1, 1, 10),  # ten steps decide
        (1_000_001, 10, 0.1, 1, 100),
        (999_999, 10, 0.1, 1, 101),  # never shorter than asked for
        (50_000_000, 10, 0.1, 12, 12),  # a whole cycle of shapes
        (50_000_000, 25, 0.1, 12, 36),
        (0, 1, 0.0, 1, 1),
    ],
)
def test_a_round_has_enough_steps_and_whole_cycles(step_ns, steps, seconds, cycle, wanted):
    assert steps_per_round(step_ns, steps, seconds, cycle) == wanted


def test_to_and_fro_nobody_is_always_first():
    clock, diary = FakeClock(), []
    runners = [FakeRunner(name, clock, diary) for name in "abc"]
    interleave(runners, RoundPlan(rounds=3), clock, to_and_fro=True)
    assert "".join(name for _, _, name in diary) == "abccbaabc"
    assert [order for _, order, _ in diary] == [0, 1, 2] * 3


def test_who_fails_on_the_way_back_leaves_the_order_as_it_is():
    clock, diary = FakeClock(), []
    runners = [FakeRunner("a", clock, diary), FakeRunner("b", clock, diary, dies_at=1),
               FakeRunner("c", clock, diary)]  # fmt: skip
    interleave(runners, RoundPlan(rounds=3), clock, to_and_fro=True)
    assert "".join(name for _, _, name in diary) == "abccbaac"

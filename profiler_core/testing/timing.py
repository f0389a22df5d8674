"""`assert_not_slower`: two callables timed in turns, judged as `gate` judges two runs."""

import gc
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import count
from typing import Any

import torch

from profiler_core.analysis.gate.judgement import Outcome, judge_step_time
from profiler_core.analysis.gate.limits import QUANTITIES, Limit, parse_limit
from profiler_core.analysis.noise import MIN_ROUNDS
from profiler_core.analysis.step_time import compare_unprofiled
from profiler_core.model.run import Measurement, Round
from profiler_core.testing.compiled import n_compilations

_FEWEST_ROUNDS = 20  # as many as a capture has
_ROUND_NS = 20e6  # a shorter one would measure the clock and the scheduler
_WARM_UP_CALLS = 3
_MOST_CALLS = 10_000  # of a round


@dataclass(frozen=True)
class Judged:
    """Whether the candidate keeps the limit, and why."""

    outcome: Outcome
    sentence: str

    @property
    def failure(self) -> str:
        """What a failing test says; "" where it passes."""
        return "" if self.outcome == "pass" else f"The candidate is slower. {self.sentence}"


def not_slower(
    sides: Sequence[Callable[..., object]],
    inputs: Sequence[Any],
    *,
    by: str | float,
    seconds: float,
) -> Judged:
    """Time both in turns until the rounds decide, or the time is over.

    Args:
        sides: baseline and candidate.
        inputs: the arguments of both.
        by: the limit.
        seconds: for all of it but the first calls, which may compile.
    """
    limit = _limit(by)
    on_gpu = torch.cuda.is_available() and torch.cuda.is_initialized()
    for side in sides:
        for _ in range(_WARM_UP_CALLS):
            side(*inputs)
    deadline = time.perf_counter() + seconds
    n_calls = [_calls_of_a_round(side, inputs) for side in sides]
    rounds: list[list[Round]] = [[], []]
    n_compiled = [0, 0]
    gc_was_on = gc.isenabled()
    gc.disable()  # a collection would hit one side and not the other
    try:
        judge_at = _FEWEST_ROUNDS
        for index in count():
            # The other goes first in each second round: what drifts hits both alike.
            order = (0, 1) if index % 2 == 0 else (1, 0)
            for place, number in enumerate(order):
                before = n_compilations()
                wall_ns = _timed(sides[number], inputs, n_calls[number])
                n_compiled[number] += n_compilations() - before
                rounds[number].append(
                    Round(index=index, order=place, n_steps=n_calls[number], wall_ns=wall_ns)
                )
            is_over = index + 1 >= MIN_ROUNDS and time.perf_counter() >= deadline
            if index + 1 >= judge_at or is_over:
                judged = _judged(limit, rounds, n_compiled, on_gpu=on_gpu)
                if judged.outcome != "cannot judge" or is_over or any(n_compiled):
                    return judged
                judge_at *= 2
    finally:
        if gc_was_on:
            gc.enable()
    raise AssertionError  # pragma: no cover - count() has no end


def _judged(
    limit: Limit, rounds: Sequence[list[Round]], n_compiled: Sequence[int], *, on_gpu: bool
) -> Judged:
    before, after = (Measurement(rounds=tuple(timed), interleaved=True) for timed in rounds)
    step_time = compare_unprofiled(before, after, interleaved=True, on_gpu=on_gpu)
    if step_time is None:
        return Judged("cannot judge", "Nothing could be timed.")
    n_compilations_of_both = (n_compiled[0], n_compiled[1])
    return Judged(
        *judge_step_time(limit, step_time, in_turns=True, n_compilations=n_compilations_of_both)
    )


def _calls_of_a_round(side: Callable[..., object], inputs: Sequence[Any]) -> int:
    n_calls = 1
    while True:
        took_ns = _timed(side, inputs, n_calls)
        if took_ns >= _ROUND_NS / 2 or n_calls >= _MOST_CALLS:
            return max(1, min(_MOST_CALLS, round(n_calls * _ROUND_NS / max(took_ns, 1))))
        n_calls *= 4


def _timed(side: Callable[..., object], inputs: Sequence[Any], n_calls: int) -> int:
    synchronize = torch.cuda.synchronize if torch.cuda.is_initialized() else None
    if synchronize is not None:
        synchronize()
    started_ns = time.perf_counter_ns()
    for _ in range(n_calls):
        side(*inputs)
    if synchronize is not None:
        synchronize()
    return time.perf_counter_ns() - started_ns


def _limit(by: str | float) -> Limit:
    text = by if isinstance(by, str) else f"+{by * 100:g}%"
    return parse_limit(QUANTITIES[0], text)

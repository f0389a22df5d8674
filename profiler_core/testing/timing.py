"""`assert_not_slower`: two callables timed in turns, judged as `gate` judges two runs."""

import gc
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
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
# A round is made of slices of both in turns: what else the machine does hits both alike. A shorter
# slice would measure the clock.
_SLICE_NS = 2e6
_SLICES = 25  # at most
_WARM_UP_CALLS = 3
_MOST_CALLS = 10_000  # of a slice
_CANNOT: Outcome = "cannot judge"


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
    n_calls = [_calls_of_a_slice(side, inputs) for side in sides]
    n_slices = _slices_of_a_round(sides, inputs, n_calls, seconds)
    timed = (_Timed(), _Timed())
    n_compiled = [0, 0]
    look_at, last = _FEWEST_ROUNDS, None
    gc_was_on = gc.isenabled()
    gc.disable()  # a collection would hit one side and not the other
    try:
        for index in count():
            _time_a_round(sides, inputs, n_calls, n_slices, index, timed, n_compiled)
            is_over = index + 1 >= MIN_ROUNDS and time.perf_counter() >= deadline
            if index + 1 < look_at and not is_over and not any(n_compiled):
                continue
            judged = _judged(limit, timed, n_compiled, on_gpu=on_gpu)
            # Who looks again and again sees by chance what is not there: two looks must agree.
            is_decided = judged.outcome != _CANNOT and judged.outcome == last
            if is_decided or any(n_compiled):
                return judged
            if is_over:
                return _unless_contradicted(judged, last)
            look_at, last = 2 * look_at, judged.outcome
    finally:
        if gc_was_on:
            gc.enable()
    raise AssertionError  # pragma: no cover - count() has no end


def _unless_contradicted(judged: Judged, last: Outcome | None) -> Judged:
    """What the last look says, where an earlier one said the same."""
    if judged.outcome == _CANNOT or judged.outcome == last:
        return judged
    return Judged(
        _CANNOT,
        f"{judged.sentence} Fewer rounds did not say so, and the time is over: time longer.",
    )


@dataclass
class _Timed:
    """The rounds of one side. A step is a slice, told in time of one call."""

    rounds: list[Round] = field(default_factory=list)
    slices_ns: list[int] = field(default_factory=list)

    @property
    def measurement(self) -> Measurement:
        # On a busy machine the fastest slices of each round decide (analysis/noise.py).
        return Measurement(
            rounds=tuple(self.rounds), step_event_ns=tuple(self.slices_ns), interleaved=True
        )


def _time_a_round(
    sides: Sequence[Callable[..., object]],
    inputs: Sequence[Any],
    n_calls: Sequence[int],
    n_slices: int,
    index: int,
    timed: Sequence[_Timed],
    n_compiled: list[int],
) -> None:
    """Add one round of each side, and what was compiled in it."""
    slices: tuple[list[int], list[int]] = ([], [])
    for number in range(n_slices):
        for side in (0, 1) if number % 2 == 0 else (1, 0):
            before = n_compilations()
            took_ns = _timed(sides[side], inputs, n_calls[side])
            slices[side].append(max(1, round(took_ns / n_calls[side])))
            n_compiled[side] += n_compilations() - before
    for side in (0, 1):
        timed[side].slices_ns += slices[side]
        timed[side].rounds.append(
            Round(index=index, order=side, n_steps=n_slices, wall_ns=sum(slices[side]))
        )


def _judged(
    limit: Limit, timed: Sequence[_Timed], n_compiled: Sequence[int], *, on_gpu: bool
) -> Judged:
    before, after = (side.measurement for side in timed)
    step_time = compare_unprofiled(before, after, interleaved=True, on_gpu=on_gpu)
    if step_time is None:
        return Judged(_CANNOT, "Nothing could be timed.")
    n_compilations_of_both = (n_compiled[0], n_compiled[1])
    return Judged(
        *judge_step_time(limit, step_time, in_turns=True, n_compilations=n_compilations_of_both)
    )


def _calls_of_a_slice(side: Callable[..., object], inputs: Sequence[Any]) -> int:
    n_calls = 1
    while True:
        took_ns = _timed(side, inputs, n_calls)
        if took_ns >= _SLICE_NS / 2 or n_calls >= _MOST_CALLS:
            return max(1, min(_MOST_CALLS, round(n_calls * _SLICE_NS / max(took_ns, 1))))
        n_calls *= 4


def _slices_of_a_round(
    sides: Sequence[Callable[..., object]],
    inputs: Sequence[Any],
    n_calls: Sequence[int],
    seconds: float,
) -> int:
    """As many as let the first look fit into the time: a call may take longer than a slice."""
    each_ns = sum(_timed(side, inputs, n) for side, n in zip(sides, n_calls, strict=True))
    return max(1, min(_SLICES, int(seconds * 1e9 / (_FEWEST_ROUNDS * max(each_ns, 1)))))


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

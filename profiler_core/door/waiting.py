"""Waiting for what a job does without a thread: those are for who has work for them."""

import asyncio
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from profiler_core.door.turns import Turns
from profiler_core.jobs.queue import QueueFull

_LOOK_EVERY_S = 0.5


async def until_ended(
    turns: Turns, person: str, is_live: Callable[[], bool], within_s: float | None = None
) -> None:
    """Wait for what somebody asked for, and look in a thread now and then whether it has ended.

    Args:
        turns: whose threads look.
        person: who waits.
        is_live: it has not ended.
        within_s: the longest wait; None: until it has ended.
    """
    deadline = None if within_s is None else time.monotonic() + within_s
    while await turns.run(person, is_live):
        left_s = _LOOK_EVERY_S if deadline is None else deadline - time.monotonic()
        if left_s <= 0:
            return
        await asyncio.sleep(min(_LOOK_EVERY_S, left_s))


class Waiters:
    """How many questions wait: each looks twice a second, so they are bounded."""

    def __init__(self, in_all: int, each: int) -> None:
        """Nobody waits yet.

        Args:
            in_all: of everybody together.
            each: of them, that one person may have.
        """
        self._in_all, self._each = in_all, each
        self._n_waiting: Counter[str] = Counter()  # by person

    @contextmanager
    def one_more(self, person: str) -> Iterator[None]:
        """One of this person's waits in the block.

        Raises:
            QueueFull: as many wait as may.
        """
        if self._n_waiting[person] >= self._each:
            raise QueueFull(
                f"{self._each} questions of yours wait already.",
                remedy="Ask with wait_seconds 0, or wait until one is answered.",
            )
        if self._n_waiting.total() >= self._in_all:
            raise QueueFull(
                f"{self._in_all} questions wait already.",
                remedy="Ask with wait_seconds 0, or a little later.",
            )
        self._n_waiting[person] += 1
        try:
            yield
        finally:
            self._n_waiting[person] -= 1
            if not self._n_waiting[person]:
                del self._n_waiting[person]

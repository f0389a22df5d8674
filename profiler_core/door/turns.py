"""Threads that many people's questions share: one person holds some of them, never all."""

import asyncio
import contextlib
import contextvars
from collections import Counter
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from typing import TypeVar

_T = TypeVar("_T")


class Turns:
    """Runs calls in threads, at most so many at once of one person; the person's others wait."""

    def __init__(self, n_threads: int, each: int, name: str) -> None:
        """Start nothing yet.

        Args:
            n_threads: of everybody together.
            each: of them, that one person may hold.
            name: of the threads.
        """
        self._threads = ThreadPoolExecutor(n_threads, thread_name_prefix=name)
        self._each = each
        self._gates: dict[str, asyncio.Semaphore] = {}
        self._n_asked: Counter[str] = Counter()  # that wait or run, by person

    async def run(self, person: str, call: Callable[[], _T]) -> _T:
        """What the call returns or raises, with the context of this task.

        Whoever hangs up gives the thread back no sooner than its call ends.
        """
        loop = asyncio.get_running_loop()
        gate = self._gates.setdefault(person, asyncio.Semaphore(self._each))
        self._n_asked[person] += 1
        try:
            await gate.acquire()
        except asyncio.CancelledError:
            self._forget(person)
            raise
        future = self._threads.submit(contextvars.copy_context().run, call)
        future.add_done_callback(lambda _: self._give_back(loop, person, gate))
        return await asyncio.wrap_future(future)

    def _give_back(
        self, loop: asyncio.AbstractEventLoop, person: str, gate: asyncio.Semaphore
    ) -> None:
        with contextlib.suppress(RuntimeError):  # the server ended meanwhile
            loop.call_soon_threadsafe(gate.release)
            loop.call_soon_threadsafe(partial(self._forget, person))

    def _forget(self, person: str) -> None:
        self._n_asked[person] -= 1
        if not self._n_asked[person]:
            del self._n_asked[person], self._gates[person]

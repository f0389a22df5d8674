"""Hold the thread that launches to one CPU for a round, and no other thread."""

from __future__ import annotations

import contextlib
import os
from pathlib import Path
from typing import Iterator, Optional, Set

_TASKS = Path("/proc/self/task")


@contextlib.contextmanager
def held_to(cpu: Optional[int]) -> Iterator[Optional[int]]:
    """Hold the calling thread; gives the CPU, or None where it is held to none.

    Threads that run already stay where they may be. One that begins meanwhile may run everywhere
    from the end on; until then it shares the CPU, as the kernel has it.

    Args:
        cpu: of this machine; None: leave the thread alone.
    """
    everywhere, threads = _allowed(), _threads()
    if cpu is None or everywhere is None or not _bind(0, {cpu}):
        yield None
        return
    try:
        yield cpu
    finally:
        for thread in (0, *(_threads() - threads)):
            _bind(thread, everywhere)


def _allowed() -> Optional[Set[int]]:
    """The CPUs of the calling thread; None on a system that binds no threads."""
    return os.sched_getaffinity(0) if hasattr(os, "sched_getaffinity") else None


def _bind(thread: int, cpus: Set[int]) -> bool:
    try:
        os.sched_setaffinity(thread, cpus)
    except OSError:  # EINVAL: none of these CPUs may be used; ESRCH: the thread has ended
        return False
    return True


def _threads() -> Set[int]:
    try:
        return {int(task.name) for task in _TASKS.iterdir()}
    except OSError:
        return set()

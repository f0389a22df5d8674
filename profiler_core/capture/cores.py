"""Turns that share a core: in each, all variants launch from one, and in each turn from another.

On a GPU whose step waits for its launches a process is as fast as the core that its thread is on,
and what another machine runs on that core's other thread makes its steps half as long again
(docs/measuring.md). On one core turns share that, and over many cores no side has the better ones.
"""

import os
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

_TOPOLOGY = Path("/sys/devices/system/cpu")


@dataclass(frozen=True)
class SharedCores:
    """cpus: one CPU of each core, in the order in which turns take them; none: nothing is held."""

    cpus: tuple[int, ...] = ()

    def cpu_of(self, turn: int) -> int | None:
        """The CPU of a turn; None: wherever the kernel runs its threads.

        Every second turn runs backwards. So that each core is met in both directions, an even
        number of them moves on by one after all had a turn.
        """
        n = len(self.cpus)
        if not n:
            return None
        moved_on = 0 if n % 2 else turn // n
        return self.cpus[(turn + moved_on) % n]


def first_threads(topology: Path = _TOPOLOGY) -> tuple[int, ...]:
    """One CPU of each physical core that this process may run on."""
    usable = os.sched_getaffinity(0) if hasattr(os, "sched_getaffinity") else ()
    cores: dict[str, int] = {}
    for cpu in sorted(usable):
        path = topology / f"cpu{cpu}/topology/thread_siblings_list"
        try:
            cores.setdefault(path.read_text(encoding="ascii").strip(), cpu)
        except OSError:  # a container without /sys
            cores.setdefault(str(cpu), cpu)
    return tuple(cores.values())


def shared_cores(
    settings: Sequence[Sequence[tuple[str, str]]], *, n_ranks: int, can_be_held: bool
) -> SharedCores:
    """The cores of a capture's turns on a GPU.

    Args:
        settings: of each variant that takes turns (`process_settings`).
        n_ranks: processes of one step.
        can_be_held: one thread launches a whole step, and nothing begins in it that would be held.

    Returns:
        None of them where one variant is timed, a variant is bound to CPUs by its words, ranks
        would share a core at the same time, or there is one core only.
    """
    is_bound = any(key == "cpus" for words in settings for key, _ in words)
    if len(settings) < 2 or n_ranks > 1 or is_bound or not can_be_held:
        return SharedCores()
    cpus = first_threads()
    return SharedCores(cpus if len(cpus) > 1 else ())

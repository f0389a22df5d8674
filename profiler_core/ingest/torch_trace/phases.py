"""`chromium_event` records -> where compile time went, added up by path.

Events are B and E pairs on one stack per thread. Calls with the same path within one compilation
are added up, so that a log with a million of them stays small.
"""

from collections import defaultdict
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

from profiler_core.model.compilation import Phase

MAX_PATHS = 100_000
BACKWARD = ("backward", "bw_compiler", "compiled_autograd")


@dataclass
class _Sum:
    n: int = 0
    start_us: float = 0.0
    dur_us: float = 0.0


class PhaseTally:
    """Feed events in, ask for the phases of a compilation at the end."""

    def __init__(self) -> None:
        self._stacks: dict[tuple[int, int], list[tuple[str, float]]] = defaultdict(list)
        self._sums: dict[tuple[str, str], dict[tuple[str, ...], _Sum]] = defaultdict(dict)
        self._n_paths = 0
        self._origin_us: float | None = None

    def add(self, event: dict[str, Any], key: str) -> None:
        """Take one event.

        Args:
            event: its JSON; ts in µs since the epoch.
            key: the compilation that it belongs to where the event names none.
        """
        name, phase, ts = event.get("name"), event.get("ph"), event.get("ts")
        if not isinstance(name, str) or not isinstance(ts, (int, float)):
            return
        stack = self._stacks[event.get("pid") or 0, event.get("tid") or 0]
        if phase == "B":
            if self._origin_us is None:
                self._origin_us = ts
            if len(stack) < 200:
                stack.append((name, ts))
        elif phase == "E" and stack and (stack[-1][0] == name or _is_open(name, stack)):
            while stack[-1][0] != name:  # an exception leaves the inner phases open
                stack.pop()
            path = tuple(open_name for open_name, _ in stack)
            _, begun = stack.pop()
            self._count(key, path, begun, ts - begun)

    def phases(self, key: str, direction: str) -> tuple[Phase, ...]:
        """The phases of one compilation, in order of their first call."""
        origin = self._origin_us or 0.0
        sums = self._sums.get((key, direction), {})
        return tuple(
            Phase(
                path=path,
                n=total.n,
                start_ns=round((total.start_us - origin) * 1000),
                dur_ns=round(total.dur_us * 1000),
            )
            for path, total in sorted(
                sums.items(), key=lambda item: (item[1].start_us, len(item[0]))
            )
        )

    def _count(self, key: str, path: tuple[str, ...], start_us: float, dur_us: float) -> None:
        sums = self._sums[key, _direction(path[0])]
        total = sums.get(path)
        if total is None:
            if self._n_paths >= MAX_PATHS:
                return
            self._n_paths += 1
            total = sums[path] = _Sum(start_us=start_us)
        total.n += 1
        total.start_us = min(total.start_us, start_us)
        total.dur_us += dur_us


def _is_open(name: str, stack: list[tuple[str, float]]) -> bool:
    return any(open_name == name for open_name, _ in stack)


@lru_cache(maxsize=256)  # asked for each event, of a few names
def _direction(outermost: str) -> str:
    if any(word in outermost for word in BACKWARD):
        return "backward"
    return "forward" if outermost.startswith(("dynamo", "entire_frame", "_compile")) else "runtime"

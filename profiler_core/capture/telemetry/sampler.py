"""The loop that samples: at a rate that does not drift, from a thread, into files.

A deadline is start + k · period on the monotonic clock, never "now + period"; one that was missed
is left out and the others keep their place, so that a slow reading cannot shift those after it.
"""

from __future__ import annotations

import contextlib
import json
import threading
import time
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Callable, Dict, Iterable, Optional, Sequence

from profiler_core.capture.full_disk import is_full

PERIOD_S = 0.05  # the energy counter moves about every 0.1 s, utilisation every 1/6 s
WHILE_TIMED_PERIOD_S = 0.1  # beside timed rounds: 10 Hz costs per step less than 1 % (measured)

Reader = Callable[[int], Optional[Dict[str, Any]]]  # epoch ns -> a row, or nothing to say
Wait = Callable[[float], bool]  # for so many seconds; True: it is over
Loop = Callable[[Wait], None]  # does its work until `wait` says True


@dataclass(frozen=True)
class Series:
    """One source of rows. `every`: the number of periods between two of its rows."""

    read: Reader
    paths: tuple[Path, ...]  # each gets every row, appended as a line of JSON
    every: int = 1


@dataclass
class _SeriesFiles:
    series: Series
    tick: int = 0
    files: list[Any] = field(default_factory=list)

    def write(self, t_ns: int) -> None:
        row = self.series.read(t_ns)
        if row is None:
            return
        line = json.dumps(row) + "\n"
        for file in self.files:
            file.write(line)
            file.flush()


class Sampler:
    """Reads all series at the same deadlines, in a thread, between `with` and its end.

    Args:
        series: what is read, and into which files.
        period_s: the distance of the deadlines.
        monotonic: s, for the deadlines.
        wall_ns: epoch ns, for the rows.
        beside: loops for threads of their own, such as what takes too long for a deadline.
    """

    def __init__(
        self,
        series: Sequence[Series],
        period_s: float = PERIOD_S,
        monotonic: Callable[[], float] = time.monotonic,
        wall_ns: Callable[[], int] = time.time_ns,
        beside: Iterable[Loop] = (),
    ) -> None:
        self._series = series
        self._period_s = period_s
        self._monotonic = monotonic
        self._wall_ns = wall_ns
        self._stop = threading.Event()
        self._threads = [
            threading.Thread(target=loop, args=(self._stop.wait,), daemon=True)
            for loop in (self.run, *beside)
        ]

    def __enter__(self) -> None:
        for thread in self._threads:
            thread.start()

    def __exit__(self, *_: object) -> None:
        self._stop.set()
        for thread in self._threads:
            thread.join()

    def run(self, wait: Wait) -> None:
        """Sample until `wait(seconds)` says True."""
        outputs = [
            _SeriesFiles(series, files=[path.open("a", encoding="utf-8") for path in series.paths])
            for series in self._series
        ]
        try:
            self._run(outputs, wait)
        except OSError as error:
            if not is_full(error):
                raise  # else the capture itself says so
        finally:
            for output in outputs:
                for file in output.files:
                    with contextlib.suppress(OSError):  # what a full disk did not take
                        file.close()

    def _run(self, outputs: list[_SeriesFiles], wait: Wait) -> None:
        started = self._monotonic()
        tick = 0
        while True:
            for output in outputs:
                if tick >= output.tick:
                    output.write(self._wall_ns())
                    output.tick = (tick // output.series.every + 1) * output.series.every
            late = self._monotonic() - started
            tick = max(tick + 1, int(late / self._period_s) + 1)
            if wait(max(0.0, started + tick * self._period_s - self._monotonic())):
                return

"""What else the host did while rounds were timed, from /proc; nothing on other systems.

Standard library only, for the Recorder runs on Python 3.8 (see `profiler_core/record`).
"""

from __future__ import annotations

import os
import time
from pathlib import Path
from typing import Any

from profiler_core.capture.telemetry.host import HostReader, host_or_reason

_PROC = Path("/proc")


class HostLoadWatch:
    """Counts from its making to `seen`.

    Args:
        own: this process: what it and its descendants run is no other work.
        measured: the process whose threads must not wait for a CPU.
        proc: where the kernel's files lie.
    """

    def __init__(self, own: int, measured: int, proc: Path = _PROC) -> None:
        self._proc = proc
        self._measured = measured
        self._reader = HostReader(own, proc)
        self._before = self._counters()

    def seen(self) -> dict[str, Any] | None:
        """The fields of model.run.HostLoad; None where nothing can be told."""
        if self._before is None:
            return None
        before, after = self._before, self._counters()
        if after is None:
            return None
        elapsed = after["t_ns"] - before["t_ns"]
        busy = (after["host_busy_ns"] or 0) - (before["host_busy_ns"] or 0)
        own = after["cpu_ns"] - before["cpu_ns"]
        ran, waited = (after[key] - before[key] for key in ("ran_ns", "waited_ns"))
        return {
            "n_cpus": os.cpu_count(),
            "others_cpus": round(max(0, busy - own) / elapsed, 2) if elapsed > 0 else None,
            "waited_share": round(waited / (ran + waited), 3) if ran > 0 and waited >= 0 else None,
            "load_average": round(os.getloadavg()[0], 2),
        }

    def _counters(self) -> dict[str, Any] | None:
        if self._proc == _PROC and host_or_reason():
            return None
        row = self._reader(time.monotonic_ns())
        if row is None:
            return None
        ran, waited = self._scheduled()
        return {**row, "ran_ns": ran, "waited_ns": waited}

    def _scheduled(self) -> tuple[int, int]:
        """(ns that its threads ran, ns that they could have run and did not)."""
        ran = waited = 0
        try:
            tasks = list((self._proc / str(self._measured) / "task").iterdir())
        except OSError:
            return 0, 0
        for task in tasks:
            try:
                fields = (task / "schedstat").read_text("ascii").split()
            except OSError:
                continue
            ran += int(fields[0])
            waited += int(fields[1])
        return ran, waited

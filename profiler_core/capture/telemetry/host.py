"""One process of the host, and the host itself, from /proc (proc(5)); nothing on other systems.

A host-bound run has a thread that is always on a core while the GPU waits. Counters are
the kernel's own, in ticks of 10 ms, so a share over less than a second is coarse. The process
counts with all that it started and still runs (workers of a data loader).
"""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import Any

_PROC = Path("/proc")


class HostReader:
    """Rows {t_ns, pid, cpu_ns, rss_bytes, n_threads, n_processes, busiest_thread_ns, host_busy_ns}.

    cpu_ns, busiest_thread_ns and host_busy_ns are counters since the process (the host) began;
    n_cpus stands in the first row. busiest_thread_ns is None in the first row: the busiest thread
    is the one that ran most since the row before, and its counter is given as the sum of what the
    busiest ones ran.
    """

    def __init__(self, pid: int, proc: Path = _PROC) -> None:
        self._pid = pid
        self._proc = proc
        self._tick_ns = round(1e9 / os.sysconf("SC_CLK_TCK"))
        self._threads: dict[str, int] = {}
        self._busiest_ns = 0
        self._n_rows = 0

    def __call__(self, t_ns: int) -> dict[str, Any] | None:
        """A row; None once the process is gone."""
        pids = self._family()
        ticks, rss, threads = 0, 0, 0
        for index, pid in enumerate(pids):
            fields = self._stat(f"{pid}/stat")
            if fields is None:
                if not index:
                    return None
                continue  # a worker that ended meanwhile
            ticks += int(fields[11]) + int(fields[12])  # utime, stime
            threads += int(fields[17])
            rss += int(fields[21]) * os.sysconf("SC_PAGE_SIZE")
        busiest = self._busiest(pids)
        row = {
            "t_ns": t_ns,
            "pid": self._pid,
            "cpu_ns": ticks * self._tick_ns,
            "busiest_thread_ns": busiest,
            "rss_bytes": rss,
            "n_threads": threads,
            "n_processes": len(pids),
            "host_busy_ns": self._host_busy(),
        }
        if not self._n_rows:
            row["n_cpus"] = os.cpu_count()
        self._n_rows += 1
        return row

    def _family(self) -> list[int]:
        """The process, then its descendants as far as the kernel lists children."""
        pids = [self._pid]
        for pid in pids:  # each thread lists those that it started itself
            for listed in (self._proc / f"{pid}/task").glob("*/children"):
                try:
                    pids.extend(int(child_pid) for child_pid in listed.read_text("ascii").split())
                except OSError:
                    continue
        return pids

    def _busiest(self, pids: list[int]) -> int | None:
        """Sum over the rows of what the thread that ran most since the last row ran, ns."""
        now: dict[str, int] = {}
        for pid in pids:
            try:
                tasks = [task.name for task in (self._proc / f"{pid}/task").iterdir()]
            except OSError:
                continue
            for task in tasks:
                fields = self._stat(f"{pid}/task/{task}/stat")
                if fields is not None:
                    now[task] = int(fields[11]) + int(fields[12])
        before, self._threads = self._threads, now
        if not before:
            return None
        most = max(
            (ticks - before[task] for task, ticks in now.items() if task in before), default=0
        )
        self._busiest_ns += most * self._tick_ns
        return self._busiest_ns

    def _host_busy(self) -> int | None:
        """All cores together: everything but idle and waiting for I/O."""
        try:
            fields = (self._proc / "stat").read_text("ascii").split("\n", 1)[0].split()[1:]
        except OSError:
            return None
        numbers = [int(field) for field in fields[:8]]  # guest time is in user time already
        return (sum(numbers) - numbers[3] - numbers[4]) * self._tick_ns

    def _stat(self, path: str) -> list[str] | None:
        """Fields of a stat file after the name, which may hold anything; from field 3 on."""
        try:
            return (self._proc / path).read_text(errors="replace").rpartition(")")[2].split()
        except OSError:
            return None


def host_or_reason() -> str:
    """Why the host cannot be sampled here; "" where it can."""
    if sys.platform.startswith("linux") and (_PROC / "stat").is_file():
        return ""
    return f"CPU and memory of the process are read from /proc, which {sys.platform} does not have"

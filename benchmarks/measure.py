"""Wall time and peak memory of a whole process, its children included."""

import os
import subprocess
import sys
import threading
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import psutil

_LOOK_EVERY_S = 0.02


@dataclass(frozen=True)
class Run:
    """One run of a command. peak_bytes: resident memory of all its processes at one moment."""

    wall_s: float
    peak_bytes: int
    output: str
    status: int


def measure(command: Sequence[str], environment: Mapping[str, str], timeout_s: float) -> Run:
    """Run it to its end."""
    start = time.perf_counter()
    process = subprocess.Popen(
        command, env={**os.environ, **environment}, stdout=subprocess.PIPE, text=True
    )
    peak = [0]
    watcher = threading.Thread(target=_watch, args=(process.pid, peak), daemon=True)
    watcher.start()
    killer = threading.Timer(timeout_s, process.kill)
    killer.start()
    assert process.stdout is not None
    output = process.stdout.read()
    # wait4 gives the exact peak of the process itself, which looking now and then may miss.
    _, status, usage = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    wall_s = time.perf_counter() - start
    killer.cancel()
    unit = 1 if sys.platform == "darwin" else 1024
    return Run(wall_s, max(peak[0], usage.ru_maxrss * unit), output, process.returncode)


def _watch(pid: int, peak: list[int]) -> None:
    try:
        root = psutil.Process(pid)
        while root.is_running() and root.status() != psutil.STATUS_ZOMBIE:
            total = 0
            for process in (root, *root.children(recursive=True)):
                try:
                    total += process.memory_info().rss
                except psutil.Error:
                    continue
            peak[0] = max(peak[0], total)
            time.sleep(_LOOK_EVERY_S)
    except psutil.Error:
        return

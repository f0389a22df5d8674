"""Waiting for what other processes do."""

import os
import time
from collections.abc import Callable
from pathlib import Path


def wait_for(condition: Callable[[], object], within_s: float = 60.0) -> None:
    """Look again and again until it holds."""
    deadline = time.monotonic() + within_s
    while not condition():
        assert time.monotonic() < deadline, "did not happen in time"
        time.sleep(0.05)


def is_running(pid: int) -> bool:
    """Does this process still run?"""
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    # Re-parented processes wait for init to reap them; a zombie holds nothing.
    stat = Path(f"/proc/{pid}/stat")
    return not stat.exists() or stat.read_text().rpartition(")")[2].split()[0] != "Z"

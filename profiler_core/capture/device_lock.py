"""One capture at a time on a device: a lock file that the kernel drops with its holder."""

import fcntl
import json
import os
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

_LOOK_EVERY_S = 0.2


def lock_path(jobs: Path, device: str) -> Path:
    """`cpu` -> cpu.lock, `cuda:1` -> gpu1.lock, `xpu` -> xpu0.lock (as this process sees them)."""
    kind, _, index = device.partition(":")
    if kind == "cpu":
        return jobs / "cpu.lock"
    return jobs / f"{'gpu' if kind == 'cuda' else kind}{int(index or 0)}.lock"


@contextmanager
def device_lock(
    path: Path, title: str, waiting: Callable[[str], None], look: Callable[[], None] | None = None
) -> Iterator[None]:
    """Hold the device; while another capture holds it, `waiting` is called with its name.

    Args:
        path: the lock file; it stays, only the kernel's lock on it comes and goes.
        title: what others are told while this one holds it.
        waiting: gets a sentence.
        look: called every 0.2 s while waiting; raises to give up.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("a+", encoding="utf-8") as file:
        announced = None
        while True:
            try:
                fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
                break
            except BlockingIOError:
                holder = _holder(path)
                if holder != announced:
                    announced = holder
                    waiting(f"Waits for {holder}, which uses the same device.")
                if look is not None:
                    look()
                time.sleep(_LOOK_EVERY_S)
        file.truncate(0)
        json.dump({"pid": os.getpid(), "title": title, "since": time.time()}, file)
        file.flush()
        try:
            yield
        finally:
            file.truncate(0)
            fcntl.flock(file, fcntl.LOCK_UN)


def _holder(path: Path) -> str:
    try:
        facts: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
        return f"the capture {facts['title']} (process {facts['pid']})"
    except (ValueError, KeyError, TypeError):
        return "another capture"  # between taking the lock and writing who took it

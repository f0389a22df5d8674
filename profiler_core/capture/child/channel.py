"""JSON lines between child and launcher: commands in, events out, on two pipes of their own.

When the launcher goes away, however it went, the command pipe ends: the child then takes its whole
session with it, so that no process and no GPU memory is left behind.
"""

from __future__ import annotations

import ctypes
import json
import os
import queue
import signal
import sys
import threading
from typing import Any, Dict, Optional, Union

_PR_SET_PDEATHSIG = 1  # linux/prctl.h


class Channel:
    """The child's end of the two pipes: open files, or names (see `capture/pipes.py`)."""

    def __init__(self, commands: Union[int, str], events: Union[int, str]) -> None:
        command_fd = _opened(commands, os.O_RDONLY)
        event_fd = _opened(events, os.O_WRONLY)
        for fd in (command_fd, event_fd):
            os.set_inheritable(fd, False)  # the user's own processes must not hold the pipes open
        self._commands: queue.Queue[Dict[str, Any]] = queue.Queue()
        self._events = os.fdopen(event_fd, "w", encoding="utf-8")
        self._lock = threading.Lock()
        threading.Thread(target=self._read, args=(command_fd,), daemon=True).start()

    def next_command(self) -> Dict[str, Any]:
        """Wait for the launcher's next command."""
        return self._commands.get()

    def send(self, event: str, **fields: Any) -> None:
        """Send an event to the launcher; ends the process when the launcher is gone."""
        line = json.dumps({"event": event, **fields})
        try:
            with self._lock:
                self._events.write(line + "\n")
                self._events.flush()
        except (BrokenPipeError, ValueError):
            end_session()

    def progress(
        self, text: str, done: Optional[float] = None, total: Optional[float] = None
    ) -> None:
        """Report the progress of a long command."""
        self.send("progress", text=text, done=done, total=total)

    def _read(self, command_fd: int) -> None:
        with os.fdopen(command_fd, encoding="utf-8") as lines:
            for line in lines:
                self._commands.put(json.loads(line))
        end_session()


def _opened(pipe: Union[int, str], flags: int) -> int:
    if isinstance(pipe, int):
        return pipe
    # Without O_NONBLOCK this would wait for ever for a launcher that is gone.
    fd = os.open(pipe, flags | os.O_NONBLOCK)
    os.set_blocking(fd, True)
    return fd


def end_session() -> None:
    """Kill the whole session: this process leads it (compile workers, data loaders included)."""
    if os.getpgrp() == os.getpid():
        os.killpg(0, signal.SIGKILL)
    os._exit(1)


def die_with_parent() -> None:
    """Ask the kernel to kill this process when the launcher's thread ends (Linux only).

    The end of the command pipe says the same, but only a process whose interpreter still runs can
    see it; one that hangs inside a C library cannot.
    """
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0)

"""What a command prints: the beginning and the end of it, and how much was left out between.

The command writes into the file itself, at its end, so that it can go on where nobody reads.
"""

import os
import re
from pathlib import Path

_MOST_BYTES = 4_000_000
# A running command may print while the file is cut, and what falls there is lost: rarely, then.
_MOST_WHILE_RUNNING_BYTES = 64_000_000
_HEAD_BYTES = 256_000
_TAIL_BYTES = 1_000_000
_MOST_CATCHING_UP = 16  # a command that prints faster than it can be copied
_LEFT_OUT = re.compile(rb"\n\[(\d+) bytes were left out here\]\n")


def trim(path: Path, *, is_running: bool = False) -> None:
    """Cut the middle out of a log that has grown too long.

    Args:
        path: the log.
        is_running: something may still be printed; what is written within the moment between the
            last look at the end and the cut is lost.

    Raises:
        OSError: there is no log, or no room.
    """
    with path.open("r+b", buffering=0) as file:
        log = file.fileno()
        size = os.fstat(log).st_size
        if size <= (_MOST_WHILE_RUNNING_BYTES if is_running else _MOST_BYTES):
            return
        before = _LEFT_OUT.match(os.pread(log, 100, _HEAD_BYTES))
        n_before, begins = (
            (int(before[1]), _HEAD_BYTES + before.end()) if before else (0, _HEAD_BYTES)
        )
        tail = os.pread(log, _TAIL_BYTES, size - _TAIL_BYTES)
        tail = tail[tail.find(b"\n") + 1 :]
        n_left_out = n_before + size - len(tail) - begins
        kept = b"\n[%d bytes were left out here]\n" % n_left_out + tail
        end = _HEAD_BYTES
        for _ in range(_MOST_CATCHING_UP):
            end += os.pwrite(log, kept, end)
            kept = os.pread(log, _TAIL_BYTES, size)  # printed meanwhile
            size += len(kept)
            if not kept:
                break
        os.ftruncate(log, end)

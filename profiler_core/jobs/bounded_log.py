"""What a command prints: the beginning and the end of it, and how much was left out between.

The command writes into the file itself, at its end, so that it can go on where nobody reads.
"""

import os
import re

_MOST_BYTES = 4_000_000
_HEAD_BYTES = 256_000
_TAIL_BYTES = 1_000_000
_LEFT_OUT = re.compile(rb"\n\[(\d+) bytes were left out here\]\n")


def trim(descriptor: int) -> None:
    """Cut the middle out of a log that has grown too long.

    What is printed while this happens may be cut, too.

    Args:
        descriptor: of the file, open for reading and appending.
    """
    size = os.fstat(descriptor).st_size
    if size <= _MOST_BYTES:
        return
    before = _LEFT_OUT.match(os.pread(descriptor, 100, _HEAD_BYTES))
    n_before, begins = (int(before[1]), _HEAD_BYTES + before.end()) if before else (0, _HEAD_BYTES)
    tail = os.pread(descriptor, _TAIL_BYTES, size - _TAIL_BYTES)
    tail = tail[tail.find(b"\n") + 1 :]
    n_left_out = n_before + size - len(tail) - begins
    os.ftruncate(descriptor, _HEAD_BYTES)
    os.write(descriptor, b"\n[%d bytes were left out here]\n" % n_left_out + tail)

"""A module that works as it is told, in a process of its own: `python -m … DEED`."""

import errno
import os
import sys
import time

from profiler_core.errors import BadInput
from profiler_core.worker.protocol import Progress, Report, answer


def _work(report: Report) -> object:
    deed = sys.argv[1]
    if deed == "prints":
        print("a library says hello")
        os.write(1, b"and so does its C code\n")
        return {"n": 1}
    if deed == "fails":
        report(Progress(1, 2, text="half done"))
        raise BadInput("x.json is no trace.\nIt has two lines.", remedy="Record it\nagain.")
    if deed == "lacks room":
        raise OSError(errno.ENOSPC, "No space left on device")
    if deed == "breaks":
        raise RuntimeError("nobody expected this")
    if deed == "dies":
        os.kill(os.getpid(), 9)
    if deed == "waits":
        for second in range(600):
            report(Progress(second, 600, "waiting"))
            time.sleep(0.05)
    if deed == "large":
        return {"n": sys.stdin.read().count("x"), "text": "y" * 5_000_000}
    return {"n": 0}


if __name__ == "__main__":
    sys.exit(answer(_work, can_cancel=sys.argv[1] == "waits"))

"""A module that works as it is told: python -m tests.jobs.reader NAME FOLDER [DEED].

It writes NAME.began, waits for NAME.go, and answers with what it did before it was killed, if so.
"""

import os
import sys
import time
from pathlib import Path

from profiler_core.errors import BadInput
from profiler_core.worker.protocol import Progress, Report, answer


def _work(report: Report) -> object:
    name, folder = sys.argv[1], Path(sys.argv[2])
    deed = sys.argv[3] if len(sys.argv) > 3 else ""
    if deed == "fails":
        raise BadInput(f"{name} is no trace.", remedy="Drop another file.")
    if deed == "full":
        raise OSError(28, "No space left on device", "/home/cache/x")
    if deed == "prints":
        print("a library says hello")
    with (folder / f"{name}.began").open("a") as file:
        file.write(f"{os.getpid()}\n")
    if deed == "dies":
        os.kill(os.getpid(), 9)
    while not (folder / f"{name}.go").exists():
        report(Progress(1, 4, text="A quarter"))
        time.sleep(0.02)
    return {"n_begun": len((folder / f"{name}.began").read_text().split())}


if __name__ == "__main__":
    sys.exit(answer(_work))

"""Record one code many times, for `noise_judge --recorded`.

    python -m benchmarks.noise_captures OUT [--minutes 5] [--device auto]

Each capture times processes of one file in turns, two copies of it (`--against`), each with as many
variants as `--threads` names numbers of CPU threads, which one GPU stream does not use; a size
after the other until the time is over. What processes of one capture differ by is the noise of runs
timed in turns, what those of several captures differ by that of runs apart: three numbers make
15 pairs in turns of a capture, and 36 apart of any two.
"""

import argparse
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path

_WORKLOAD = Path(__file__).with_name("noise_workload.py")
_LEFT_OUT = ("--no-profile", "--no-memory", "--no-numerics", "--no-warm-compile")


def main() -> None:
    """Capture until the time is over; print what each capture took."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("out", type=Path)
    parser.add_argument("--minutes", type=float, default=5.0)
    parser.add_argument("--device", default="auto")
    parser.add_argument("--sizes", default="launches,small,products")
    parser.add_argument("--threads", default="", help="8,7,6, say; else torch's own number")
    arguments = parser.parse_args()
    sizes = arguments.sizes.split(",")
    until = time.monotonic() + 60 * arguments.minutes
    longest = 0.0
    with tempfile.TemporaryDirectory() as scratch:
        copy = Path(shutil.copy(_WORKLOAD, scratch))
        number = 0
        while time.monotonic() + longest < until:
            size = sizes[number % len(sizes)]
            began = time.monotonic()
            status = _capture(arguments, size, copy)
            took = time.monotonic() - began
            longest = max(longest, took)
            number += 1
            print(f"{number:3d}  {size:10}  status {status}  {took:.1f} s", flush=True)


def _capture(arguments: argparse.Namespace, size: str, copy: Path) -> int:
    threads = arguments.threads.split(",") if arguments.threads else []
    variants = ",".join(f"eager+threads={n}" for n in threads) or "eager"
    command = [
        *(sys.executable, "-m", "profiler_core", "capture", f"{_WORKLOAD}:model"),
        *("--against", f"path:{copy}", "--variants", variants, "--option", f"size={size}"),
        *("--device", arguments.device, "--telemetry-seconds", "0", *_LEFT_OUT),
        *("--name", size, "--out", str(arguments.out)),
    ]
    return subprocess.run(command, check=False, stdout=subprocess.DEVNULL).returncode


if __name__ == "__main__":
    main()

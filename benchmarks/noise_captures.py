"""Record one code many times, for `noise_judge --recorded`.

    python -m benchmarks.noise_captures OUT [--seconds 260] [--device auto]

Each capture times processes of one file in turns, two copies of it (`--against`), each with as many
variants as `--threads` names numbers of CPU threads, which one GPU stream does not use. All start
together and are timed one after another (`benchmarks.waves`), as many as the time allows. What
processes of one capture differ by is the noise of runs timed in turns, what those of several
captures differ by that of runs apart: three numbers make 15 pairs in turns of a capture, and 36
apart of any two.
"""

import argparse
import json
import os
import shutil
import signal
import sys
import time
from dataclasses import asdict
from pathlib import Path

from benchmarks.waves import Job, Wave, capture_in_turn, say
from profiler_core.capture.interpreter import Interpreter, probe

_WORKLOAD = Path(__file__).with_name("noise_workload.py")
_INTERPRETER, _COPY = ".interpreter.json", ".copy"
_PREPARE_SHARE = 0.5  # of the time, at most
_TURN_S = 25.0  # that six processes are timed in, about
_LEFT_OUT = ("--no-profile", "--no-memory", "--no-numerics", "--no-warm-compile")


def job_of(name: str, folder: Path, device: str, threads: str) -> Job:
    """A capture of the size that the name begins with."""
    size = name.partition("-")[0]
    variants = ",".join(f"eager+threads={n}" for n in threads.split(",") if n) or "eager"
    return Job(
        name,
        (
            *(f"{_WORKLOAD}:model", f"--against=path:{folder / _COPY / _WORKLOAD.name}"),
            *(f"--variants={variants}", f"--option=size={size}", f"--device={device}"),
            *("--telemetry-seconds=0", f"--name={size}", *_LEFT_OUT),
        ),
    )


def main() -> None:
    """Capture; what each capture did is printed."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("folder", type=Path)
    parser.add_argument("--seconds", type=float, default=260.0)
    parser.add_argument("--device", default=os.environ.get("NOISE_DEVICE", "auto"))
    parser.add_argument("--sizes", default="launches,launches,small,launches,launches,launches")
    parser.add_argument("--threads", default=os.environ.get("NOISE_THREADS", "4,3,2"))
    parser.add_argument("--only", help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    folder = arguments.folder.resolve()
    if arguments.only:
        job = job_of(arguments.only, folder, arguments.device, arguments.threads)
        asked = Interpreter(**json.loads((folder / _INTERPRETER).read_text()))
        capture_in_turn(job, folder, {None: asked})
        return
    deadline = time.monotonic() + arguments.seconds
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))  # ends what it started, too
    os.environ.update(NOISE_DEVICE=arguments.device, NOISE_THREADS=arguments.threads)
    (folder / _COPY).mkdir(parents=True, exist_ok=True)
    shutil.copy(_WORKLOAD, folder / _COPY)
    (folder / _INTERPRETER).write_text(json.dumps(asdict(probe(None))))
    say("asked the interpreter")
    names = [f"{size}-{number}" for number, size in enumerate(arguments.sizes.split(","))]
    jobs = [job_of(name, folder, arguments.device, arguments.threads) for name in names]
    wave = Wave(
        jobs, "benchmarks.noise_captures", folder, deadline,
        prepare_s=_PREPARE_SHARE * arguments.seconds, turn_s=_TURN_S,
    )  # fmt: skip
    list(wave.run())


if __name__ == "__main__":
    main()

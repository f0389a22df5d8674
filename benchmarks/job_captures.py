"""Jobs of two ranks on two GPUs, eager and compiled, with and without a rank that is made late.

The delay is planted by the built-in workloads' options: `slow_spin_us` of a kernel that spins on
the device of one rank, or `slow_sleep_us` in which its host sleeps after it waited for its device.
What the product says of who waits for whom is judged against it (tests/analysis/ranks).

    python -m benchmarks.job_captures FOLDER [NAME …] [--packed FOLDER] [--seconds 390]

Captures of a wave prepare together (`benchmarks.waves`); those that check answers measure nothing,
and run while the others compile. What comes late for --seconds is left out.
"""

import argparse
import gzip
import io
import lzma
import shutil
import signal
import sys
import tarfile
import threading
import time
from collections.abc import Sequence
from pathlib import Path

from benchmarks.waves import Job, Wave, capture_in_turn, say

_RANK = 1  # that is made late
_DELAYS = {"even": (), "spin": ("slow_spin_us=8000",), "sleep": ("slow_sleep_us=8000",)}
_QUICK = (
    "--rounds=8", "--round-steps=6", "--round-seconds=0.2", "--steps=3", "--no-memory",
    "--no-warm-compile",
)  # fmt: skip
_CHECKED = ("--rounds=1", "--round-steps=2", "--round-seconds=0", "--no-profile", "--no-memory",
    "--no-warm-compile", "--telemetry-seconds=0",
)  # fmt: skip
_SIZES = {
    # A step whose devices need longer than its hosts, even under the profiler.
    "tp-long": ("--batch-size=20", "--option=width=2048"),
    # Transfers weigh as much as they do in larger jobs.
    "ddp-wide": ("--batch-size=2", "--option=width=2048"),
    "pp": ("--option=layers=8", "--option=schedule=1f1b"),
}
_IN_GRAPH = "default+dynamo.optimize_ddp=python_reducer+dynamo.compiled_autograd=true"
_VARIANTS = {
    "ddp": "eager,default",
    "ddp-wide": f"eager,default,{_IN_GRAPH},"
    f"{_IN_GRAPH}+_fuse_ddp_communication=true+reorder_for_compute_comm_overlap=true",
    "fsdp": "eager,default,default+target=blocks",
    "pp": "eager,default",
    "tp": "eager,default",
    "tp-long": "eager,default",
}
_REORDERED = ",default+reorder_for_compute_comm_overlap=true"  # where collectives are in the graph
_PACKED_AS = [{"id": lzma.FILTER_LZMA2, "preset": 3, "dict_size": 64 << 20}]
_TURN_S = 25.0  # that a capture is timed and profiled in, about
_PACK_S = 20.0


def _part(job: Job) -> str:
    """The archive that it lies in."""
    return job.name.partition("-")[0] if job.is_measured else "checked"


def _measured(kind: str, delay: str) -> Job:
    planted = _DELAYS[delay]
    options = [f"--option={text}" for text in (f"slow_rank={_RANK}", *planted) if planted]
    variants = _VARIANTS[kind] + (_REORDERED if (kind, delay) == ("tp-long", "even") else "")
    telemetry = "--telemetry-seconds=1.5" if delay == "even" else "--telemetry-seconds=0"
    return Job(
        f"{kind}-{delay}",
        (
            kind.partition("-")[0], "--ranks=2", f"--variants={variants}", *_SIZES.get(kind, ()),
            *options, f"--name={kind} {delay}", *_QUICK, telemetry, "--no-numerics",
        ),
    )  # fmt: skip


def _checked(kind: str) -> Job:
    name = f"{kind}-checked"
    words = (kind, "--ranks=2", f"--variants={_VARIANTS[kind]}", *_SIZES.get(kind, ()))
    return Job(name, (*words, f"--name={kind} checked", *_CHECKED), is_measured=False)


# By importance in each wave; what is prepared together has to fit on the devices together.
WAVES: tuple[tuple[Job, ...], ...] = (
    (
        _measured("fsdp", "even"),
        _measured("fsdp", "sleep"),
        *(_measured("tp-long", delay) for delay in ("even", "spin", "sleep")),
        *(_measured("pp", delay) for delay in ("even", "spin")),
        _measured("fsdp", "spin"),
        _measured("pp", "sleep"),
    ),
    (
        _measured("ddp-wide", "even"),
        *(_measured("ddp", delay) for delay in ("even", "sleep", "spin")),
        *(_checked(kind) for kind in ("fsdp", "ddp", "tp", "pp")),
    ),
)


def capture_jobs(
    folder: Path, names: Sequence[str], seconds: float, packed: Path | None = None
) -> None:
    """Capture what is named, by waves, and pack it as it comes.

    Args:
        folder: gets a folder for each capture, and what each printed.
        names: of jobs; empty: all.
        seconds: for everything.
        packed: gets an archive for each kind of job, made anew after each wave; None: no archive.
    """
    deadline = time.monotonic() + seconds - (_PACK_S if packed else 0.0)
    folder.mkdir(parents=True, exist_ok=True)
    packers: list[threading.Thread] = []
    for wave in WAVES:
        jobs = [job for job in wave if not names or job.name in names]
        if not jobs or time.monotonic() > deadline - _TURN_S:
            continue
        wave_of = Wave(
            jobs, "benchmarks.job_captures", folder, deadline, prepare_s=seconds / 3, turn_s=_TURN_S
        )
        over = list(wave_of.run())
        if packed is not None:
            parts = sorted({_part(job) for job in over})
            started = [threading.Thread(target=_pack, args=(folder, p, packed)) for p in parts]
            for thread in started:
                thread.start()
            packers += started
    for thread in packers:
        thread.join()


def _pack(folder: Path, part: str, packed: Path) -> None:
    """Put the captures of one part into an archive, and the archive into place when it is whole.

    What was packed singly lies in it unpacked, under the same names: traces of ranks are alike.
    """
    unfinished = folder / f"{part}.tar.xz"
    with (
        lzma.open(unfinished, "wb", filters=_PACKED_AS) as packed_file,
        tarfile.open(fileobj=packed_file, mode="w") as archive,
    ):
        for job in (job for wave in WAVES for job in wave if _part(job) == part):
            log = folder / f"{job.name}.txt"
            for path in (*sorted((folder / job.name).rglob("*"), key=_alike), log):
                if path.is_file():
                    data = path.read_bytes()
                    data = gzip.decompress(data) if path.suffix == ".gz" else data
                    member = tarfile.TarInfo(str(path.relative_to(folder)))
                    member.size = len(data)
                    archive.addfile(member, io.BytesIO(data))
    packed.mkdir(parents=True, exist_ok=True)
    shutil.move(unfinished, packed / unfinished.name)
    say(f"packed {part}: {(packed / unfinished.name).stat().st_size >> 10} KiB")


def _alike(path: Path) -> tuple[str, Path]:
    return path.name.partition("_rank_")[0], path


def main() -> None:
    """Capture what the command line names, all by default."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    jobs = {job.name: job for wave in WAVES for job in wave}
    parser.add_argument("folder", type=Path)
    parser.add_argument("names", nargs="*", metavar="NAME", help=f"of {', '.join(jobs)}")
    parser.add_argument("--packed", type=Path, help="gets an archive for each kind of job")
    parser.add_argument("--seconds", type=float, default=1800.0, help="for everything")
    parser.add_argument("--only", choices=jobs, help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.only:
        capture_in_turn(jobs[arguments.only], arguments.folder)
    else:
        signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))  # ends what it started, too
        capture_jobs(arguments.folder, arguments.names, arguments.seconds, arguments.packed)


if __name__ == "__main__":
    main()

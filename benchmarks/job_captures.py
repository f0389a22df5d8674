"""Jobs of two ranks on two GPUs, eager and compiled, with and without a rank that is made late.

The delay is planted by the built-in workloads' options: `slow_spin_us` of a kernel that spins on
the device of one rank, or `slow_sleep_us` in which its host sleeps after it waited for its device.
What the product says of who waits for whom is judged against it (tests/analysis/ranks).

    python -m benchmarks.job_captures FOLDER [NAME …] [--packed FOLDER] [--seconds 390]

Most of a capture's time goes by before anything is measured: processes start, models are built and
compiled. All captures of a wave do that at the same time; then they are timed and profiled one
after another, while the others stand still. Captures that check answers measure nothing, and run
while the others compile. What comes late for --seconds is left out, the least important first.
"""

import argparse
import contextlib
import fcntl
import gzip
import io
import lzma
import os
import queue
import shutil
import signal
import subprocess
import sys
import tarfile
import threading
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

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
_READY, _MEASURED, _GO = "ready", "measured", "go\n"
_MANY_AT_ONCE = {"TORCHINDUCTOR_COMPILE_THREADS": "2", "OMP_NUM_THREADS": "4"}
_PACKED_AS = [{"id": lzma.FILTER_LZMA2, "preset": 3, "dict_size": 64 << 20}]
_TURN_S = 25.0  # that a capture is timed and profiled in, about
_PACK_S = 20.0
_PATIENCE_S = 30.0


@dataclass(frozen=True)
class Job:
    """A capture. name: its folder, "WORKLOAD-DELAY"; arguments: of the verb `capture`."""

    name: str
    arguments: tuple[str, ...]
    is_measured: bool = True

    @property
    def part(self) -> str:
        """The archive that it lies in."""
        return self.name.partition("-")[0] if self.is_measured else "checked"


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


class _Capture:
    """A process that prepares a capture, says so, and measures when it is told to."""

    def __init__(self, job: Job, folder: Path, events: "queue.Queue[tuple[Job, str]]") -> None:
        home = folder / ".home" / job.name  # of its own: captures of one home take turns
        home.mkdir(parents=True, exist_ok=True)
        self._log = (folder / f"{job.name}.txt").open("ab")
        self._process = subprocess.Popen(
            [sys.executable, "-m", "benchmarks.job_captures", str(folder), "--only", job.name],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=self._log,
            text=True,
            env={**os.environ, **_MANY_AT_ONCE, "FUSIONSCOPE_HOME": str(home)},
        )
        self.job = job
        self._events = events
        threading.Thread(target=self._listen, daemon=True).start()

    def _listen(self) -> None:
        assert self._process.stdout is not None
        for line in self._process.stdout:
            self._events.put((self.job, line.strip()))
        self._events.put((self.job, f"exit {self._process.wait()}"))

    def go(self) -> None:
        """Let it measure."""
        assert self._process.stdin is not None
        with contextlib.suppress(BrokenPipeError):
            self._process.stdin.write(_GO)
            self._process.stdin.flush()

    def cancel(self) -> None:
        """Ask it to end itself and its children; one that waits for its turn ends, too."""
        assert self._process.stdin is not None
        if self._process.poll() is None:
            self._process.send_signal(signal.SIGTERM)
        with contextlib.suppress(BrokenPipeError):
            self._process.stdin.close()

    def end(self) -> None:
        """End it, and by the kernel its children, where it did not end when it was asked to."""
        self.cancel()
        with contextlib.suppress(subprocess.TimeoutExpired):
            self._process.wait(5)
        self._process.kill()
        self._log.close()


class _Wave:
    """Captures that prepare together and are measured one after another.

    Args:
        jobs: by importance.
        folder: gets a folder for each capture.
        deadline: on the monotonic clock, after which nothing is begun.
        prepare_s: after which those that are not ready are left out.
    """

    def __init__(
        self, jobs: Sequence[Job], folder: Path, deadline: float, prepare_s: float
    ) -> None:
        self._events: queue.Queue[tuple[Job, str]] = queue.Queue()
        self._prepared_by = min(time.monotonic() + prepare_s, deadline)
        self._deadline = deadline
        self._captures = [_Capture(job, folder, self._events) for job in jobs]
        self._state: dict[str, str] = {job.name: "prepares" for job in jobs}

    def run(self) -> Iterator[Job]:
        """Measure what is ready in time; each job when all are over."""
        try:
            while "prepares" in self._state.values() and self._hear(self._prepared_by):
                pass
            for capture in self._captures:  # it would go on beside what is measured
                if self._state[capture.job.name] == "prepares":
                    capture.end()
            for capture in self._captures:
                self._measure(capture)
            while _MEASURED in self._state.values() and self._hear(self._deadline):
                pass
        finally:
            for capture in self._captures:
                capture.cancel()
            for capture in self._captures:
                capture.end()
        yield from (capture.job for capture in self._captures)

    def _measure(self, capture: _Capture) -> None:
        name = capture.job.name
        if self._state[name] == _READY and self._deadline - time.monotonic() > _TURN_S:
            capture.go()
            while self._state[name] == _READY and self._hear(self._deadline):
                pass
        elif capture.job.is_measured:
            _say(f"{name}: {self._state[name]}, not measured")

    def _hear(self, until: float) -> bool:
        try:
            job, event = self._events.get(timeout=max(0.0, until - time.monotonic()))
        except queue.Empty:
            return False
        self._state[job.name] = event
        _say(f"{job.name}: {event}")
        return True


@contextlib.contextmanager
def _alone(path: Path) -> Iterator[None]:
    """No other process is in here, but for one that hangs."""
    with path.open("ab") as file:
        until = time.monotonic() + _PATIENCE_S
        while time.monotonic() < until:
            with contextlib.suppress(BlockingIOError):
                fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
                break
            time.sleep(0.05)
        yield


def _capture_in_turn(job: Job, folder: Path) -> None:
    """One capture, in this process: prepared, then measured when a line comes on standard input."""
    from profiler_core.capture import launcher
    from profiler_core.capture.progress import ProgressLine
    from profiler_core.capture.ranks import RankGroup
    from profiler_core.capture.spec_arguments import add_spec_arguments, spec_from_namespace
    from profiler_core.cli.capture_progress import cancel_flag
    from profiler_core.errors import Cancelled

    interleave, ask = launcher.interleave, RankGroup.ask

    def ask_alone(group: RankGroup, command: str, *arguments: Any, **fields: Any) -> dict[str, Any]:
        # Ranks wait for each other in kernels: those of several jobs at once take each other's
        # turns on the devices.
        with _alone(folder / ".warm-up") if command == "warm_up" else contextlib.nullcontext():
            return ask(group, command, *arguments, **fields)

    def in_turn(*arguments: Any) -> int:
        if job.is_measured:
            print(_READY, flush=True)
            if sys.stdin.readline() != _GO:
                raise Cancelled("There was no time left to measure.", remedy="Pass --seconds.")
        return interleave(*arguments)

    RankGroup.ask = ask_alone  # type: ignore[method-assign]
    launcher.interleave = in_turn  # timing begins here, and everything is compiled
    parser = argparse.ArgumentParser()
    add_spec_arguments(parser)
    spec = spec_from_namespace(parser.parse_args(job.arguments))
    started = time.monotonic()

    def listen(line: ProgressLine) -> None:
        print(f"{time.monotonic() - started:6.1f} s  {line.text}", file=sys.stderr, flush=True)

    finished = launcher.run_capture(
        spec, folder / job.name, listener=listen, is_cancelled=cancel_flag()
    )
    for run in finished.runs:
        print(f"{run.variant}: {run.status} {run.error or ''}", file=sys.stderr, flush=True)
    print(_MEASURED if job.is_measured else "checked", flush=True)


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
        over = list(_Wave(jobs, folder, deadline, prepare_s=seconds / 3).run())
        if packed is not None:
            parts = sorted({job.part for job in over})
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
        for job in (job for wave in WAVES for job in wave if job.part == part):
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
    _say(f"packed {part}: {(packed / unfinished.name).stat().st_size >> 10} KiB")


def _alike(path: Path) -> tuple[str, Path]:
    return path.name.partition("_rank_")[0], path


_STARTED = time.monotonic()


def _say(text: str) -> None:
    print(f"{time.monotonic() - _STARTED:6.1f} s  {text}", flush=True)


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
        _capture_in_turn(jobs[arguments.only], arguments.folder)
    else:
        signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))  # ends what it started, too
        capture_jobs(arguments.folder, arguments.names, arguments.seconds, arguments.packed)


if __name__ == "__main__":
    main()

"""Captures of a wave: they prepare at the same time, and are measured one after another.

Most of a capture's time goes by before anything is measured: processes start, models are built and
compiled. All captures of a wave do that beside each other; then they are timed and profiled in
turns, while the others stand still. What comes late is left out, the least important first.
"""

import argparse
import contextlib
import fcntl
import os
import queue
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from profiler_core.capture.interpreter import Interpreter

_READY, _MEASURED, _GO = "ready", "measured", "go\n"
_MANY_AT_ONCE = {"TORCHINDUCTOR_COMPILE_THREADS": "2", "OMP_NUM_THREADS": "4"}
_PATIENCE_S = 30.0


@dataclass(frozen=True)
class Job:
    """A capture. name: its folder; arguments: of the verb `capture`."""

    name: str
    arguments: tuple[str, ...]
    is_measured: bool = True


class _Capture:
    """A process that prepares a capture, says so, and measures when it is told to."""

    def __init__(
        self, job: Job, module: str, folder: Path, events: "queue.Queue[tuple[Job, str]]"
    ) -> None:
        home = folder / ".home" / job.name  # of its own: captures of one home take turns
        home.mkdir(parents=True, exist_ok=True)
        self._log = (folder / f"{job.name}.txt").open("ab")
        self._process = subprocess.Popen(
            [sys.executable, "-m", module, str(folder), "--only", job.name],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=self._log,
            text=True,
            env={**_MANY_AT_ONCE, **os.environ, "FUSIONSCOPE_HOME": str(home)},
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


class Wave:
    """Captures that prepare together and are measured one after another.

    Args:
        jobs: by importance.
        module: of benchmarks; `python -m MODULE FOLDER --only NAME` is `capture_in_turn` of a job.
        folder: gets a folder for each capture.
        deadline: on the monotonic clock, after which nothing is begun.
        prepare_s: after which those that are not ready are left out.
        turn_s: that a capture is timed and profiled in, about.
    """

    def __init__(
        self,
        jobs: Sequence[Job],
        module: str,
        folder: Path,
        deadline: float,
        *,
        prepare_s: float,
        turn_s: float,
    ) -> None:
        self._events: queue.Queue[tuple[Job, str]] = queue.Queue()
        self._prepared_by = min(time.monotonic() + prepare_s, deadline)
        self._deadline = deadline
        self._turn_s = turn_s
        self._captures = [_Capture(job, module, folder, self._events) for job in jobs]
        self._state: dict[str, str] = {job.name: "prepares" for job in jobs}

    def run(self) -> Iterator[Job]:
        """Measure what is ready in time; each job when all are over."""
        try:
            while "prepares" in self._state.values() and self._hear(self._waits_until()):
                pass
            late = [c for c in self._captures if self._state[c.job.name] == "prepares"]
            for capture in late:  # they would go on beside what is measured
                capture.cancel()
            for capture in late:
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

    def _waits_until(self) -> float:
        """As long as all that are ready can still be measured: none is lost to a late one."""
        n_ready = sum(state == _READY for state in self._state.values())
        return min(self._prepared_by, self._deadline - self._turn_s * n_ready)

    def _measure(self, capture: _Capture) -> None:
        name = capture.job.name
        if self._state[name] == _READY and self._deadline - time.monotonic() > self._turn_s:
            capture.go()
            while self._state[name] == _READY and self._hear(self._deadline):
                pass
        elif capture.job.is_measured:
            say(f"{name}: {self._state[name]}, not measured")

    def _hear(self, until: float) -> bool:
        try:
            job, event = self._events.get(timeout=max(0.0, until - time.monotonic()))
        except queue.Empty:
            return False
        self._state[job.name] = event
        say(f"{job.name}: {event}")
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


def capture_in_turn(
    job: Job, folder: Path, interpreters: "dict[str | None, Interpreter] | None" = None
) -> None:
    """One capture, in this process: prepared, then measured when a line comes on standard input.

    Args:
        job: what.
        folder: gets the capture in the job's own.
        interpreters: those that were asked already, by `python` of a spec.
    """
    from profiler_core.capture import launcher
    from profiler_core.capture.progress import ProgressLine
    from profiler_core.capture.ranks import RankGroup
    from profiler_core.capture.signals import cancel_flag
    from profiler_core.capture.spec_arguments import add_spec_arguments, spec_from_namespace
    from profiler_core.errors import Cancelled

    interleave, ask = launcher.interleave, RankGroup.ask

    def ask_alone(group: RankGroup, command: str, *arguments: Any, **fields: Any) -> dict[str, Any]:
        # Ranks wait for each other in kernels: those of several jobs at once take each other's
        # turns on the devices.
        with _alone(folder / ".warm-up") if command == "warm_up" else contextlib.nullcontext():
            return ask(group, command, *arguments, **fields)

    def in_turn(*arguments: Any, **options: Any) -> int:
        if job.is_measured:
            print(_READY, flush=True)
            if sys.stdin.readline() != _GO:
                raise Cancelled("There was no time left to measure.", remedy="Pass --seconds.")
        return interleave(*arguments, **options)

    RankGroup.ask = ask_alone  # type: ignore[method-assign]
    launcher.interleave = in_turn  # timing begins here, and everything is compiled
    parser = argparse.ArgumentParser()
    add_spec_arguments(parser)
    spec = spec_from_namespace(parser.parse_args(job.arguments))
    started = time.monotonic()

    def listen(line: ProgressLine) -> None:
        print(f"{time.monotonic() - started:6.1f} s  {line.text}", file=sys.stderr, flush=True)

    finished = launcher.run_capture(
        spec,
        folder / job.name,
        listener=listen,
        is_cancelled=cancel_flag(),
        interpreters=interpreters,
    )
    for run in finished.runs:
        print(f"{run.variant}: {run.status} {run.error or ''}", file=sys.stderr, flush=True)
    print(_MEASURED if job.is_measured else "checked", flush=True)


_STARTED = time.monotonic()


def say(text: str) -> None:
    """Print a line with the seconds since the start."""
    print(f"{time.monotonic() - _STARTED:6.1f} s  {text}", flush=True)

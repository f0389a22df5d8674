"""The processes of a server: started, watched, and ended together.

SIGTERM, SIGINT and SIGHUP end all of them, each after what it is answering; captures go on, for
they belong to supervisors of their own. A worker that ends by itself is started again.
"""

import logging
import os
import signal
import subprocess
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from types import FrameType

_log = logging.getLogger(__name__)

_POLL_S = 0.2
_STARTS_WITHIN_S = 20.0  # who ends by itself earlier, the first time, cannot start at all
_GRACE_S = 25.0  # for answers that are under way
_FIRST_DELAY_S, _LONGEST_DELAY_S = 1.0, 30.0


@dataclass
class _Worker:
    command: Sequence[str]
    process: "subprocess.Popen[bytes]"
    started_s: float
    delay_s: float = _FIRST_DELAY_S
    again_s: float | None = None  # when it is started again
    n_starts: int = 1


@dataclass
class Workers:
    """Runs the commands until a signal comes.

    commands: by what a worker is called in the log. grace_s: how long an answer may take that is
    under way when they are to end.
    """

    commands: Mapping[str, Sequence[str]]
    grace_s: float = _GRACE_S
    _stop: int | None = field(default=None, init=False)  # the signal that ends them

    def run(self) -> int:
        """Until they have ended; 0 after a signal, else the status of one that cannot start."""
        before = {
            number: signal.signal(number, self._on_signal)
            for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP)
        }
        workers = {name: _started(command) for name, command in self.commands.items()}
        try:
            while self._stop is None:
                for name, worker in workers.items():
                    status = self._look_after(name, worker)
                    if status is not None:
                        return status
                time.sleep(_POLL_S)
            _log.info("%s: the server ends.", signal.Signals(self._stop).name)
            return 0
        finally:
            _end([worker.process for worker in workers.values()], self.grace_s)
            for number, handler in before.items():
                signal.signal(number, handler)

    def _on_signal(self, number: int, _frame: FrameType | None) -> None:
        self._stop = number

    def _look_after(self, name: str, worker: _Worker) -> int | None:
        """Start it again where it has ended; its exit status where it cannot start."""
        now = time.monotonic()
        if worker.again_s is not None:
            if now >= worker.again_s:
                fresh = _started(worker.command)
                worker.process, worker.started_s, worker.again_s = fresh.process, now, None
                worker.n_starts += 1
            return None
        status = worker.process.poll()
        if status is None:
            return None
        lived_s = now - worker.started_s
        is_killed = status == -signal.SIGKILL  # for want of memory, say
        if worker.n_starts == 1 and lived_s < _STARTS_WITHIN_S and not is_killed:
            _log.error("Worker %s ended at once, with status %d.", name, status)
            return status if status > 0 else 1
        is_well = lived_s >= _STARTS_WITHIN_S
        worker.delay_s = _FIRST_DELAY_S if is_well else min(2 * worker.delay_s, _LONGEST_DELAY_S)
        worker.again_s = now + worker.delay_s
        _log.error(
            "Worker %s ended with status %d; it is started again in %g s.",
            name, status, worker.delay_s,
        )  # fmt: skip
        return None


def _started(command: Sequence[str]) -> _Worker:
    process = subprocess.Popen(command, stdin=subprocess.DEVNULL, env=dict(os.environ))
    return _Worker(command, process, time.monotonic())


def _end(processes: "Sequence[subprocess.Popen[bytes]]", within_s: float) -> None:
    for process in processes:
        process.terminate()
    deadline = time.monotonic() + within_s
    for process in processes:
        try:
            process.wait(max(0.0, deadline - time.monotonic()))
        except subprocess.TimeoutExpired:
            _log.warning("A worker was still answering after %g s, and is killed.", within_s)
            process.kill()
            process.wait()

"""A process of ours that works for somebody, as those who wait for it see it.

It runs a module of this package that calls `protocol.answer`. It outlives the page that started
it, and any number of threads may follow it.
"""

import os
import subprocess
import tempfile
import threading
import time
import weakref
from collections.abc import Collection, Iterator
from pathlib import Path
from typing import TypeVar

from profiler_core.errors import WorkEnded
from profiler_core.worker.environment import Need
from profiler_core.worker.process import DidNotRun, start_module
from profiler_core.worker.protocol import Progress, last_record, outcome

_POLL_S = 0.1

_T = TypeVar("_T")


class Worker:
    """A started process.

    Args:
        module: its full name.
        arguments: words.
        needs: what it must reach.
        request: what it reads from its standard input.

    Raises:
        DidNotRun: it cannot be started.
    """

    def __init__(
        self,
        module: str,
        *arguments: str,
        needs: Collection[Need] = (),
        request: bytes = b"",
    ) -> None:
        self._module = module
        # A file, not a pipe: nobody may be there to empty it.
        self._output = _nameless_file()
        weakref.finalize(self, os.close, self._output)
        with tempfile.TemporaryFile() as source:
            source.write(request)
            source.seek(0)
            self._process = start_module(
                module, *arguments, needs=needs, stdin=source, stdout=self._output
            )
        # Waited for whether or not somebody asks again, so that no zombie stays.
        threading.Thread(target=self._process.wait, daemon=True).start()

    @property
    def is_running(self) -> bool:
        """Does it still work?"""
        return self._process.poll() is None

    def progress(self) -> Iterator[Progress]:
        """How far it is, again and again until it has ended."""
        while self.is_running:
            yield self._newest()
            time.sleep(_POLL_S)

    def wait(self, within_s: float | None = None) -> None:
        """Until it has ended; one that takes too long is killed.

        Raises:
            DidNotRun: it took longer.
        """
        try:
            self._process.wait(within_s)
        except subprocess.TimeoutExpired as error:
            self._process.kill()
            self._process.wait()
            why = f"{self._module} took more than {within_s:g} s"
            raise DidNotRun(why, took_too_long=True) from error

    def cancel(self) -> None:
        """Ask it to stop; one that has ended does not mind."""
        self._process.terminate()

    def result(self, kind: type[_T], *, ended: str, remedy: str) -> _T:
        """What the work gave; waits for it.

        Args:
            kind: the record that is expected; nothing else is made of what it says.
            ended: the problem where it ended without a word; `{status}` is its exit status.
            remedy: for that.

        Raises:
            BadInput: the work failed, with its own sentences.
            WorkEnded: it was ended without a word.
        """
        self.wait()
        status = self._process.returncode
        return outcome(
            last_record(self._output),
            status,
            kind,
            ended=WorkEnded(ended.replace("{status}", str(status)), remedy=remedy),
            who=self._module,
        )

    def _newest(self) -> Progress:
        record = last_record(self._output, only_near_end=True)
        return record if isinstance(record, Progress) else Progress()


def ask(
    module: str, *arguments: str, kind: type[_T], ended: str, remedy: str,
    needs: Collection[Need] = (), request: bytes = b"", within_s: float | None = None,
) -> _T:  # fmt: skip
    """Start a process, wait for it, and return what its work gave; see `Worker`.

    Raises:
        BadInput: the work failed.
        WorkEnded: the process was ended without a word.
        DidNotRun: it cannot be started, or took longer than `within_s`.
    """
    worker = Worker(module, *arguments, needs=needs, request=request)
    worker.wait(within_s)
    return worker.result(kind, ended=ended, remedy=remedy)


def _nameless_file() -> int:
    """A descriptor of a file that is gone with the last process that holds it."""
    descriptor, path = tempfile.mkstemp(prefix="fusionscope-worker-")
    Path(path).unlink()
    return descriptor

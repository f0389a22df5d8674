"""The right to what a job measures, asked anew when it is about to start.

A supervisor reaches no database, so it asks by a file and waits: a server of the same home answers
(`ui/capture/withdrawn.py`), or cancels the job. While none runs nothing starts.
"""

import contextlib
import secrets
import time
from pathlib import Path

from profiler_core.jobs import directory as files
from profiler_core.jobs.directory import JobSpec
from profiler_core.person import is_account

# The right was asked for when the job was submitted; a supervisor starts within this time.
_SUBMITTED_WITHIN_S = 30.0
_LONGEST_PAUSE_S = 10.0  # of whoever asked: a machine that slept meanwhile asks once more
_CLOCK = getattr(time, "CLOCK_BOOTTIME", time.CLOCK_MONOTONIC)  # goes on while the machine sleeps


def is_asked_for(spec: JobSpec) -> bool:
    """Whether it runs the code of a person who signed in, or of a token."""
    return spec.kind in files.MEASURING and spec.owner is not None and is_account(spec.owner)


def question(directory: Path) -> str:
    """What the supervisor of a job asks now; empty: nothing."""
    return _text(directory / files.ASKS)


def answer(directory: Path) -> str:
    """The question that was answered with yes last; empty: none."""
    return _text(directory / files.CONFIRMED)


def confirm(directory: Path, asked: str) -> None:
    """Answer yes to this question; whoever asked anew meanwhile gets no answer by it."""
    partial = directory / f"{files.CONFIRMED}.{secrets.token_hex(4)}.part"
    partial.write_text(asked)
    partial.replace(directory / files.CONFIRMED)


class Right:
    """Of one job, as its supervisor asks for it."""

    def __init__(self, directory: Path, spec: JobSpec, *, is_first_start: bool) -> None:
        self._directory = directory
        self._is_asked_for = is_asked_for(spec)
        age_s = time.time() - spec.submitted_at
        self._is_fresh = is_first_start and 0 <= age_s < _SUBMITTED_WITHIN_S
        self._asked = ""
        self._looked_at = 0.0

    def lapse(self) -> None:
        """The job waits for something else: what is known of the right holds no longer."""
        self._is_fresh = False
        self._asked = ""

    def is_confirmed(self) -> bool:
        """Whether it is known to hold at this moment; asks where it is not.

        Raises:
            OSError: the question cannot be written.
        """
        if not self._is_asked_for or self._is_fresh:
            return True
        now, before = time.clock_gettime(_CLOCK), self._looked_at
        self._looked_at = now
        if self._asked and now - before < _LONGEST_PAUSE_S:
            return answer(self._directory) == self._asked
        self._asked = secrets.token_hex(8)
        (self._directory / files.ASKS).write_text(self._asked)
        return False


def _text(path: Path) -> str:
    with contextlib.suppress(OSError, UnicodeDecodeError):
        return path.read_text("utf-8")
    return ""

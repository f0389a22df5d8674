"""Runs of a capture that cannot go on: what became of them is written, and no process is left."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path

from profiler_core.capture.full_disk import is_full
from profiler_core.capture.progress import ProgressLog
from profiler_core.capture.variant_run import VariantRun
from profiler_core.errors import CaptureFailed


def stop_all(
    runs: Sequence[VariantRun], error: BaseException, progress: ProgressLog, directory: Path
) -> None:
    """After an error that is no failure of one run: on a full disk they have failed, and say so.

    Args:
        runs: of which those that ended stay as they are.
        error: what was met.
        progress: is told.
        directory: of the capture.

    Raises:
        BaseException: the error, where it is anything but a full disk; the runs are cancelled then.
    """
    if not (isinstance(error, OSError) and is_full(error)):
        for run in runs:
            run.stop("cancelled", f"The launcher stopped: {type(error).__name__}: {error}")
        raise error
    full = _full_disk(error, directory)
    for run in runs:
        with suppress(OSError):  # there was no room to keep for it either
            run.stop("failed", f"{full.problem} {full.remedy}")
        progress.say("failed", full.problem, run.label)


@contextmanager
def full_disk_is_told(out: Path) -> Iterator[None]:
    """A full disk that is met before there is any run.

    Raises:
        CaptureFailed: it is full.
    """
    try:
        yield
    except OSError as error:
        if not is_full(error):
            raise
        raise _full_disk(error, out) from error


def _full_disk(error: OSError, out: Path) -> CaptureFailed:
    return CaptureFailed(
        f"The disk of {error.filename or out} is full.",
        remedy="Make room there, and capture it again.",
    )

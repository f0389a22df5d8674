"""Which capture is a job's: the folder whose first line of progress is the job's own.

The capture writes the same lines of progress into its folder and to the job, each with its time.
"""

from pathlib import Path

from profiler_core.jobs import directory as files
from profiler_core.jobs.directory import JobSpec

_LONGEST_LINE = 64_000  # bytes


def result_of(directory: Path, spec: JobSpec) -> Path | None:
    """The capture's folder, once there is one.

    Args:
        directory: the job's.
        spec: of the job.
    """
    begins = first_line(directory / files.PROGRESS)
    if not begins or spec.out is None or not Path(spec.out).is_dir():
        return None
    # Newest first: a job that somebody looks at is mostly a new one.
    for folder in sorted(Path(spec.out).iterdir(), reverse=True):
        if first_line(folder / files.PROGRESS) == begins:
            return folder
    return None


def first_line(path: Path) -> bytes:
    """The first whole line; empty where there is none yet."""
    try:
        with path.open("rb") as file:
            line = file.readline(_LONGEST_LINE)
    except (FileNotFoundError, NotADirectoryError):
        return b""
    return line if line.endswith(b"\n") else b""

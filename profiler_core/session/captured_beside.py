"""The other runs of a capture: what its graphs replay they tell, whether they are compared or not.

The kinds of kernels of `reduce-overhead` must not depend on whether `default` is chosen too.
"""

from collections.abc import Sequence
from itertools import islice
from pathlib import Path

from profiler_core.errors import FusionscopeError
from profiler_core.ingest.run import open_run
from profiler_core.session.folder import is_run
from profiler_core.session.run import Run

_MOST_RUNS = 64  # in one folder; a folder of more is no capture's


def captured_beside(runs: Sequence[Run]) -> tuple[Run, ...]:
    """The finished runs with a trace that lie beside these, and were made by the same captures.

    Captures of several ranks have none: each run of such is a job to read.

    Args:
        runs: that are compared; none of them is given.
    """
    compared = {run.path.resolve() for run in runs}
    captures: dict[Path, Run] = {}
    for run in runs:
        if run.record.capture_id and run.record.world_size == 1 and run.path.is_dir():
            captures.setdefault(run.path.resolve().parent, run)
    beside = []
    for folder, run in captures.items():
        entries = sorted(islice(folder.iterdir(), _MOST_RUNS + 1))
        for path in entries if len(entries) <= _MOST_RUNS else ():
            if path not in compared and is_run(path):
                other = _of_capture(path, run)
                if other is not None:
                    beside.append(other)
    return tuple(beside)


def _of_capture(path: Path, run: Run) -> Run | None:
    try:
        files = open_run(path)
    except (FusionscopeError, OSError):  # not asked for: nothing is said about it
        return None
    record = files.record
    is_of_capture = record.capture_id == run.record.capture_id
    if files.trace is None or record.status != "finished" or not is_of_capture:
        return None
    return run.read_alike(files)

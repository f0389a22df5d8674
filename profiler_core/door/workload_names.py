"""What a job calls the workload of the runs that it is about."""

from collections.abc import Collection
from contextlib import suppress
from pathlib import Path

from profiler_core.errors import FusionscopeError
from profiler_core.ingest.run import open_run


def workload_of(runs: Collection[Path]) -> str:
    """Of the first run, a file's without its folder; "" where it is not known."""
    for run in runs:
        with suppress(FusionscopeError):
            return Path(open_run(run).record.workload or "").name
        break
    return ""

"""The clocks of a job's GPUs, from the samples that lie with its run or with its ranks' runs."""

from pathlib import Path

from profiler_core import run_directory
from profiler_core.analysis.telemetry.rank_clocks import (
    RankClock,
    clock_of_rank,
    clocks_of_ranks,
)
from profiler_core.errors import FusionscopeError
from profiler_core.ingest.run import open_run
from profiler_core.ingest.telemetry.reader import read_run_samples
from profiler_core.model.run import RunFiles
from profiler_core.ranks.find import RankFiles
from profiler_core.ranks.remote import is_url


def clocks_at(location: str, rank_files: RankFiles) -> tuple[RankClock, ...]:
    """By rank; () where nothing was sampled, and for what lies packed or on a remote store.

    Args:
        location: of the job.
        rank_files: its traces.
    """
    path = Path(location).expanduser()
    if is_url(location) or not path.is_dir():
        return ()
    run = _run_in(path)
    if run is not None and run.record.measurement is not None:
        gpus = read_run_samples(run).gpus
        if gpus is not None and run.record.measurement.rank_gpus:
            return clocks_of_ranks(run.record.measurement, gpus)
    clocks = []
    for file in rank_files.files:
        folder = Path(file.location).parent
        own = _run_in(folder) if folder != path and not is_url(file.location) else None
        if own is None or own.record.measurement is None:
            continue
        gpus = read_run_samples(own).gpus
        clock = gpus and clock_of_rank(file.rank, own.record.measurement, gpus)
        if clock:
            clocks.append(clock)
    return tuple(clocks)


def _run_in(folder: Path) -> RunFiles | None:
    """The run directory; None: it is none, or cannot be read."""
    if not (folder / run_directory.RUN_JSON).is_file():
        return None
    try:
        return open_run(folder)
    except FusionscopeError:
        return None

"""What compiling cost each rank of a job that is named by its place."""

from pathlib import Path

from profiler_core.analysis.ranks.rank_compiling import RankCompiling
from profiler_core.errors import FusionscopeError
from profiler_core.session.job import PlacedJob
from profiler_core.session.run import Run


def compiling_of(placed: PlacedJob) -> tuple[RankCompiling, ...]:
    """By rank; () where no log tells it, and for what lies packed or on a remote store."""
    path = Path(placed.source).expanduser()
    if not path.is_dir():
        return ()
    try:
        return Run.open(path).compiling_by_rank
    except FusionscopeError:  # several runs, or none: only the ranks' traces could be read
        return ()

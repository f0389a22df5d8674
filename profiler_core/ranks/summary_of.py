"""The work on one rank: path or URL -> columns -> summary. Pure but for the cache of columns.

It runs anywhere: here, in a pool of processes, or on the workers of a cluster.
"""

from contextlib import ExitStack
from pathlib import Path

import polars as pl

from profiler_core.analysis.ranks.collectives import CALL_SCHEMA
from profiler_core.analysis.ranks.kernel_times import KERNEL_TIME_SCHEMA
from profiler_core.analysis.ranks.rank_summary import RankSummary, summarise_rank
from profiler_core.errors import FusionscopeError
from profiler_core.ingest.open import open_trace
from profiler_core.ranks import remote
from profiler_core.ranks.find import RankFile


def summary_of(file: RankFile) -> RankSummary:
    """Reduce one rank; a trace that cannot be read is a summary with a `problem`, no error."""
    try:
        with ExitStack() as stack:
            is_url = remote.is_url(file.location)
            path = (
                stack.enter_context(remote.fetched(file.location))
                if is_url
                else Path(file.location)
            )
            summary = summarise_rank(open_trace(path), file.rank)
    except FusionscopeError as error:
        return _unreadable(file, error.problem)
    return RankSummary(**{**vars(summary), "source": file.name})


def _unreadable(file: RankFile, problem: str) -> RankSummary:
    return RankSummary(
        rank=file.rank,
        world_size=None,
        source=file.name,
        host=None,
        backend=None,
        origin_ns=0,
        n_events=0,
        n_skipped=0,
        n_kernels=0,
        steps=(),
        calls=pl.DataFrame(schema=CALL_SCHEMA),
        kernels=pl.DataFrame(schema=KERNEL_TIME_SCHEMA),
        idle=None,
        problem=problem,
    )

"""Ranks reduced by processes of this machine, a bounded number of traces in memory at a time."""

import multiprocessing
import os
import threading
from collections.abc import Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ProcessPoolExecutor, wait
from concurrent.futures.process import BrokenProcessPool

from profiler_core.analysis.ranks.rank_summary import RankSummary
from profiler_core.errors import BadInput
from profiler_core.ranks.find import RankFile
from profiler_core.ranks.summary_of import summary_of
from profiler_core.worker.process import without_current_folder

# A process is replaced after this many ranks, so that what libraries keep cannot pile up.
_RANKS_PER_PROCESS = 64
# One trace at a time costs less than starting processes (0.6 s each).
_WORTH_PROCESSES = 4


def processes_for(n_files: int, requested: int | None) -> int:
    """How many processes to use: as asked, else one for each CPU that this process may use."""
    available = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else None
    return max(1, min(requested or available or os.cpu_count() or 1, n_files))


def summaries_here(
    files: Sequence[RankFile], n_processes: int | None = None
) -> Iterator[RankSummary]:
    """Each rank as it is done, in no order. Closing the iterator ends the processes.

    Raises:
        BadInput: a process was ended from outside.
    """
    n = processes_for(len(files), n_processes)
    if n == 1 or (n_processes is None and len(files) < _WORTH_PROCESSES):
        yield from map(summary_of, files)
        return
    with without_current_folder():
        yield from _by_processes(files, n)


def _by_processes(files: Sequence[RankFile], n: int) -> Iterator[RankSummary]:
    # Spawned: polars' threads do not survive a fork.
    pool = ProcessPoolExecutor(
        n,
        mp_context=multiprocessing.get_context("spawn"),
        initializer=_end_with_parent,
        max_tasks_per_child=_RANKS_PER_PROCESS,
    )
    try:
        yield from _as_done(pool, files, ahead=2 * n)
    except BrokenProcessPool as error:
        raise BadInput(
            f"A process that read one of the {len(files)} ranks was ended from outside.",
            remedy="Run it again with fewer --processes: the machine may be short of memory.",
        ) from error
    finally:
        for process in (pool._processes or {}).values():
            process.terminate()  # nobody waits for their results any more
        pool.shutdown(wait=True, cancel_futures=True)


def _as_done(
    pool: ProcessPoolExecutor, files: Sequence[RankFile], *, ahead: int
) -> Iterator[RankSummary]:
    """The summaries as they finish; at most `ahead` ranks are submitted at a time."""
    remaining = iter(files)
    pending: set[Future[RankSummary]] = set()
    while True:
        for file in remaining:
            pending.add(pool.submit(summary_of, file))
            if len(pending) >= ahead:
                break
        if not pending:
            return
        finished, pending = wait(pending, return_when=FIRST_COMPLETED)
        for future in finished:
            yield future.result()


def _end_with_parent() -> None:
    """End this process when its parent has ended, even by SIGKILL."""
    parent = multiprocessing.parent_process()

    def leave() -> None:
        if parent is not None:
            parent.join()
            os._exit(1)

    threading.Thread(target=leave, daemon=True).start()

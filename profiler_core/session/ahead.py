"""Computes the answers of a comparison before a page asks for them, from files read already.

Nothing is read for the first time: who asks then wants to see how far that is.
"""

import logging
from collections.abc import Callable, Iterable
from threading import Lock, Thread

from profiler_core.analysis.ledger.host_rows import host_rows
from profiler_core.ingest import open as traces
from profiler_core.ranks.job_cache import cached_job
from profiler_core.session.comparison import Comparison
from profiler_core.session.run import Run

_log = logging.getLogger(__name__)


def make_ahead(comparison: Comparison, *, ledger: bool) -> None:
    """Have the cache hold the numbers of these runs, all runs at once, and a fusion ledger.

    Args:
        comparison: of runs that were read before; else nothing is done.
        ledger: that of the candidate that pages show first too.
    """
    if not all(map(_was_read, comparison.opened)):
        return
    lays_out = ledger and _is_new_pair(comparison)
    one_at_a_time = Lock()  # both at once would take 260 to 360 MB more for a pair of 1 GB

    def prepare(run: Run) -> None:
        _ = run.side
        if lays_out:  # while the other run may still be at its numbers
            with one_at_a_time:
                _lay_out(run)

    _at_once(comparison.runs, prepare)
    if not ledger or all(pair.not_explained is not None for pair in comparison.pairs):
        return
    pair = comparison.pairs[comparison.shown_first]
    if not lays_out and not pair.has_ledger:
        for run in pair.runs:  # of several pairs the numbers say which one is shown
            _attempt(run, _lay_out)
    _ = pair.ledger


def _is_new_pair(comparison: Comparison) -> bool:
    """Is it one pair, whose ledger nobody has kept?"""
    return len(comparison.pairs) == 1 and not comparison.pairs[0].has_ledger


def _was_read(run: Run) -> bool:
    """Are the columns of its traces, and what its ranks say together, in the cache?"""
    files = (run.files.trace, run.files.trace_stacks)
    if not all(traces.is_cached(path) for path in files if path is not None):
        return False
    return run.rank_files is None or cached_job(run.rank_files) is not None


def _lay_out(run: Run) -> None:
    """What the ledger of a pair takes longest for, of one run."""
    trace = run.material.trace
    if trace is not None:
        host_rows(trace)


def _at_once(runs: Iterable[Run], question: Callable[[Run], object]) -> None:
    """Ask each run in a thread of its own."""
    threads = [Thread(target=_attempt, args=(run, question), daemon=True) for run in runs]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()


def _attempt(run: Run, question: Callable[[Run], object]) -> None:
    """Ask a run; where that fails, who asks then is told why."""
    try:
        question(run)
    except Exception as error:
        _log.info("%s was not computed ahead", run.path, exc_info=error)

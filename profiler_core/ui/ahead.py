"""What a page asks of its runs is computed while the browser still starts Streamlit's client.

From the document of a page to the first run of its script a second passes. The address says which
runs the page shows, so their numbers are asked for at once; the script finds them in the cache, or
waits there for what is being made.

Nothing is read for the first time: the page does that, with progress. And nothing is asked where
people sign in: anybody gets a document there, while here the gate of one's own machine stands in
front.
"""

import logging
from collections.abc import Callable, Iterable
from threading import BoundedSemaphore, Thread
from urllib.parse import parse_qs

from starlette.middleware import Middleware
from starlette.types import ASGIApp, Receive, Scope, Send

from profiler_core.errors import BadInput, FusionscopeError
from profiler_core.ingest import open as traces
from profiler_core.page_specs import PageSpec, page_at
from profiler_core.ranks.job_cache import cached_job
from profiler_core.session.comparison import Comparison
from profiler_core.session.run import Run
from profiler_core.store import library
from profiler_core.ui.choice import first_comparison, keys_of, open_choice
from profiler_core.ui.server import base_path
from profiler_core.ui.sign_in.needed import is_needed

_MOST_AT_ONCE = 2  # documents; the pages of others ask for themselves
_free = BoundedSemaphore(_MOST_AT_ONCE)

_log = logging.getLogger(__name__)


class Ahead:
    """ASGI middleware; see the module."""

    def __init__(self, app: ASGIApp) -> None:
        """Wrap `app`."""
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Begin to compute what the page of this address asks for, and go on at once."""
        if scope["type"] == "http" and scope["method"] == "GET":
            begin(scope["path"], scope["query_string"].decode("latin-1"))
        await self._app(scope, receive, send)


def begin(path: str, query: str) -> Thread | None:
    """Compute what a page asks for, in a thread; None: it asks for nothing, or others are at it.

    Args:
        path: of its address.
        query: what follows the question mark.
    """
    try:
        spec = page_at(path.removeprefix(base_path()).strip("/"))
    except BadInput:  # a page's file is damaged; the menu says so
        return None
    if spec is None or not spec.asks or not _free.acquire(blocking=False):
        return None
    thread = Thread(target=_ask, args=(spec, query), name="ahead of a page", daemon=True)
    thread.start()
    return thread


def _ask(spec: PageSpec, query: str) -> None:
    try:
        if is_needed():
            return
        keys = keys_of(parse_qs(query)) or first_comparison(library.comparisons())
        if keys:
            ask(open_choice(keys).comparison, explanation=spec.asks == "explanation")
    except (FusionscopeError, OSError):  # the page meets the same, and says so
        return
    except Exception as error:  # likewise
        _log.info("Nothing was computed ahead of %s", spec.name, exc_info=error)
    finally:
        _free.release()


def ask(comparison: Comparison, *, explanation: bool) -> None:
    """Have the cache hold the numbers of these runs; all runs at once.

    Args:
        comparison: of runs that were read before; else nothing is done.
        explanation: that of the leading candidate too.
    """
    if not all(map(_was_read, comparison.runs)):
        return
    _at_once(comparison.runs, lambda run: run.side)
    pairs = [pair for pair in comparison.pairs if pair.not_explained is None]
    if not explanation or not pairs:
        return
    pair = comparison.leading if comparison.leading in pairs else pairs[0]
    if pair is not None and not pair.is_explained:
        _at_once(pair.runs, lambda run: run.material)
    if pair is not None:
        _ = pair.explanation


def _was_read(run: Run) -> bool:
    """Are the columns of its traces, and what its ranks say together, in the cache?"""
    files = (run.files.trace, run.files.trace_stacks)
    if not all(traces.is_cached(path) for path in files if path is not None):
        return False
    return run.rank_files is None or cached_job(run.rank_files) is not None


def _at_once(runs: Iterable[Run], question: Callable[[Run], object]) -> None:
    """Ask each run in a thread of its own; one that fails leaves it to the page to say why."""

    def answered(run: Run) -> None:
        try:
            question(run)
        except Exception as error:  # the page asks again
            _log.info("%s was not computed ahead", run.path, exc_info=error)

    threads = [Thread(target=answered, args=(run,), daemon=True) for run in runs]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()


AHEAD = Middleware(Ahead)

"""What is asked when somebody looks: numbers of this moment, each left out where it has none.

All but the sessions are of the whole server: every worker over the same home says the same.
"""

import logging
import shutil
import time
from collections.abc import Callable, Iterable, Iterator

from prometheus_client.core import GaugeMetricFamily
from prometheus_client.registry import Collector
from streamlit import runtime

from profiler_core.errors import FusionscopeError
from profiler_core.home import home_directory
from profiler_core.ingest.cache_limit import cache_bytes
from profiler_core.jobs.state import EndedJobs, queue_state
from profiler_core.ui.metrics import counted
from profiler_core.ui.metrics.declared import Metric

_CACHE_ASKED_EVERY_S = 60.0  # thousands of files

_log = logging.getLogger(__name__)

_Values = Iterable[tuple[tuple[str, ...], float]]

SESSIONS = Metric(
    "fusionscope_sessions", "gauge", "browser tabs that are connected to this process"
)
DATABASE_UP = Metric("fusionscope_database_up", "gauge", "1 where the history answers, else 0")
DATABASE_LATENCY = Metric(
    "fusionscope_database_latency_seconds", "gauge", "how long its answer just took"
)
HISTORY_RUNS = Metric("fusionscope_history_runs", "gauge", "runs in the history")
CACHE_BYTES = Metric(
    "fusionscope_cache_bytes", "gauge", "what is kept of traces on the disk, once a minute"
)
DISK_FREE = Metric("fusionscope_disk_free_bytes", "gauge", "room on the disk of the home")
JOBS = Metric(
    "fusionscope_jobs",
    "gauge",
    "jobs that run or wait",
    (counted.JOB.labels[0], ("state", "`running`, `queued`")),
)
OLDEST_WAIT = Metric(
    "fusionscope_oldest_waiting_job_seconds", "gauge", "since the first of those that wait came"
)
ABANDONED = Metric(
    "fusionscope_abandoned_jobs", "gauge", "jobs that nobody looks after, for two minutes or longer"
)
ASKED = (
    SESSIONS,
    JOBS,
    OLDEST_WAIT,
    ABANDONED,
    DATABASE_UP,
    DATABASE_LATENCY,
    HISTORY_RUNS,
    CACHE_BYTES,
    DISK_FREE,
)


class Moment(Collector):
    """Asks for all of them, each time that it is collected."""

    def __init__(self) -> None:
        self._cache: tuple[float, int] = (float("-inf"), 0)
        self._ended = EndedJobs(time.time())
        self._asked: tuple[tuple[tuple[Metric, ...], Callable[[], Iterable[_Values]]], ...] = (
            ((SESSIONS,), _sessions),
            ((JOBS, OLDEST_WAIT, ABANDONED), _jobs),
            ((DATABASE_UP, DATABASE_LATENCY, HISTORY_RUNS), _database),
            ((CACHE_BYTES,), self._cache_bytes),
            ((DISK_FREE,), _disk),
        )

    def collect(self) -> Iterator[GaugeMetricFamily]:
        """Their values now."""
        for metrics, ask in self._asked:
            try:
                answers = list(ask())
            except (FusionscopeError, OSError) as error:
                _log.warning("No %s: %s", metrics[0].name, error)
                continue
            for metric, values in zip(metrics, answers, strict=False):
                family = metric.gauge()
                for labels, value in values:
                    family.add_metric(labels, value)
                if family.samples:
                    yield family

    def count_ended_jobs(self) -> None:
        """Those that ended since the last time, in processes that count nothing themselves."""
        try:
            for spec, status in self._ended.new():
                ran_s = (status.ended_at or 0.0) - (status.started_at or status.ended_at or 0.0)
                counted.count_job(spec.kind, status.state, max(0.0, ran_s), spec.input_bytes)
        except OSError as error:
            _log.warning("Ended jobs are not counted: %s", error)

    def _cache_bytes(self) -> Iterable[_Values]:
        asked_s, n_bytes = self._cache
        if time.monotonic() - asked_s >= _CACHE_ASKED_EVERY_S:
            n_bytes = cache_bytes()
            self._cache = (time.monotonic(), n_bytes)
        yield [((), n_bytes)]


def _sessions() -> Iterable[_Values]:
    if runtime.exists():
        yield [((), runtime.get_instance()._session_mgr.num_active_sessions())]


def _jobs() -> Iterable[_Values]:
    state = queue_state()
    yield state.counts.items()
    yield [((), state.oldest_wait_s)]
    yield [((), state.n_abandoned)]


def _database() -> Iterable[_Values]:
    from profiler_core.store import history  # 0.2 s of the server's start
    from profiler_core.store.history import database

    started_s = time.perf_counter()
    try:
        database.ping()
    except FusionscopeError:
        yield [((), 0)]
        return
    latency_s = time.perf_counter() - started_s
    yield [((), 1)]
    yield [((), latency_s)]
    yield [((), history.n_runs())]


def _disk() -> Iterable[_Values]:
    yield [((), shutil.disk_usage(home_directory()).free)]

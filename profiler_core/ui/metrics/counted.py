"""What is counted as it happens, since this process began."""

import time
from collections.abc import Iterator
from contextlib import contextmanager

from prometheus_client import CollectorRegistry, ProcessCollector

from profiler_core.ui.metrics.declared import Metric

REGISTRY = CollectorRegistry(auto_describe=False)

_PAGE_BUCKETS_S = (0.05, 0.1, 0.2, 0.3, 0.5, 1.0, 2.0, 5.0, 10.0, 30.0, 120.0)
_JOB_BUCKETS_S = (1.0, 3.0, 10.0, 30.0, 100.0, 300.0, 1000.0, 3000.0, 10000.0)

PAGE_RUN = Metric(
    "fusionscope_page_run_seconds",
    "histogram",
    "a page, each time that its script runs: how long it took",
    (("page", "its title"), ("outcome", "`ok`; `problem`, which the page explains; `failed`")),
)
RECEIVED = Metric(
    "fusionscope_received_bytes", "counter", "files that were received whole as uploads"
)
REFUSED = Metric(
    "fusionscope_refused_requests",
    "counter",
    "requests that were not answered",
    (
        (
            "reason",
            "`origin`: from another site; `user`: by another user's program; `sign_in`: nobody is "
            "signed in; `role`; `token`: none, or a wrong one; `settings`: they cannot be read",
        ),
    ),
)
_KIND = ("kind", "`read`, `ingest` (of an upload), `report`, `export`, `capture`")
JOB = Metric(
    "fusionscope_job_seconds",
    "histogram",
    "a job that ended, of any worker: how long it ran; it is seen when somebody looks",
    (_KIND, ("outcome", "`finished`, `failed`, `cancelled`, `interrupted`")),
)
JOB_INPUT = Metric(
    "fusionscope_job_input_bytes", "counter", "what these jobs read", (_KIND, JOB.labels[1])
)
COUNTED = (PAGE_RUN, RECEIVED, REFUSED, JOB, JOB_INPUT)

_page_run = PAGE_RUN.histogram(REGISTRY, _PAGE_BUCKETS_S)
_received = RECEIVED.counter(REGISTRY)
_refused = REFUSED.counter(REGISTRY)
_job = JOB.histogram(REGISTRY, _JOB_BUCKETS_S)
_job_input = JOB_INPUT.counter(REGISTRY)
PROCESS = ProcessCollector(registry=REGISTRY)  # its memory, processor time, open files


class PageRun:
    """One run of a page's script."""

    outcome = "ok"


@contextmanager
def counted_page_run(page: str) -> Iterator[PageRun]:
    """Count the run of a page's script, also one that another click ends early."""
    started_s = time.perf_counter()
    run = PageRun()
    try:
        yield run
    except Exception:
        run.outcome = "failed"
        raise
    finally:
        _page_run.labels(page, run.outcome).observe(time.perf_counter() - started_s)


def count_received(n_bytes: int) -> None:
    """A file has arrived."""
    _received.inc(n_bytes)


def count_refused(reason: str) -> None:
    """A request was refused for one of the reasons that `REFUSED` names."""
    _refused.labels(reason).inc()


def count_job(kind: str, outcome: str, ran_s: float, input_bytes: int) -> None:
    """A job has ended."""
    _job.labels(kind, outcome).observe(ran_s)
    _job_input.labels(kind, outcome).inc(input_bytes)

"""A server that starts puts what it finds into the history, and ends what it has started."""

import time

import anyio

from profiler_core.store import history
from profiler_core.store.history import database
from profiler_core.ui.startup import lifespan
from tests.store.history.samples import redated_copy

FOUND_TIMEOUT_S = 60.0


def test_runs_that_are_here_are_recorded(tmp_path, monkeypatch):
    monkeypatch.setenv("FUSIONSCOPE_HOME", str(tmp_path))
    redated_copy(tmp_path, "c1")

    async def serve() -> None:
        async with lifespan(None):  # type: ignore[arg-type]
            deadline = time.monotonic() + FOUND_TIMEOUT_S
            while history.n_runs() == 0:
                assert time.monotonic() < deadline
                await anyio.sleep(0.1)

    anyio.run(serve)
    assert history.run("c1.default").workload == "breaky"
    database.close_all()


def test_a_server_that_ends_at_once_waits_for_nothing(tmp_path, monkeypatch):
    monkeypatch.setenv("FUSIONSCOPE_HOME", str(tmp_path))
    redated_copy(tmp_path, "c1")

    async def serve() -> None:
        async with lifespan(None):  # type: ignore[arg-type]
            pass

    started = time.monotonic()
    anyio.run(serve)
    assert time.monotonic() - started < FOUND_TIMEOUT_S
    assert history.reconcile().recorded in (("c1.default",), ())
    database.close_all()

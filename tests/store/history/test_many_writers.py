"""Twenty processes write at once into a database that none of them has seen before."""

import multiprocessing
import os
from pathlib import Path

from profiler_core.store import history
from tests.store.history.samples import redated_copy

N_WRITERS, N_RUNS = 20, 5


def write(
    number: int, directories: list[str], barrier: object, environment: dict[str, str]
) -> None:
    """One writer: its own runs, and one that all of them record."""
    # The server that forks the writers has the environment of the first test that started it.
    os.environ.update(environment)
    barrier.wait()  # type: ignore[attr-defined]
    for directory in directories:
        run = history.record(Path(directory), person=f"writer {number}")
        history.tag(run.run_id, "all", f"writer-{number}")
    history.set_baseline("contested", "shared.default", person=f"writer {number}")


def test_twenty_writers_lose_nothing(home):
    shared = str(redated_copy(home, "shared"))
    # One process that has imported everything forks the writers: twenty imports would take longer
    # than the test.
    context = multiprocessing.get_context("forkserver")
    context.set_forkserver_preload(["profiler_core.store.history", "psycopg"])
    barrier = context.Barrier(N_WRITERS)
    writers = []
    for number in range(N_WRITERS):
        own = [str(redated_copy(home, f"w{number}-{n}")) for n in range(N_RUNS)]
        writers.append(
            context.Process(target=write, args=(number, [*own, shared], barrier, dict(os.environ)))
        )
    for writer in writers:
        writer.start()
    for writer in writers:
        writer.join(120)
    assert [writer.exitcode for writer in writers] == [0] * N_WRITERS

    found = {run.run_id: run for run in history.runs()}
    assert len(found) == N_WRITERS * N_RUNS + 1
    for number in range(N_WRITERS):
        for n in range(N_RUNS):
            run = found[f"w{number}-{n}.default"]
            assert run.person == f"writer {number}"
            assert run.tags == ("all", f"writer-{number}")
            assert len(run.rounds) == 20
    assert len(found["shared.default"].tags) == N_WRITERS + 1
    assert [b.run_id for b in history.baselines()] == ["shared.default"]

"""Nobody keeps all threads for himself."""

import asyncio
import inspect
import os
import threading
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from contextvars import ContextVar
from pathlib import Path
from types import SimpleNamespace

import pytest
from starlette.responses import Response

from profiler_core.agents import over_http
from profiler_core.agents.capturing import capture_progress
from profiler_core.agents.tools import summary
from profiler_core.door.asker import Asker, asking
from profiler_core.door.turns import Turns
from profiler_core.door.waiting import Waiters, until_ended
from profiler_core.errors import BadInput
from profiler_core.jobs import directory as files
from profiler_core.jobs.queue import QueueFull
from profiler_core.store.history.pushed import Pushed
from profiler_core.ui.routes import api_runs


def test_one_persons_questions_leave_others_a_thread(monkeypatch: pytest.MonkeyPatch) -> None:
    is_over = threading.Event()

    def answer(_tool: object, arguments: dict[str, str]) -> str:
        if arguments["run"] == "slow":
            assert is_over.wait(30)
        return arguments["run"]

    async def ask(person: str, run: str) -> str:
        with asking(Asker(person, ("look",), signed_in=True)):
            return await over_http._answered(summary, {"run": run})

    async def scene() -> None:
        slow = [asyncio.create_task(ask("eve", "slow")) for _ in range(12)]
        try:
            assert await asyncio.wait_for(ask("bob", "quick"), 10) == "quick"
        finally:
            is_over.set()
        assert set(await asyncio.gather(*slow)) == {"slow"}

    monkeypatch.setattr(over_http, "_in_a_process", answer)
    asyncio.run(scene())


@contextmanager
def under_way(home: Path, owner: str) -> Iterator[str]:
    """The id of a capture of this person that does not end in the block."""
    job_id = f"20260101-000000-{len(list(home.glob('jobs/*'))):06x}"
    directory = home / "jobs" / job_id
    directory.mkdir(parents=True)
    spec = files.JobSpec(
        job_id=job_id, command=("true",), title="t", device="cpu", submitted_at=0.0, owner=owner
    )
    files.write(directory, spec)
    files.write(directory, files.JobStatus(state="running"))
    alive = files.hold_alive(directory)
    try:
        yield job_id
    finally:
        os.close(alive)


def test_questions_that_wait_hold_no_thread(home: Path) -> None:
    """Those of four people held all threads for five minutes, and a fifth's capture waited."""
    people = [f"p{number}" for number in range(4)]

    async def ask(person: str, job: str, wait_seconds: float) -> str:
        with asking(Asker(person, ("look", "capture"), signed_in=True)):
            wish = {"job": job, "wait_seconds": wait_seconds}
            return await over_http._answered(capture_progress, wish)

    async def scene(ids: dict[str, str]) -> None:
        waits = [asyncio.create_task(ask(p, ids[p], 8)) for p in people for _ in range(16)]
        await asyncio.sleep(1)
        assert '"running"' in await asyncio.wait_for(ask("bob", ids["bob"], 0), 5)
        with pytest.raises(BadInput, match="16 questions of yours wait already"):
            await ask("p0", ids["p0"], 8)
        assert not any(task.done() for task in waits)
        assert all('"running"' in text for text in await asyncio.gather(*waits))
        assert '"running"' in await ask("p0", ids["p0"], 0.1)

    with ExitStack() as stack:
        asyncio.run(scene({p: stack.enter_context(under_way(home, p)) for p in (*people, "bob")}))


def test_anothers_capture_is_refused_before_anybody_waits(home: Path) -> None:
    async def ask(job: str) -> None:
        with asking(Asker("eve", ("look", "capture"), signed_in=True)):
            await over_http._answered(capture_progress, {"job": job, "wait_seconds": 60})

    with under_way(home, "ada") as job, pytest.raises(BadInput, match="There is no capture"):
        asyncio.run(asyncio.wait_for(ask(job), 10))


def test_what_waits_goes_on_once_it_has_ended_or_its_time_is_over() -> None:
    states = iter([True, True, False])

    async def scene() -> None:
        turns = Turns(1, 1, "test")
        await asyncio.wait_for(until_ended(turns, "eve", lambda: next(states)), 10)
        await asyncio.wait_for(until_ended(turns, "eve", lambda: True, 0.2), 10)

    asyncio.run(scene())
    assert next(states, None) is None


def test_what_waits_is_bounded_over_all_people() -> None:
    waiters = Waiters(2, 2)
    with ExitStack() as stack:
        stack.enter_context(waiters.one_more("eve"))
        stack.enter_context(waiters.one_more("ada"))
        with pytest.raises(QueueFull, match="2 questions wait already"):
            stack.enter_context(waiters.one_more("bob"))
    assert not waiters._n_waiting


def test_pushes_that_are_read_hold_no_thread(monkeypatch: pytest.MonkeyPatch) -> None:
    """40 of one person kept everybody else's waiting."""
    person = ContextVar[str]("person")
    ended: set[str] = set()

    async def taken(*_: object) -> int:
        return 1

    async def push(who: str) -> Response:
        person.set(who)
        request = SimpleNamespace(query_params={}, state=SimpleNamespace(refusal=lambda: None))
        return await inspect.unwrap(api_runs.push)(request, SimpleNamespace(person=who))

    def job(job_id: str) -> SimpleNamespace:
        return SimpleNamespace(is_live=job_id not in ended)

    monkeypatch.setattr(api_runs, "take_file", taken)
    monkeypatch.setattr(api_runs, "asker_of", lambda who: who)
    monkeypatch.setattr(api_runs.deeds, "start_recording_push", lambda *_: person.get())
    monkeypatch.setattr(api_runs.jobs, "job", job)
    monkeypatch.setattr(api_runs.jobs, "result", lambda *_: Pushed((), (), ()))

    async def scene() -> None:
        ended.add("bob")
        eves = [asyncio.create_task(push("eve")) for _ in range(48)]
        await asyncio.sleep(1)
        assert (await asyncio.wait_for(push("bob"), 5)).status_code == 200
        assert not any(task.done() for task in eves)
        ended.add("eve")
        assert {answer.status_code for answer in await asyncio.gather(*eves)} == {200}

    asyncio.run(scene())


def test_who_hangs_up_does_not_get_more_threads() -> None:
    is_over, running, most = threading.Event(), 0, 0

    def work() -> None:
        nonlocal running, most
        running += 1
        most = max(most, running)
        is_over.wait(30)
        running -= 1

    async def scene() -> None:
        turns = Turns(4, 1, "test")
        for _ in range(6):
            task = asyncio.create_task(turns.run("eve", work))
            await asyncio.sleep(0.02)
            task.cancel()
        try:
            await asyncio.wait_for(turns.run("bob", is_over.is_set), 10)
        finally:
            is_over.set()
        await asyncio.wait_for(turns.run("eve", is_over.is_set), 10)
        await asyncio.sleep(0.05)
        assert not turns._gates and not turns._n_asked

    asyncio.run(scene())
    assert most == 1


def test_an_error_gives_the_thread_back() -> None:
    async def scene() -> None:
        turns = Turns(2, 1, "test")
        for _ in range(3):
            with pytest.raises(ZeroDivisionError):
                await turns.run("eve", lambda: 1 // 0)

    asyncio.run(scene())

"""Nobody keeps all threads for himself."""

import asyncio
import threading

import pytest

from profiler_core.agents import over_http
from profiler_core.agents.tools import summary
from profiler_core.door.asker import Asker, asking
from profiler_core.door.turns import Turns


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

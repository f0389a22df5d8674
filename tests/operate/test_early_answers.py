"""A refusal before the body was read: it is sent at once, and ends when the request has ended."""

import asyncio

import pytest

from profiler_core.ui.early_answers import EarlyAnswers

START = {"type": "http.response.start", "status": 413, "headers": []}
PIECE = {"type": "http.request", "body": b"x", "more_body": True}
LAST = {"type": "http.request", "body": b"x", "more_body": False}


def run(app, *requests, method="PUT", most_s=5.0) -> list[tuple[str, bool | None]]:
    """(kind, whether more follows) of what is sent, and "read" for each piece that is taken."""
    events: list[tuple[str, bool | None]] = []
    waiting = list(requests)

    async def receive():
        if not waiting:
            await asyncio.sleep(3600)  # the other side says nothing more
        events.append(("read", None))
        return waiting.pop(0)

    async def send(message):
        events.append((message["type"], message.get("more_body")))

    scope = {"type": "http", "method": method}
    asyncio.run(EarlyAnswers(app, most_s=most_s)(scope, receive, send))
    return events


async def refuse(_scope, _receive, send):
    await send(START)
    await send({"type": "http.response.body", "body": b"no"})


async def read_all(_scope, receive, send):
    while (await receive()).get("more_body"):
        continue
    await refuse(_scope, receive, send)


@pytest.mark.parametrize("end", [LAST, {"type": "http.disconnect"}])
def test_what_still_comes_is_thrown_away_after_the_answer(end):
    assert run(refuse, PIECE, PIECE, end) == [
        ("http.response.start", None),
        ("http.response.body", True),
        *[("read", None)] * 3,
        ("http.response.body", False),
    ]


def test_who_sends_without_end_is_left():
    assert run(refuse, PIECE, most_s=0.05)[-1] == ("http.response.body", False)


def test_an_answer_after_the_whole_body_is_as_it_was():
    assert run(read_all, PIECE, LAST) == [
        *[("read", None)] * 2,
        ("http.response.start", None),
        ("http.response.body", None),
    ]


def test_a_request_without_a_body_waits_for_nothing():
    assert run(refuse, method="GET") == [
        ("http.response.start", None),
        ("http.response.body", None),
    ]

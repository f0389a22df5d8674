"""The tools for agents on a team's server: who asks is whose token it is; no path is followed.

What reads runs is answered by a process of its own (`answering.py`): a trace that is read here
would freeze every other session. Captures are jobs, which the door submits.
"""

from collections.abc import Callable, Mapping
from functools import partial
from typing import Any

from profiler_core.answers.record import Answer
from profiler_core.door import deeds
from profiler_core.door.asker import asker_now, current_asker
from profiler_core.door.turns import Turns
from profiler_core.door.waiting import Waiters, until_ended
from profiler_core.errors import BadInput, FusionscopeError
from profiler_core.store.shown_paths import texts_in, without_server_paths

_READING = Turns(4, 2, "an agent's question")
_CAPTURING = Turns(16, 4, "an agent's capture")
_WAITING = Waiters(128, 16)  # for a capture, an experiment or a patch


def http_application(*, allow_capture: bool) -> Any:
    """The ASGI application, as `serve.http_application`; importing what it needs takes a second."""
    from profiler_core.agents import serve

    return serve.http_application(allow_capture=allow_capture, apart=_answered)


async def _answered(tool: Callable[..., Answer], arguments: Mapping[str, Any]) -> str:
    from profiler_core.agents.experimenting import MEASURING, READING

    # The context says who asks, and by which token.
    asker = current_asker()
    person = asker.person if asker else ""
    try:
        if tool not in MEASURING:
            asked = _READING.run(person, partial(_still_allowed, _in_a_process, tool, arguments))
        elif tool in READING:
            asked = _waited_for(tool, arguments, READING[tool], person)
        else:
            asked = _CAPTURING.run(person, partial(_here, tool, arguments))
        return without_server_paths(await asked)
    except FusionscopeError as error:
        problem = without_server_paths(error.problem, tuple(texts_in(arguments)))
        raise BadInput(problem, remedy=without_server_paths(error.remedy)) from error


async def _waited_for(
    tool: Callable[..., Answer],
    arguments: Mapping[str, Any],
    is_live: Callable[[str], bool],
    person: str,
) -> str:
    """The answer once what is asked for has ended, or after so many seconds; no thread waits.

    Raises:
        FusionscopeError: it is none of this person's, or too many questions wait.
    """
    from profiler_core.agents.capturing import check_wait

    wait_seconds = arguments.get("wait_seconds", 0)
    check_wait(wait_seconds)
    named = {name: value for name, value in arguments.items() if name != "wait_seconds"}
    at_once = partial(_still_allowed, _here, tool, named)
    # It refuses what may not be seen, before all waiting.
    answer = await _CAPTURING.run(person, at_once)
    if not wait_seconds:
        return answer
    with _WAITING.one_more(person):
        under_way = partial(is_live, *named.values())
        await until_ended(_CAPTURING, person, under_way, wait_seconds)
    return await _CAPTURING.run(person, at_once)


def _still_allowed(
    answer: Callable[[Callable[..., Answer], Mapping[str, Any]], str],
    tool: Callable[..., Answer],
    arguments: Mapping[str, Any],
) -> str:
    """The answer, to whom it may be told once it is there: some wait minutes for it.

    Raises:
        Refused: the token, or its person's right, ended meanwhile.
    """
    text = answer(tool, arguments)
    asker_now()
    return text


def _here(tool: Callable[..., Answer], arguments: Mapping[str, Any]) -> str:
    from profiler_core.agents.answer import written

    return written(tool(**arguments))


def _in_a_process(tool: Callable[..., Answer], arguments: Mapping[str, Any]) -> str:
    return deeds.start_answering(asker_now(), tool.__name__, arguments).result(
        str,
        ended="The question could not be answered: the process was ended.",
        remedy="Ask again; a large trace needs free memory.",
    )

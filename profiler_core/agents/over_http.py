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
from profiler_core.errors import BadInput, FusionscopeError
from profiler_core.store.shown_paths import texts_in, without_server_paths

_READING = Turns(4, 2, "an agent's question")
_CAPTURING = Turns(32, 8, "an agent's capture")  # most of them wait


def http_application(*, allow_capture: bool) -> Any:
    """The ASGI application, as `serve.http_application`; importing what it needs takes a second."""
    from profiler_core.agents import serve

    return serve.http_application(allow_capture=allow_capture, apart=_answered)


async def _answered(tool: Callable[..., Answer], arguments: Mapping[str, Any]) -> str:
    from profiler_core.agents.experimenting import MEASURING, READING

    is_capturing = tool in MEASURING
    answer = _here if is_capturing else _in_a_process
    if not is_capturing or tool in READING:
        answer = partial(_still_allowed, answer)
    turns, asker = _CAPTURING if is_capturing else _READING, current_asker()
    # The context says who asks, and by which token.
    asked = turns.run(asker.person if asker else "", partial(answer, tool, arguments))
    try:
        return without_server_paths(await asked)
    except FusionscopeError as error:
        problem = without_server_paths(error.problem, tuple(texts_in(arguments)))
        raise BadInput(problem, remedy=without_server_paths(error.remedy)) from error


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

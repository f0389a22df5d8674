"""The tools for agents on a team's server: who asks is whose token it is; no path is followed.

What reads runs is answered by a process of its own (`answering.py`): a trace that is read here
would freeze every other session. Captures are jobs, which the door submits.
"""

import asyncio
import contextvars
from collections.abc import Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from typing import Any

from profiler_core.answers.record import Answer
from profiler_core.door import deeds
from profiler_core.door.asker import current_asker

_READING = ThreadPoolExecutor(4, thread_name_prefix="an agent's question")
_CAPTURING = ThreadPoolExecutor(32, thread_name_prefix="an agent's capture")  # most of them wait


def http_application(*, allow_capture: bool) -> Any:
    """The ASGI application, as `serve.http_application`; importing what it needs takes a second."""
    from profiler_core.agents import serve

    return serve.http_application(allow_capture=allow_capture, apart=_answered)


async def _answered(tool: Callable[..., Answer], arguments: Mapping[str, Any]) -> str:
    from profiler_core.agents.capturing import CAPTURING

    is_capturing = tool in CAPTURING
    answer = _here if is_capturing else _in_a_process
    # The context says who asks, and by which token.
    return await asyncio.get_running_loop().run_in_executor(
        _CAPTURING if is_capturing else _READING,
        contextvars.copy_context().run, answer, tool, arguments,
    )  # fmt: skip


def _here(tool: Callable[..., Answer], arguments: Mapping[str, Any]) -> str:
    from profiler_core.agents.answer import written

    return written(tool(**arguments))


def _in_a_process(tool: Callable[..., Answer], arguments: Mapping[str, Any]) -> str:
    return deeds.start_answering(current_asker(), tool.__name__, arguments).result(
        str,
        ended="The question could not be answered: the process was ended.",
        remedy="Ask again; a large trace needs free memory.",
    )

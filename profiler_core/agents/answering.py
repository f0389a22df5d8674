"""`python -m profiler_core.agents.answering`: one question of an agent over HTTP, in a process.

It reads a `Question` from its standard input, and speaks as `worker/protocol.py` says; the result
is the text of the tool's answer. Runs are named by their ids: whose agent it is may not read this
machine's files.
"""

import sys
from typing import Any

import msgspec

from profiler_core.agents.answer import written
from profiler_core.agents.runs import library_alone
from profiler_core.agents.tools import TOOLS
from profiler_core.typed import ready
from profiler_core.worker.protocol import Report, answer


class Question(msgspec.Struct, frozen=True):
    """Which tool, and its arguments."""

    tool: str
    arguments: dict[str, Any]


def _answer(_report: Report) -> str:
    question = msgspec.json.decode(sys.stdin.buffer.read(), type=ready(Question))
    tools = {tool.__name__: tool for tool in TOOLS}
    with library_alone():
        return written(tools[question.tool](**question.arguments))


if __name__ == "__main__":
    sys.exit(answer(_answer))

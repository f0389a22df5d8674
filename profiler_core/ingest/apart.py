"""Read something large in another process: parsing here would freeze a server by Python's lock.

The child reads JSON from its standard input and answers as `worker/protocol.py` says. It has parsed
what strangers wrote: its answer is decoded into the records that are expected and nothing else.
"""

import json
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, TypeVar

from profiler_core.errors import BadInput
from profiler_core.worker.process import DidNotRun
from profiler_core.worker.protocol import answer
from profiler_core.worker.worker import ask

# Starting a process takes 0.3 s of processor time; the logs of a run as large as this are read in
# 0.2 s, most of it graphs and generated code. Packed logs are 10 to 20 times larger inside.
LARGE_BYTES = 8 << 20
PACKED = 16

_T = TypeVar("_T")


def are_large(paths: Sequence[Path]) -> bool:
    """Is reading these files worth a process of its own?"""
    return sum(_size(path) for path in paths) >= LARGE_BYTES


def ask_child(module: str, words: dict[str, Any], kind: type[_T]) -> _T:
    """What `python -m module` reads.

    Args:
        module: calls `answer_parent`.
        words: what it is asked.
        kind: the record that it answers with.

    Raises:
        BadInput: a file cannot be read, or the process ended without an answer.
    """
    remedy = "Look into the server's log for the reason; the files may need more memory."
    try:
        return ask(
            module,
            request=json.dumps(words).encode(),
            kind=kind,
            ended="Reading the logs ended with status {status}.",
            remedy=remedy,
        )
    except DidNotRun as error:
        raise BadInput(f"Reading the logs could not start: {error}.", remedy=remedy) from error


def answer_parent(read: Callable[[dict[str, Any]], object]) -> int:
    """The child's side: read what standard input asks for; returns the exit status."""
    return answer(lambda _report: read(json.load(sys.stdin)))


def _size(path: Path) -> int:
    size = path.stat().st_size
    return size * PACKED if path.suffix in (".gz", ".zip") else size

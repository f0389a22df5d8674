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
from profiler_core.guarded_open import open_guarded
from profiler_core.ingest.limits import configured
from profiler_core.ingest.sniff import Packing, packing_of
from profiler_core.ingest.stream import Stream
from profiler_core.worker.process import DidNotRun
from profiler_core.worker.protocol import answer
from profiler_core.worker.worker import ask

# Starting a process takes 0.3 s of processor time; the logs of a run as large as this are read in
# 0.2 s, most of it graphs and generated code.
LARGE_BYTES = 8 << 20
_LOOK_AT_BYTES = 256 << 10

_T = TypeVar("_T")


def are_large(paths: Sequence[Path]) -> bool:
    """Is reading these files worth a process of its own? By what they unpack to.

    Real logs are 10 to 20 times larger inside, and what strangers packed up to a thousand times: so
    they are unpacked here, as far as that takes.
    """
    n_left = LARGE_BYTES
    for path in paths:
        n_left -= path.stat().st_size if n_left > 0 else 0
        if n_left > 0 and _is_packed(path):
            n_left -= _more_inside(path, n_left)
    return n_left <= 0


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


def _is_packed(path: Path) -> bool:
    try:
        with open_guarded(path) as file:
            return packing_of(file.read(8)) is not Packing.NONE
    except OSError:  # whoever reads it will say so
        return False


def _more_inside(path: Path, most: int) -> int:
    """By how many bytes a packed file grows when it is unpacked; at most `most` and a block."""
    n_more = -path.stat().st_size
    for block in Stream(path, configured(), block_bytes=_LOOK_AT_BYTES):
        n_more += len(block)
        if n_more >= most:
            break
    return max(0, n_more)

"""Read something large in another process: parsing here would freeze a server by Python's lock.

The parent writes JSON to the child's standard input. The child answers with what it read as
MessagePack, which the parent decodes into the records that it expects and into nothing else: the
child has parsed what strangers wrote, so nothing of its answer may run. Or it answers with JSON of
`problem` and `remedy`, and the exit status of bad input.
"""

import json
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, TypeVar

import msgspec

from profiler_core.errors import BadInput, FusionscopeError
from profiler_core.worker.process import run_module

# Starting a process takes half a second; this much is read in 50 ms. Packed logs are 10 to 20
# times larger inside.
LARGE_BYTES = 2 << 20
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
    done = run_module(module, asked=json.dumps(words).encode())
    if done.returncode == BadInput.exit_status:
        said = json.loads(done.stdout)
        raise BadInput(said["problem"], remedy=said["remedy"])
    if done.returncode != 0:
        raise BadInput(
            f"Reading the logs ended with status {done.returncode}.",
            remedy="Look into the server's log for the reason; the files may need more memory.",
        )
    try:
        return msgspec.msgpack.decode(done.stdout, type=kind, dec_hook=_from_plain)
    except msgspec.MsgspecError as error:
        raise BadInput(
            f"Reading the logs gave an answer of another kind: {error}.",
            remedy="Report it, with the files if you can: this is a fault of ours.",
        ) from error


def answer_parent(read: Callable[[dict[str, Any]], object]) -> int:
    """The child's side: read what standard input asks for; returns the exit status."""
    try:
        found = read(json.load(sys.stdin))
    except FusionscopeError as error:
        json.dump({"problem": error.problem, "remedy": error.remedy}, sys.stdout)
        return error.exit_status
    sys.stdout.buffer.write(_encoded(found))
    return 0


def _encoded(found: object) -> bytes:
    try:
        return msgspec.msgpack.encode(found, enc_hook=_to_plain)
    except UnicodeEncodeError:  # half of a surrogate pair: an escape of JSON can spell it
        return msgspec.msgpack.encode(_whole(msgspec.to_builtins(found, enc_hook=_to_plain)))


def _to_plain(value: object) -> str:
    if isinstance(value, Path):
        return str(value)
    raise NotImplementedError(f"{type(value).__name__} is no part of an answer")


def _from_plain(kind: type, value: object) -> object:
    if kind is Path:
        return Path(str(value))
    raise NotImplementedError(f"{kind.__name__} is no part of an answer")


def _whole(value: Any) -> Any:
    """The same with "?" for what no encoding can write."""
    if isinstance(value, str):
        return value.encode("utf-8", "replace").decode()
    if isinstance(value, dict):
        return {_whole(key): _whole(inner) for key, inner in value.items()}
    if isinstance(value, list | tuple):
        return [_whole(inner) for inner in value]
    return value


def _size(path: Path) -> int:
    size = path.stat().st_size
    return size * PACKED if path.suffix in (".gz", ".zip") else size

"""What a process of ours says to whoever started it, and the process's own side of it.

One JSON record a line on its standard output: any number of `Progress`, then one `Result` or one
`Failure`. What its libraries print goes to standard error, so that nothing comes between.
"""

import os
import signal
import sys
from collections.abc import Callable
from pathlib import Path
from types import FrameType
from typing import Any, TypeVar

import msgspec

from profiler_core.errors import BadInput, Cancelled, FusionscopeError, ServerFault
from profiler_core.typed import ready
from profiler_core.worker.unwritten import not_written

_TAIL_BYTES = 64_000  # holds the newest line of progress many times over
_T = TypeVar("_T")


class Progress(msgspec.Struct, frozen=True, tag_field="event", tag="progress", omit_defaults=True):
    """How far the work is. done, total: of what the module counts; None: not known yet."""

    done: int | None = None
    total: int | None = None
    stage: str = ""  # what it does now, where it does several things
    text: str = ""  # to be shown

    @property
    def share(self) -> float:
        """From 0 to 1; 0 where it is not known."""
        return min(1.0, (self.done or 0) / self.total) if self.total else 0.0


class Result(msgspec.Struct, frozen=True, tag_field="event", tag="result"):
    """What the work gave, as JSON of the record that the asker expects."""

    value: msgspec.Raw


class Failure(msgspec.Struct, frozen=True, tag_field="event", tag="failure", omit_defaults=True):
    """Why it gave nothing: the two parts of a FusionscopeError.

    is_servers: of one that is a ServerFault.
    """

    problem: str
    remedy: str
    is_servers: bool = False


Record = Progress | Result | Failure
Report = Callable[[Progress], None]


def answer(work: Callable[[Report], object], *, can_cancel: bool = False) -> int:
    """Do the work and tell the asker what came of it; returns the exit status.

    Args:
        work: gets what reports progress, and returns a record that JSON can hold.
        can_cancel: SIGTERM and SIGINT raise Cancelled in it, so that it can clean up; without,
            they end the process, which must then leave nothing half done by itself.
    """
    channel = _channel()
    if can_cancel:
        signal.signal(signal.SIGTERM, _stop)
        signal.signal(signal.SIGINT, _stop)
    try:
        # Records are whole lines or absent: the asker reads while they are written.
        value = work(lambda progress: _say(channel, progress))
        record, status = Result(msgspec.Raw(_encoded(value))), 0
    except (FusionscopeError, OSError) as error:
        told = not_written(error) if isinstance(error, OSError) else error
        _say(channel, Failure(told.problem, told.remedy, isinstance(told, ServerFault)))
        return told.exit_status
    _say(channel, record)
    return status


def last_record(output: int, *, only_near_end: bool = False) -> Record | None:
    """The last whole record of what a process wrote; None: there is none.

    Read by places: the process's own place to write at may be shared with this descriptor.

    Args:
        output: a descriptor of the file.
        only_near_end: leave an answer of many megabytes alone; it is then None.
    """
    end = os.fstat(output).st_size
    start = max(0, end - _TAIL_BYTES) if only_near_end else 0
    data = b""
    while len(data) < end - start:
        piece = os.pread(output, end - start - len(data), start + len(data))
        if not piece:
            break
        data += piece
    lines = data[: data.rfind(b"\n") + 1].splitlines()
    try:
        return msgspec.json.decode(lines[-1], type=ready(Record)) if lines else None
    except msgspec.MsgspecError:
        return None


def outcome(
    record: Record | None, exit_status: int, kind: type[_T], *, ended: BadInput, who: str
) -> _T:
    """What the work gave.

    Args:
        record: the last one of the process.
        exit_status: of the process.
        kind: the record that is expected; nothing else is made of what it says.
        ended: raised where it ended without a word.
        who: the process, for a fault of ours.

    Raises:
        BadInput: the work failed, with its own sentences; or it was ended.
        ServerFault: it failed, and not by what it was given; or its answer is of another version.
    """
    if isinstance(record, Failure):
        kind_of_error = ServerFault if record.is_servers else BadInput
        raise kind_of_error(record.problem, remedy=record.remedy)
    if not isinstance(record, Result) and exit_status != 0:
        raise ended
    value = record.value if isinstance(record, Result) else b""
    try:
        return msgspec.json.decode(value, type=ready(kind), dec_hook=_from_plain)
    except msgspec.MsgspecError as error:
        raise ServerFault(
            f"{who} gave an answer of another kind: {error}.",
            remedy="Report it, with the files if you can: this is a fault of ours.",
        ) from error


def _from_plain(kind: type, value: object) -> object:
    """For decoding a result: what JSON has no word for."""
    if kind is Path:
        return Path(str(value))
    raise NotImplementedError(f"{kind.__name__} is no part of an answer")


def _channel() -> int:
    """A descriptor for records alone; from now on what is printed goes to standard error."""
    sys.stdout.flush()
    channel = os.dup(1)
    os.dup2(2, 1)
    return channel


def _say(channel: int, record: Record) -> None:
    data = memoryview(msgspec.json.encode(record) + b"\n")
    while data:
        data = data[os.write(channel, data) :]


def _stop(_signal: int, _frame: FrameType | None) -> None:
    raise Cancelled("The work was stopped.", remedy="Open it again.")


def _encoded(value: object) -> bytes:
    try:
        return msgspec.json.encode(value, enc_hook=_to_plain)
    except UnicodeEncodeError:  # half of a surrogate pair: an escape of JSON can spell it
        return msgspec.json.encode(_whole(msgspec.to_builtins(value, enc_hook=_to_plain)))


def _to_plain(value: object) -> str:
    if isinstance(value, Path):
        return str(value)
    raise NotImplementedError(f"{type(value).__name__} is no part of an answer")


def _whole(value: Any) -> Any:
    """The same with "?" for what no encoding can write."""
    if isinstance(value, str):
        return value.encode("utf-8", "replace").decode()
    if isinstance(value, dict):
        return {_whole(key): _whole(inner) for key, inner in value.items()}
    if isinstance(value, list | tuple):
        return [_whole(inner) for inner in value]
    return value

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
from typing import Any

import msgspec

from profiler_core.errors import Cancelled, FusionscopeError


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


class Failure(msgspec.Struct, frozen=True, tag_field="event", tag="failure"):
    """Why it gave nothing: the two parts of a FusionscopeError."""

    problem: str
    remedy: str


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
    except FusionscopeError as error:
        _say(channel, Failure(error.problem, error.remedy))
        return error.exit_status
    _say(channel, record)
    return status


def from_plain(kind: type, value: object) -> object:
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

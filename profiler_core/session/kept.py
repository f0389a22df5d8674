"""Answers that outlive the process: records in the cache folder of a trace's columns.

What is computed of a run or a pair is small beside its traces and takes seconds of theirs: the next
server, command or agent finds it there. It goes when the columns go, so that one limit holds for
both. A file's name is a digest of the question, of the versions of the files behind the answer, and
of the code that computes it: what was changed is not found any more.
"""

import logging
import zlib
from collections.abc import Callable, Hashable
from functools import cache
from hashlib import blake2b
from pathlib import Path
from typing import TypeVar, get_origin

import msgspec
import numpy as np

import profiler_core
from profiler_core.errors import BadInput
from profiler_core.ingest.open import cache_folder
from profiler_core.ranks.job_cache import write
from profiler_core.session.cache import Cache
from profiler_core.typed import ready

T = TypeVar("T")
Made = TypeVar("Made")

# The trace beside whose columns the answer lies (None: nowhere), the version of all files that it
# rests on, and what was asked.
Asked = tuple[Path | None, bytes, Hashable]

_FOLDER = "answers"
_MOST_FILES = 32  # of one trace: of other candidates beside it, and of earlier states
_CODE = ("analysis", "capture", "ingest", "model", "ranks", "session")
_CHECKSUM_BYTES = 4

_log = logging.getLogger(__name__)  # shown with --verbose


class _Array(msgspec.Struct, frozen=True, array_like=True):
    dtype: str
    shape: tuple[int, ...]
    data: bytes


def lasting(
    memory: Cache,
    asked: Asked,
    kind: type[T],
    make: Callable[[], Made],
    may_be_kept: Callable[[], bool],
) -> T | Made:
    """An answer that any process has kept, else the one that is made here, kept for others.

    Args:
        memory: of this process.
        asked: what, of which files.
        kind: of the answer, a record; None is not kept.
        make: computes it; what it raises, this raises.
        may_be_kept: asked when it is made; False where it was made without a file that another
            process may be able to read, say.
    """
    kept = _known(memory, asked, kind)
    if kept is not None:
        return kept
    answer = make()
    if answer is None or not may_be_kept():
        return answer
    # As others will find it: a whole number of a field for fractions comes back as a fraction.
    again: T | Made = memory.get(("keeps", *asked), lambda: _keep(asked, answer, kind))
    return again


def is_kept(memory: Cache, asked: Asked, kind: type[T]) -> bool:
    """Had any process kept the answer when this one looked first?"""
    return _known(memory, asked, kind) is not None


def _known(memory: Cache, asked: Asked, kind: type[T]) -> T | None:
    return memory.get(("kept", *asked), lambda: load(asked, kind))


def load(asked: Asked, kind: type[T]) -> T | None:
    """The answer as some process has kept it by now; None: nobody has, or it is damaged."""
    path = _path(asked)
    try:
        data = path.read_bytes() if path is not None else b""
    except OSError:
        return None
    return unpacked(data, kind)


def _keep(asked: Asked, answer: Made, kind: type[T]) -> T | Made:
    """The answer as it was kept; where it cannot be, as it is."""
    path = _path(asked)
    if path is None or not path.parent.parent.is_dir():
        return answer  # no columns lie there: nobody would remove it
    try:
        data = packed(answer)
        write(path, data)
        drop_oldest(path.parent, _MOST_FILES)
    except (OSError, msgspec.MsgspecError, ArithmeticError, TypeError, ValueError) as error:
        _log.info("%s of %s is not kept: %s", asked[2], asked[0], error)
        return answer
    again = unpacked(data, kind)
    return answer if again is None else again


def packed(answer: object) -> bytes:
    """The record as a file holds it, with a checksum.

    Raises:
        TypeError, ValueError, OverflowError, msgspec.MsgspecError: a part of it cannot be kept.
    """
    content = msgspec.msgpack.encode(answer, enc_hook=_to_plain)
    return _checksum(content) + content


def unpacked(data: bytes, kind: type[T]) -> T | None:
    """The record in the content of a file; None: it is damaged, or of another kind."""
    checksum, content = data[:_CHECKSUM_BYTES], data[_CHECKSUM_BYTES:]
    if not content or checksum != _checksum(content):
        return None
    try:
        return msgspec.msgpack.decode(content, type=ready(kind), dec_hook=_from_plain)
    except (msgspec.MsgspecError, ValueError, TypeError):
        return None


def _path(asked: Asked) -> Path | None:
    trace, version, question = asked
    try:
        folder = cache_folder(trace) if trace is not None else None
    except BadInput:  # it is gone, or cannot be read
        return None
    if folder is None:
        return None
    key = b"\0".join([code_version(), version, repr(question).encode()])
    return folder / _FOLDER / f"{blake2b(key, digest_size=16).hexdigest()}.msgpack"


@cache
def code_version() -> bytes:
    """Of the sources that compute answers: an answer of other rules is not found."""
    package = Path(profiler_core.__file__).parent
    digest = blake2b(digest_size=16)
    shared = sorted(package.glob("*.py"))
    stages = [file for stage in _CODE for file in sorted((package / stage).rglob("*.py"))]
    for file in (*shared, *stages):
        digest.update(file.read_bytes())
    return digest.digest()


def _checksum(content: bytes) -> bytes:
    return zlib.crc32(content).to_bytes(_CHECKSUM_BYTES, "big")


def drop_oldest(folder: Path, most_files: int) -> None:
    """Leave the newest of what was kept in a folder."""
    files = sorted(folder.glob("*.msgpack"), key=lambda file: file.stat().st_mtime)
    for file in files[:-most_files]:
        file.unlink(missing_ok=True)


def _to_plain(value: object) -> object:
    if isinstance(value, Path):
        return str(value)
    if isinstance(value, np.ndarray):
        return _Array(value.dtype.str, value.shape, value.tobytes())
    raise TypeError(f"{type(value).__name__} is no part of an answer that is kept")


def _from_plain(kind: type, value: object) -> object:
    if get_origin(kind) is np.ndarray:
        array = msgspec.convert(value, ready(_Array))
        return np.frombuffer(array.data, np.dtype(array.dtype)).reshape(array.shape)
    if kind is Path:
        return Path(str(value))
    raise TypeError(f"{kind} is no part of an answer that is kept")

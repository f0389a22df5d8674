"""What a file is, told by its content; its name is never asked.

Only its first block is looked at, unpacked where it is packed. The kinds are `ingest/formats/`.
"""

from functools import lru_cache
from pathlib import Path

from profiler_core.errors import BadInput, NotARun
from profiler_core.guarded_open import open_guarded
from profiler_core.ingest import formats
from profiler_core.ingest.file_kind import FileKind, RankHeader, Role, TraceFormat
from profiler_core.ingest.limits import configured
from profiler_core.ingest.sniff import PACKED_ENDINGS
from profiler_core.ingest.stream import Stream

_LOOK_AT_BYTES = 256 << 10


def kind_of(path: Path) -> FileKind | None:
    """The kind of the file; None if no kind matches.

    Raises:
        BadInput: it cannot be unpacked.
        OSError: it cannot be read.
    """
    with open_guarded(path) as file:
        archive = formats.archive_with_head(file.read(8))
    return archive or formats.kind_with_head(unpacked_head(path))


def is_archive(path: Path) -> bool:
    """True for an archive of several files; its first bytes tell, nothing is unpacked.

    Raises:
        OSError: it cannot be read.
    """
    with open_guarded(path) as file:
        return formats.archive_with_head(file.read(8)) is not None


def unpacked_head(path: Path) -> bytes:
    """The first unpacked bytes of a file, or of the trace in an archive; none of an empty one.

    Raises:
        BadInput: it cannot be unpacked, or is an archive without exactly one trace.
        OSError: it cannot be read.
    """
    stream = Stream(path, configured(), block_bytes=_LOOK_AT_BYTES)
    head = b""
    for block in stream:
        head += block
        if len(head) >= _LOOK_AT_BYTES:
            break
    if not head and stream.damage:
        raise BadInput(
            f"{path.name} cannot be unpacked: {stream.damage}.", remedy="Pass the file again."
        )
    return head[:_LOOK_AT_BYTES]


def kind_of_trace(path: Path) -> TraceFormat | None:
    """The format that reads the file as a trace; None if no format matches.

    Of an archive it is that of the trace inside. What cannot be unpacked is recognised by nobody.
    """
    kind = cached_kind(path)
    return kind if isinstance(kind, TraceFormat) else None


def cached_kind(path: Path) -> FileKind | None:
    """The kind of a file, or of the trace in an archive, told once for each state of the file.

    None too where it cannot be unpacked or opened: whoever reads it says what is wrong with it.
    """
    try:
        status = path.stat()
        return _looked_at(path, status.st_mtime_ns, status.st_size)[0]
    except (BadInput, OSError):
        return None


def rank_header(path: Path) -> RankHeader:
    """Rank and world size in the head of a trace, read once for each state of the file.

    None of either where it is no trace, or its format does not tell them there.
    """
    try:
        status = path.stat()
        return _looked_at(path, status.st_mtime_ns, status.st_size)[1]
    except (BadInput, OSError):
        return RankHeader()  # whoever reads the trace says what is wrong with it


def is_empty(path: Path) -> bool:
    """True where nothing but white space is in the file, or was packed into it."""
    try:
        if is_archive(path):
            return False
        head = unpacked_head(path)
    except (BadInput, OSError):  # damaged, which is another matter
        return False
    return len(head) < _LOOK_AT_BYTES and not head.strip()


# mtime_ns and size only retire the entry of a changed file.
@lru_cache(maxsize=32_768)
def _looked_at(path: Path, mtime_ns: int, size: int) -> tuple[FileKind | None, RankHeader]:
    """What one look at a file's head tells."""
    del mtime_ns, size
    head = unpacked_head(path)
    kind = formats.kind_with_head(head)
    return kind, kind.rank_header(head) if isinstance(kind, TraceFormat) else RankHeader()


def forget() -> None:
    """Look anew at every file, and at which kinds there are."""
    formats.forget()
    _looked_at.cache_clear()


def accepted_sentence() -> str:
    """The sentence that lists what may be opened and uploaded."""
    *most, last = PACKED_ENDINGS
    return (
        f"{', '.join(formats.accepted())}; packed or not ({', '.join(most)} or {last}); "
        "run directories or a .zip of them. The file type is determined by the content."
    )


def not_read(name: str, kind: FileKind) -> NotARun:
    """The error of a file that is known, and that only its own tool reads."""
    assert kind.role is Role.NOT_READ  # noqa: S101 - the callers ask
    return NotARun(f"{name} is {kind.description}.", remedy=kind.remedy)

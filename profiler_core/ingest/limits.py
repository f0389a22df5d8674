"""How much a file may ask for before reading it is refused; uploads are untrusted."""

import os
from dataclasses import dataclass

_MIB = 1 << 20


@dataclass(frozen=True)
class Limits:
    """Caps on what one file may unpack to. Bytes, counts and ratios; all inclusive."""

    # 64 GiB of JSON are some 200 million events: more than any tool of this kind can show.
    max_uncompressed_bytes: int = 64 << 30
    # Real traces shrink 8 to 30 times. Far beyond that, and large: a decompression bomb.
    max_ratio: int = 400
    ratio_counts_from_bytes: int = 256 * _MIB
    # The longest single event or metadata block that is held in memory at once.
    max_piece_bytes: int = 64 * _MIB
    # Members of an archive, and what all of them may unpack to.
    max_archive_members: int = 10_000
    max_archive_bytes: int = 64 << 30


def configured() -> Limits:
    """The limits of this process: FUSIONSCOPE_MAX_TRACE_BYTES caps what one file unpacks to."""
    text = os.environ.get("FUSIONSCOPE_MAX_TRACE_BYTES", "")
    if not text.isdecimal():
        return Limits()
    return Limits(max_uncompressed_bytes=int(text), max_archive_bytes=int(text))

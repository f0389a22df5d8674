"""What a file is, told by its first bytes and never by its name."""

from enum import Enum

# Endings of names; what the packing is, the first bytes tell.
PACKED_ENDINGS = (".gz", ".zst", ".zip")
STORED_PACKED = (".gz", "", ".zst")  # in a run directory: packed first, as a capture writes it


class Packing(Enum):
    """How the bytes of a file are packed."""

    NONE = "none"
    GZIP = "gzip"
    ZSTD = "zstd"
    ZIP = "zip"


def packing_of(head: bytes) -> Packing:
    """The packing of a file that starts with `head` (at least 4 bytes of it)."""
    if head.startswith(b"\x1f\x8b"):
        return Packing.GZIP
    # A zstd frame, or a skippable frame before one (RFC 8878, 3.1).
    if head.startswith(b"\x28\xb5\x2f\xfd") or (head[1:4] == b"\x2a\x4d\x18" and head[0] >> 4 == 5):
        return Packing.ZSTD
    # A local file, an empty archive, or the first part of a spanned one.
    if head[:4] in (b"PK\x03\x04", b"PK\x05\x06", b"PK\x07\x08"):
        return Packing.ZIP
    return Packing.NONE


def first_line_has(head: bytes, *keys: bytes) -> bool:
    """Is the first line that is not empty a JSON object with these quoted keys? For .jsonl."""
    first = head.lstrip().split(b"\n", 1)[0]
    return first.startswith(b"{") and all(key in first for key in keys)

"""How much an SQLite file may ask for; an upload is hostile until it is read (docs/deploy.md)."""

from dataclasses import dataclass

_MIB = 1 << 20


@dataclass(frozen=True)
class DatabaseLimits:
    """Caps on reading one file. Bytes, seconds and characters; all inclusive."""

    # One value. The export keeps what the program printed as one text, so it must be generous.
    max_value_bytes: int = 256 * _MIB
    # What is kept of a text: kernels' names with all their template arguments end far below.
    max_text_characters: int = 16_384
    # SQLite's own memory; scanning a table needs a page cache of 2 MiB.
    max_heap_bytes: int = 1024 * _MIB
    # Reading takes some 6 s of CPU a million rows; a file that needs far longer is made to.
    min_seconds: float = 600.0
    bytes_per_second: int = 1_000_000
    # A row takes more bytes than this; a tree whose pages are linked twice repeats rows for ever.
    min_row_bytes: int = 4

    def seconds_for(self, n_bytes: int) -> float:
        """How long reading a file of this size may take."""
        return self.min_seconds + n_bytes / self.bytes_per_second

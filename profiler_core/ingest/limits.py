"""How much a file may ask for before reading it is refused; uploads are untrusted."""

import os
import time
from dataclasses import dataclass, field

from profiler_core.errors import BadInput
from profiler_core.settings import settings

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
    # A gigabyte of a Kineto trace is some 5 million events; a core reads 100 000 to 400 000 of
    # them a second. Settings `largest_ingest_events` and `longest_ingest_seconds`.
    max_events: int = 50_000_000
    max_seconds: float = 1800.0


def configured() -> Limits:
    """The limits of this process: of settings.toml, and FUSIONSCOPE_MAX_TRACE_BYTES.

    Raises:
        BadInput: the settings cannot be used.
    """
    decided = settings()
    text = os.environ.get("FUSIONSCOPE_MAX_TRACE_BYTES", "")
    bytes_of_file = int(text) if text.isdecimal() and len(text) < 20 else Limits.max_archive_bytes
    return Limits(
        max_uncompressed_bytes=bytes_of_file,
        max_archive_bytes=bytes_of_file,
        max_events=decided.largest_ingest_events,
        max_seconds=decided.longest_ingest_seconds,
    )


@dataclass
class Meter:
    """What the reading of one file has taken so far. The clock begins when it is made."""

    name: str  # of the file, in errors
    limits: Limits
    noun: str = "events"  # what is counted
    n: int = 0
    _ends_at: float = field(init=False)

    def __post_init__(self) -> None:
        self._ends_at = time.monotonic() + self.limits.max_seconds

    def count(self, n: int) -> None:
        """So many more were read.

        Raises:
            BadInput: these are too many, or it takes too long.
        """
        self.n += n
        if self.n > self.limits.max_events:
            raise BadInput(
                f"{self.name} holds more than {self.limits.max_events:,} {self.noun}, which is "
                f"the limit for one file; reading stopped after {self.n:,}.",
                remedy="Record fewer steps, or set largest_ingest_events in settings.toml.",
            )
        self.look()

    def look(self) -> None:
        """At the clock.

        Raises:
            BadInput: it takes too long.
        """
        if time.monotonic() > self._ends_at:
            raise BadInput(
                f"Reading {self.name} takes longer than {self.limits.max_seconds:g} s, which is "
                f"the limit for one file; reading stopped after {self.n:,} {self.noun}.",
                remedy="Record fewer steps, or set longest_ingest_seconds in settings.toml.",
            )

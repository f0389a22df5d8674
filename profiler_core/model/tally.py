"""What a reader read, what it skipped and what it mended, each with its reason and count."""

from collections.abc import Mapping
from dataclasses import dataclass, field

# Repairs that mean: an unknown part of the file is missing.
CUT_SHORT = "file cut short, its last event is incomplete"
CUT_BETWEEN = "file cut short between two events"
ENDS_EARLY = "the compressed data ends early"
DAMAGED = "the compressed data is damaged"
DAMAGED_OR_ENDS_EARLY = "the compressed data is damaged or ends early"
ARCHIVE_DAMAGED = "the archive is damaged"
_CUTS = frozenset(
    {CUT_SHORT, CUT_BETWEEN, ENDS_EARLY, DAMAGED, DAMAGED_OR_ENDS_EARLY, ARCHIVE_DAMAGED}
)


@dataclass(frozen=True)
class Tally:
    """Counts of one file. n_events == n_read + sum(skipped.values())."""

    n_events: int = 0
    skipped: Mapping[str, int] = field(default_factory=dict)  # reason -> number of events
    repairs: Mapping[str, int] = field(default_factory=dict)  # what was mended -> how often
    # Keys of events that nothing reads, as a newer torch may write them -> how often.
    unread_keys: Mapping[str, int] = field(default_factory=dict)

    @property
    def n_read(self) -> int:
        """Events that went into the model."""
        return self.n_events - self.n_skipped

    @property
    def is_cut(self) -> bool:
        """Does an unknown part of the file's events miss, as a rule its end?"""
        return not _CUTS.isdisjoint(self.repairs)

    @property
    def n_skipped(self) -> int:
        """Events that could not be used."""
        return sum(self.skipped.values())

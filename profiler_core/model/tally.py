"""What a reader read, what it skipped and what it mended, each with its reason and count."""

from collections.abc import Mapping
from dataclasses import dataclass, field


@dataclass(frozen=True)
class Tally:
    """Counts of one file. n_events == n_read + sum(skipped.values())."""

    n_events: int = 0
    skipped: Mapping[str, int] = field(default_factory=dict)  # reason -> number of events
    repairs: Mapping[str, int] = field(default_factory=dict)  # what was mended -> how often

    @property
    def n_read(self) -> int:
        """Events that went into the model."""
        return self.n_events - self.n_skipped

    @property
    def n_skipped(self) -> int:
        """Events that could not be used."""
        return sum(self.skipped.values())

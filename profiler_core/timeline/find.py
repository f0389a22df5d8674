"""Events by name: how many there are, and the next one before or after a moment.

Names are few beside events, so the words are looked for in the names, and the events by number:
5 ms at 5 million events, and nothing for the hit after that.
"""

from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from profiler_core.timeline.index import Index

_LONGEST_WORDS = 200  # characters


@dataclass(frozen=True)
class Hit:
    """One event whose name holds every word."""

    table: int  # place in `TABLES`
    row: int
    lane: int
    ts_ns: int
    dur_ns: int
    name: str
    category: int


@dataclass(frozen=True)
class Hits:
    """What holds the words: the nearest in one direction, and how many there are."""

    hit: Hit | None  # None: there is none in this direction
    n: int  # in the whole trace
    n_before: int  # of these, how many come before the hit, or would


def find(index: Index, words: str, at_ns: int, *, forward: bool) -> Hits:
    """The first event that starts after a moment, or the last that starts before it.

    Args:
        index: of the trace.
        words: each must occur in the name, in any case; none finds nothing.
        at_ns: on the trace's axis; one that starts just then is not meant.
        forward: after it.
    """
    places = _places(index, tuple(words[:_LONGEST_WORDS].lower().split()))
    starts = index.ts[places]
    at = int(np.searchsorted(starts, at_ns, side="right" if forward else "left"))
    number = at if forward else at - 1
    if not 0 <= number < places.size:
        return Hits(None, int(places.size), max(0, number))
    position = int(places[number])
    hit = Hit(
        table=int(index.table[position]),
        row=int(index.row[position]),
        lane=index.lane_of(position),
        ts_ns=int(index.ts[position]),
        dur_ns=int(index.dur[position]),
        name=index.name_text(int(index.name[position])),
        category=int(index.category[position]),
    )
    return Hits(hit, int(places.size), number)


@lru_cache(maxsize=4)  # a word that most names hold takes 40 MB at 5 million events
def _places(index: Index, words: tuple[str, ...]) -> NDArray[np.int64]:
    """Indexes of the event columns, by start."""
    if not words:
        return np.zeros(0, np.int64)
    n_names = index.name_start.size - 1
    meant = np.zeros(max(1, n_names), np.bool_)
    for number in range(n_names):
        text = index.name_text(number).lower()
        meant[number] = all(word in text for word in words)
    places = np.flatnonzero(meant[index.name])
    return places[np.argsort(index.ts[places], kind="stable")]

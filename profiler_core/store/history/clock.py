"""How old something is by a clock that may be wrong: a jump of it makes nothing old.

The history saw a moment when a run was recorded or a deed noted. A clock that is set ahead shows
as a long time in which it saw nothing; such a silence does not count towards an age. Quiet weeks
of a team look the same, and then files are kept longer than the rule says, never shorter.
"""

from bisect import bisect_left
from collections.abc import Iterable, Mapping, Sequence
from datetime import UTC, datetime, timedelta
from itertools import pairwise

_LONGEST_QUIET = timedelta(weeks=6)  # longer than holidays; shorter than a mistaken year
_MAY_BE_AHEAD = timedelta(days=1)  # a machine's clock in another time zone
_LONGEST_STEP = timedelta(days=7)  # that counts between two moments of the audit
_FIRST_DATE = datetime(2017, 1, 1, tzinfo=UTC)  # PyTorch's first year; a dead battery says 1970


class Clock:
    """The moment from which ages are counted, and the silences before it.

    Args:
        now: what the machine's clock says.
        seen: ISO 8601 moments or dates at which the history saw something; later ones than `now`
            were seen by a clock that was ahead, and do not count.
    """

    def __init__(self, now: datetime, seen: Iterable[str]) -> None:
        self._now = now
        moments = {_moment(text) for text in seen}
        self._n_ahead = sum(moment > now + _MAY_BE_AHEAD for moment in moments)
        past = sorted({moment for moment in moments if moment <= now} | {now})
        self._silences = [
            (start, end) for start, end in pairwise(past) if end - start > _LONGEST_QUIET
        ]

    def is_plausible(self, text: str) -> bool:
        """Can something have been made at this moment: not in the future, not before PyTorch?"""
        return _FIRST_DATE <= _moment(text) <= self._now + _MAY_BE_AHEAD

    def age(self, text: str) -> timedelta:
        """The time since this moment without the silences after it; negative in the future."""
        since = _moment(text)
        silent = sum(
            (end - max(start, since) for start, end in self._silences if end > since), timedelta()
        )
        return self._now - since - silent

    def notes(self, *, n_undated: int, n_set_back: int) -> tuple[str, ...]:
        """Sentences on what a wrong clock keeps.

        Args:
            n_undated: captures that have no plausible date.
            n_set_back: captures and uploads that were recorded while the clock was set back.
        """
        notes = [
            f"From {start:%Y-%m-%d} to {end:%Y-%m-%d} nothing was recorded: these "
            f"{(end - start).days} days count towards no age, since the clock may have jumped."
            for start, end in self._silences
        ]
        if n_undated:
            verb = "capture is" if n_undated == 1 else "captures are"
            notes.append(
                f"{n_undated} {verb} dated in the future or before 2017: such captures stay, and "
                "take no other's place."
            )
        if n_set_back:
            was = "capture or upload was" if n_set_back == 1 else "captures and uploads were"
            notes.append(
                f"{n_set_back} {was} recorded while the clock was set back: such stay, and take "
                "no other's place."
            )
        if self._n_ahead:
            notes.append("The history saw moments that are still to come: is the clock right?")
        return tuple(notes)


def noted_set_back(
    now: datetime, noted: Mapping[str, tuple[int, str]], days: Sequence[tuple[int, str]]
) -> frozenset[str]:
    """What was noted while the clock was behind what it had shown before: its dates are too old.

    Args:
        now: what the clock says; days that are still to come were shown by one that was ahead.
        noted: name -> number and moment of its entry in the audit.
        days: of the audit, in the order in which they appeared, each with its first entry.
    """
    numbers: list[int] = []
    latest: list[datetime] = []
    for number, day in days:
        moment = _moment(day)
        if moment <= now + _MAY_BE_AHEAD:
            numbers.append(number)
            latest.append(max(moment, latest[-1]) if latest else moment)

    def is_set_back(number: int, text: str) -> bool:
        n_before = bisect_left(numbers, number)
        return n_before > 0 and latest[n_before - 1] - _moment(text) > _MAY_BE_AHEAD

    return frozenset(name for name, entry in noted.items() if is_set_back(*entry))


def elapsed(moments: Sequence[str]) -> timedelta:
    """The time that passed while these moments were noted, one after the other.

    No step back counts, and of none more than a week: whichever way a clock is set in between,
    nothing becomes old by it. What nobody used for weeks becomes old later.

    Args:
        moments: ISO 8601 moments or dates in the order in which they were noted, not by time.
    """
    steps = (_moment(after) - _moment(before) for before, after in pairwise(moments))
    return sum((min(max(step, timedelta()), _LONGEST_STEP) for step in steps), timedelta())


def _moment(text: str) -> datetime:
    try:
        moment = datetime.fromisoformat(text)
    except ValueError:  # a year below 1000, which strftime writes with three digits
        return datetime.min.replace(tzinfo=UTC)
    return moment if moment.tzinfo else moment.replace(tzinfo=UTC)

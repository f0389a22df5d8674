"""Moments as people read them."""

from datetime import UTC, datetime


def day(iso: str) -> str:
    """`2026-11-21T00:00:00Z` -> "21 Nov 2026"; what is no date comes back as it is."""
    moment = _parse(iso)
    return iso[:40] if moment is None else f"{moment.day} {moment:%b %Y}"


def minute(iso: str) -> str:
    """`2026-11-21T09:30:00Z` -> "21 Nov 2026, 09:30 UTC"; as `day` for what is no date."""
    moment = _parse(iso)
    return iso[:40] if moment is None else f"{moment.day} {moment:%b %Y, %H:%M} UTC"


def second(iso: str) -> str:
    """`2026-11-21T09:30:05Z` -> "21 Nov 2026, 09:30:05 UTC"; as `day` for what is no date."""
    moment = _parse(iso)
    return iso[:40] if moment is None else f"{moment.day} {moment:%b %Y, %H:%M:%S} UTC"


def short(iso: str, *, now: datetime | None = None) -> str:
    """For narrow places: "21 Nov, 09:30" within this year (UTC), else as `day`."""
    moment = _parse(iso)
    if moment is None or moment.year != (now or datetime.now(UTC)).year:
        return day(iso)
    return f"{moment.day} {moment:%b, %H:%M}"


def _parse(iso: str) -> datetime | None:
    try:
        moment = datetime.fromisoformat(iso)
    except ValueError:
        return None
    return moment.astimezone(UTC) if moment.tzinfo else moment

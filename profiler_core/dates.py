"""Moments as people read them."""

from datetime import UTC, datetime


def day(iso: str) -> str:
    """`2026-11-21T00:00:00Z` -> "21 Nov 2026"; what is no date comes back as it is."""
    moment = moment_of(iso)
    return iso[:40] if moment is None else f"{moment.day} {moment:%b %Y}"


def minute(iso: str) -> str:
    """`2026-11-21T09:30:00Z` -> "21 Nov 2026, 09:30 UTC"; as `day` for what is no date."""
    moment = moment_of(iso)
    return iso[:40] if moment is None else f"{moment.day} {moment:%b %Y, %H:%M} UTC"


def second(iso: str) -> str:
    """`2026-11-21T09:30:05Z` -> "21 Nov 2026, 09:30:05 UTC"; as `day` for what is no date."""
    moment = moment_of(iso)
    return iso[:40] if moment is None else f"{moment.day} {moment:%b %Y, %H:%M:%S} UTC"


def short(iso: str, *, now: datetime | None = None) -> str:
    """For narrow places: "21 Nov, 09:30" within this year (UTC), else as `day`."""
    moment = moment_of(iso)
    if moment is None or moment.year != (now or datetime.now(UTC)).year:
        return day(iso)
    return f"{moment.day} {moment:%b, %H:%M}"


def moment_of(iso: str) -> datetime | None:
    """As UTC, where a zone is said; None for what is no date, or none in UTC."""
    try:
        moment = datetime.fromisoformat(iso)
        return moment.astimezone(UTC) if moment.tzinfo else moment
    except (ValueError, OverflowError):
        return None

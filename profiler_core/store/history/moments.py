"""Moments as the history keeps them, and whose they are."""

from datetime import UTC, datetime

from profiler_core.person import system_user as person

__all__ = ["now", "person", "utc"]


def now() -> str:
    """This moment, as `utc` writes it."""
    return _written(datetime.now(UTC))


def utc(iso: str | None, otherwise: str) -> str:
    """ISO 8601 in any time zone as UTC with a Z and whole seconds; `otherwise` for what is none.

    Texts of this form sort by time.
    """
    try:
        moment = datetime.fromisoformat(iso or "")
        return _written(moment if moment.tzinfo else moment.replace(tzinfo=UTC))
    except (ValueError, OverflowError):
        return otherwise


def _written(moment: datetime) -> str:
    # Not by strftime, which writes the year 500 with three digits.
    return moment.astimezone(UTC).isoformat(timespec="seconds").replace("+00:00", "Z")

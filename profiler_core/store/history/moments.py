"""Moments as the history keeps them, and whose they are."""

import getpass
import os
from datetime import UTC, datetime

_PERSON = "FUSIONSCOPE_PERSON"
_LONGEST = 200


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


def person() -> str:
    """Who does this: FUSIONSCOPE_PERSON (for CI, say), else the user of the system."""
    named = os.environ.get(_PERSON, "").strip()
    try:
        return (named or getpass.getuser())[:_LONGEST]
    except (OSError, KeyError):  # a container's user may have no name
        return ""


def _written(moment: datetime) -> str:
    return moment.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")

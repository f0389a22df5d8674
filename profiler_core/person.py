"""The name of the user on a machine without sign-in."""

import getpass
import os

_VARIABLE = "FUSIONSCOPE_PERSON"
_LONGEST = 200


def system_user() -> str:
    """FUSIONSCOPE_PERSON (for CI, say), else the system's user; empty without a name."""
    name = os.environ.get(_VARIABLE, "").strip()
    try:
        return (name or getpass.getuser())[:_LONGEST]
    except (OSError, KeyError):  # a container's user may have no name
        return ""

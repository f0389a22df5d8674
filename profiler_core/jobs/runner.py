"""The user of the system that captures run as, where settings.toml names one."""

import os
import pwd
import shutil

from profiler_core.errors import BadInput


def why_not_as(user: str) -> str | None:
    """Why this process cannot start one as that user; None: it can, as far as one can see."""
    try:
        pwd.getpwnam(user)
    except KeyError:
        return f"there is no user {user} on this system"
    if os.geteuid() != 0 and shutil.which("sudo") is None:
        return "the server is not root, and there is no sudo"
    return None


def check_runner(user: str | None) -> None:
    """Can captures run as the user whom settings.toml names?

    Raises:
        BadInput: they cannot.
    """
    reason = None if user is None else why_not_as(user)
    if reason is not None:
        raise BadInput(
            f"Captures run as the user {user} here, and {reason}.",
            remedy="Set runner_user in settings.toml to a user that the server may become "
            "(docs/deploy.md).",
        )

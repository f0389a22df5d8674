"""Sign-ins that ended: their cookie is still well signed, but opens nothing any more.

Streamlit's identity cookie is valid by its signature alone, for 30 days. Signing out deletes it
in that browser; a copy of it, an open tab or a token made for it is refused by what is kept here.
One empty file each, so that every process over the same home knows at once.
"""

import time

from profiler_core.home import home_directory

_KEEP_S = 32 * 24 * 3600.0  # longer than any cookie lives
_KEPT_IN_ANY_CASE = 20_000  # empty files; a clock that jumps ahead makes all others old at once


def end(holder: str) -> None:
    """From now on this sign-in opens nothing."""
    folder = home_directory() / "signed_out"
    folder.mkdir(parents=True, exist_ok=True)
    (folder / holder).touch()
    times = {mark: mark.stat().st_mtime for mark in folder.iterdir()}
    for old in sorted(times, key=times.__getitem__)[:-_KEPT_IN_ANY_CASE]:
        if time.time() - times[old] > _KEEP_S:
            old.unlink(missing_ok=True)


def has_ended(holder: str) -> bool:
    """Was it signed out?"""
    return (home_directory() / "signed_out" / holder).exists()

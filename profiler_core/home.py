"""Where this user's runs, jobs, uploads and caches live on this machine.

`FUSIONSCOPE_HOME` moves all of it; without it the platform's own data folder is used.

A server marks its home when it starts (`claim_home`). From then on neither it nor what it starts
works in a folder without that mark: a home that is moved away, or whose disk is unmounted, is not
begun anew, empty.
"""

import os
from contextlib import suppress
from pathlib import Path

import platformdirs

from profiler_core.errors import ServerFault

VARIABLE = "FUSIONSCOPE_HOME"
MARK = ".fusionscope"  # in a home that a server was started with
_CLAIMED = "FUSIONSCOPE_CLAIMED_HOME"  # for the processes that a server starts
TRASH = ".trash"  # in the folder of all uploads, and in that of all captures


class HomeAway(ServerFault):
    """The home of this server is not where it was when it started."""


def home_directory() -> Path:
    """The root of everything that Fusionscope keeps for this user.

    Raises:
        HomeAway: of a server whose home was moved away.
    """
    home = _named()
    if os.environ.get(_CLAIMED) == str(home) and not (home / MARK).exists():
        raise HomeAway(
            f"{home} was moved away, deleted or unmounted while this server works with it.",
            remedy="Put it back where it was, or start the server again to begin an empty one.",
        )
    return home


def claim_home() -> Path:
    """Make and mark the home of this server, once: whatever it starts has the same.

    Raises:
        HomeAway: the process that started this one has claimed it, and it is not there any more.
        OSError: it cannot be made or marked; what cannot be written is said where it is written.
    """
    home = home_directory()
    home.mkdir(parents=True, exist_ok=True)
    if not (home / MARK).exists():
        (home / MARK).write_text("A server of Fusionscope works in this folder, and in no other.\n")
    os.environ[_CLAIMED] = str(home)
    return home


def _named() -> Path:
    override = os.environ.get(VARIABLE)
    if override:
        return Path(override).expanduser().resolve()
    return Path(platformdirs.user_data_dir("fusionscope"))


def runs_directory() -> Path:
    """Captures: `<runs>/<capture_id>/<variant>/run.json`."""
    return home_directory() / "runs"


def jobs_directory() -> Path:
    """Capture jobs started from the page, and the locks of the devices."""
    return home_directory() / "jobs"


def uploads_directory() -> Path:
    """What people dropped into the page, one folder an upload."""
    return home_directory() / "uploads"


def history_file() -> Path:
    """The history's SQLite file, where no other database is configured."""
    return home_directory() / "history.sqlite3"


def cache_directory() -> Path:
    """Columns of traces that were read before; may be deleted at any time."""
    return home_directory() / "cache"


def expanded(text: str) -> Path:
    """The path that was typed, with a home for its `~`; that of nobody stays as it is typed."""
    path = Path(text)
    with suppress(RuntimeError):
        path = path.expanduser()
    return path


def is_there(path: Path) -> bool:
    """Whether a path that was typed exists; one that the system cannot look at does not."""
    try:
        return path.exists()
    except OSError:  # longer than the system's names are, or in a folder that is closed
        return False

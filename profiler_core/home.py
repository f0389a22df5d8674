"""Where this user's runs, jobs, uploads and caches live on this machine.

`FUSIONSCOPE_HOME` moves all of it; without it the platform's own data folder is used.
"""

import os
from pathlib import Path

import platformdirs

VARIABLE = "FUSIONSCOPE_HOME"
TRASH = ".trash"  # in the folder of all uploads, and in that of all captures


def home_directory() -> Path:
    """The root of everything that Fusionscope keeps for this user."""
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

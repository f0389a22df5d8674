"""`restore BACKUP --home NEW`: a backup into an empty home and database, or only checked."""

import argparse
import os
from pathlib import Path

from profiler_core.cli.backup import runs_in
from profiler_core.errors import BadInput
from profiler_core.home import VARIABLE
from profiler_core.store import history
from profiler_core.store.backup import check, restore
from profiler_core.store.backup.vaults import source_of
from profiler_core.units import format_bytes, format_count


def add_parser(subparsers: "argparse._SubParsersAction[argparse.ArgumentParser]") -> None:
    """Declare the arguments."""
    parser = subparsers.add_parser(
        "restore",
        help="a backup into an empty home and database",
        description="Into the database of FUSIONSCOPE_DATABASE_URL, else a SQLite file in the new "
        "home, whatever kind the backup is from.",
    )
    parser.add_argument("backup", type=Path, metavar="FOLDER_OR_ZIP", help="what `backup` wrote")
    parser.add_argument("--home", type=Path, metavar="NEW", help="an empty or new folder")
    parser.add_argument("--name", help="of a backup in the folder; the newest by default")
    parser.add_argument(
        "--check",
        action="store_true",
        help="only read the backup, and compare every file with its hash",
    )


def run(arguments: argparse.Namespace) -> int:
    """Restore, or check.

    Raises:
        BadInput: no home is named, or it cannot be done.
    """
    source = source_of(arguments.backup, arguments.name)
    if arguments.check:
        manifest = check(source)
        print(
            f"{source.name} of {manifest.made_at} is whole: {runs_in(manifest)}, "
            f"{format_count(len(manifest.files))} files, {format_bytes(manifest.n_bytes)}."
        )
        return 0
    if arguments.home is None:
        raise BadInput("No home to restore into is named.", remedy="Pass --home with a new folder.")
    os.environ[VARIABLE] = str(arguments.home)
    try:
        restored = restore(source)
    except OSError as error:
        raise BadInput(
            f"The backup cannot be restored: {error.strerror}: {error.filename}.",
            remedy="Make room or correct the rights, then restore once more: it goes on where it "
            "ended.",
        ) from error
    history.note(history.person(), "restore", str(arguments.backup.absolute()))
    manifest = restored.manifest
    print(
        f"{restored.home} and {restored.database} hold the backup of {manifest.made_at}: "
        f"{runs_in(manifest)}, {format_count(sum(manifest.n_rows.values()))} rows."
    )
    if restored.kept_settings:
        print("Its own settings.toml stays; that of the backup was not restored.")
    return 0

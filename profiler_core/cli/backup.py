"""`backup TARGET`: the history, runs, uploads and settings, while the server works."""

import argparse
from pathlib import Path

from profiler_core.errors import BadInput
from profiler_core.store import history
from profiler_core.store.aside import sweep, whole_file
from profiler_core.store.backup import Choice, Manifest, back_up
from profiler_core.store.backup.vaults import ZIP, FolderVault, ZipVault
from profiler_core.units import format_bytes, format_count

_MOST_LISTED = 20
_MODE = 0o600  # it holds what the server keeps from other users of its machine


def add_parser(subparsers: "argparse._SubParsersAction[argparse.ArgumentParser]") -> None:
    """Declare the arguments."""
    parser = subparsers.add_parser(
        "backup",
        help="the history and its files, while a server works",
        description="Rows of the history, runs, uploads and settings.toml. A run is in it whole "
        "or not at all; one that is still being captured is left out.",
    )
    parser.add_argument(
        "target",
        type=Path,
        metavar="FOLDER_OR_ZIP",
        help="a folder keeps several backups, each with what the others lack; a .zip holds one",
    )
    parser.add_argument(
        "--secrets",
        action="store_true",
        help="with server.key and the secrets of settings.toml, never the database's URL",
    )
    parser.add_argument("--trash", action="store_true", help="with what was deleted and is kept")


def run(arguments: argparse.Namespace) -> int:
    """Make the backup.

    Raises:
        BadInput: it cannot be written.
    """
    target: Path = arguments.target
    choice = Choice(with_secrets=arguments.secrets, with_trash=arguments.trash)
    history.note(history.person(), "backup", str(target.absolute()))
    try:
        if target.suffix.lower() == ZIP and not target.is_dir():
            sweep([target.parent])  # what a backup that was killed had written
            with whole_file(target, _MODE) as file, ZipVault(file) as vault:
                manifest = back_up(vault, choice)
        else:
            manifest = back_up(FolderVault(target), choice)
    except OSError as error:
        where = f": {error.filename}" if error.filename else ""
        raise BadInput(
            f"The backup in {target} was not made: {error.strerror}{where}.",
            remedy="Check that the folder can be written, that the disk has room, and that "
            "this user may read the home.",
        ) from error
    print(_text(manifest, target))
    return 0


def runs_in(manifest: Manifest) -> str:
    """How many runs a backup has, counted as `runs list` and `runs verify --all` count them."""
    folders = f"{format_count(manifest.n_run_folders)} folders of runs"
    return (
        folders if manifest.n_runs is None else f"{format_count(manifest.n_runs)} runs, {folders}"
    )


def _text(manifest: Manifest, target: Path) -> str:
    n_rows = sum(manifest.n_rows.values())
    lines = [
        f"{target}: {runs_in(manifest)}, {format_count(len(manifest.files))} "
        f"files, {format_bytes(manifest.n_bytes)} ({format_bytes(manifest.n_new_bytes)} of them "
        f"new), {format_count(n_rows)} rows."
    ]
    left = [f"  left out: {item.path}: {item.reason}." for item in manifest.left_out]
    lines += left[:_MOST_LISTED]
    if len(left) > _MOST_LISTED:
        lines.append(f"  and {len(left) - _MOST_LISTED} more.")
    return "\n".join(lines)

"""The files of deleted runs: moved aside on the same disk, and back, one rename each.

`<runs or uploads>/.trash/<deletion_id>/<capture>[/<variant>]`. What the database says of a
deletion is the truth; the files of each machine follow it, now or when the history is next
brought up to date. So a process that is killed in between leaves nothing half.
"""

import os
import secrets
import shutil
from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator, Sequence
from pathlib import Path

from profiler_core import run_directory as names
from profiler_core.durable import move
from profiler_core.errors import BadInput
from profiler_core.home import TRASH
from profiler_core.owner_file import FILE as OWNER_FILE
from profiler_core.owner_file import owner_of, write_owner
from profiler_core.store.history import places
from profiler_core.store.history.claims import ids_in
from profiler_core.store.history.integrity import difference
from profiler_core.store.history.packing import file_marks
from profiler_core.store.owners import size_of

DELETED = ".deleted-"  # a folder that is being deleted for good


def size_at(keys: Sequence[str]) -> int:
    """The bytes of what lies at these keys of the library, on this machine."""
    return sum(size_of(path) for _, path in _sources(keys) if not path.is_symlink())


def is_any_at(keys: Sequence[str]) -> bool:
    """Does something lie at one of these keys, on this machine?"""
    return any(True for _ in _sources(keys))


def set_aside(
    deletion_id: str,
    keys: Sequence[str],
    run_ids: Collection[str],
    *,
    is_decided: bool,
    counts_for_owner: bool,
) -> None:
    """Move what lies at these keys into the trash; what is there already, stays there.

    A capture's folder goes with its last run.

    Args:
        deletion_id: names the folder in the trash.
        keys: of the library.
        run_ids: of the deletion's runs: others stay, which another server may have there.
        is_decided: no files followed yet, so what was never recorded goes, too.
        counts_for_owner: does it take of its owner's quota until the trash is emptied?

    Raises:
        BadInput: the disk refuses.
    """
    sources = [
        (root, path)
        for root, path in _sources(keys)
        if not _is_other_runs(path, run_ids, is_decided=is_decided)
    ]
    for root, source in _whole(sources):
        folder = root / TRASH / deletion_id
        target = folder / source.relative_to(root)
        if os.path.lexists(target):
            continue  # moved before; what lies there now came later
        try:
            target.parent.mkdir(parents=True, exist_ok=True)
            owner = owner_of(root / source.relative_to(root).parts[0])
            if counts_for_owner and owner is not None and not (folder / OWNER_FILE).exists():
                write_owner(folder, owner)
            move(source, target)
        except FileNotFoundError:  # another process was faster
            continue
        except OSError as error:
            raise BadInput(
                f"{source} could not be deleted: {error.strerror}.",
                remedy="Check the permissions of the folder.",
            ) from error


def put_back(deletion_id: str) -> None:
    """Move what a deletion set aside to where it lay; what lies there again, is left in the trash.

    Raises:
        BadInput: the disk refuses.
    """
    for root in places.roots().values():
        folder = root / TRASH / deletion_id
        if not folder.is_dir():
            continue
        try:
            for capture in sorted(folder.iterdir()):
                if capture.name != OWNER_FILE:
                    _merge(capture, root / capture.name)
            if [path.name for path in folder.iterdir()] in ([], [OWNER_FILE]):
                shutil.rmtree(folder)
        except OSError as error:
            raise BadInput(
                f"{folder} could not be put back: {error.strerror}.",
                remedy="Check the permissions, and try it again.",
            ) from error


def destroy(deletion_id: str) -> None:
    """Delete for good what a deletion set aside."""
    for root in places.roots().values():
        shutil.rmtree(root / TRASH / deletion_id, ignore_errors=True)


def occupied(deletion_id: str) -> Path | None:
    """Another run where one of this deletion would be put back to; None: there is room.

    The same run with the very same files, which an import brought again, is in nobody's way.
    """
    for root in places.roots().values():
        folder = root / TRASH / deletion_id
        for run_file in (
            *folder.glob(f"*/{names.RUN_JSON}"),
            *folder.glob(f"*/*/{names.RUN_JSON}"),
        ):
            target = root / run_file.parent.relative_to(folder)
            if places.has_run(target) and not _are_same(run_file.parent, target):
                return target
    return None


def _are_same(run_directory: Path, other: Path) -> bool:
    return difference(file_marks(run_directory), file_marks(other)) == (None, None)


def ids_here() -> frozenset[str]:
    """The deletions of which something lies in the trash of this machine."""
    trashes = [root / TRASH for root in places.roots().values()]
    return frozenset(path.name for t in trashes if t.is_dir() for path in t.iterdir())


def runs_of(deletion_id: str) -> frozenset[str]:
    """The ids of the runs that a deletion set aside on this machine."""
    folders = [root / TRASH / deletion_id for root in places.roots().values()]
    return frozenset().union(
        *(ids_in(capture) for folder in folders for capture in places.folders_in(folder))
    )


def remove_directory(directory: Path) -> None:
    """Delete for good what never was recorded; the capture's folder goes with its last run."""
    if directory.is_symlink():
        directory.unlink()  # a link is not followed: only the entry in our own folder goes
    elif directory.is_dir():
        _delete_out_of_sight(directory)
        capture = directory.parent
        if capture not in places.roots().values() and not list(capture.glob(f"*/{names.RUN_JSON}")):
            _delete_out_of_sight(capture)


def _is_other_runs(path: Path, run_ids: Collection[str], *, is_decided: bool) -> bool:
    ids = ids_in(path)
    return bool(ids) and ids.isdisjoint(run_ids) and (bool(run_ids) or not is_decided)


def _sources(keys: Sequence[str]) -> Iterator[tuple[Path, Path]]:
    """(root, path) of each key at which something lies on this machine."""
    for key in keys:
        path = places.directory_of_key(key)
        if path is not None and os.path.lexists(path):
            yield places.roots()[key.partition("/")[0]], path


def _whole(sources: Iterable[tuple[Path, Path]]) -> list[tuple[Path, Path]]:
    """The same, with the folder of a capture in place of all of its runs."""
    runs_of: dict[tuple[Path, Path], list[Path]] = defaultdict(list)
    for root, path in sources:
        runs_of[root, root / path.relative_to(root).parts[0]].append(path)
    moves = []
    for (root, capture), paths in runs_of.items():
        others = {file.parent for file in capture.glob(f"*/{names.RUN_JSON}")} - set(paths)
        moves += [(root, path) for path in (paths if others else [capture])]
    return moves


def _merge(source: Path, target: Path) -> None:
    """Move a folder; where its name is taken, what it holds, as far as no other run is there."""
    if not os.path.lexists(target):
        target.parent.mkdir(parents=True, exist_ok=True)
        move(source, target)
    elif source.is_dir() and not source.is_symlink() and not places.has_run(target):
        for path in sorted(source.iterdir()):
            _merge(path, target / path.name)
        if not any(source.iterdir()):
            source.rmdir()
    elif places.has_run(source) and not source.is_symlink() and _are_same(source, target):
        shutil.rmtree(source)
    elif source.is_file() and target.is_file() and source.read_bytes() == target.read_bytes():
        source.unlink()


def _delete_out_of_sight(directory: Path) -> None:
    hidden = directory.parent / f"{DELETED}{directory.name}-{secrets.token_hex(4)}"
    directory.rename(hidden)
    shutil.rmtree(hidden, ignore_errors=True)

"""Making a backup while captures end, people upload and retention deletes.

First the rows of one moment, then the files, of which each run is in whole or not at all. Where
files that the rows name are gone by then, both are taken again.
"""

import tomllib
from dataclasses import dataclass, field
from pathlib import Path

from profiler_core import __version__
from profiler_core.home import TRASH, home_directory
from profiler_core.settings import FILE as SETTINGS
from profiler_core.store.backup.manifest import FORMAT, ROWS, BackupFile, LeftOut, Manifest
from profiler_core.store.backup.selection import RUN_ROOTS, Choice, Unit, units
from profiler_core.store.backup.settings_text import without_secrets
from profiler_core.store.backup.vaults import Vault, blocks_of
from profiler_core.store.history import places
from profiler_core.store.history.dump import Dump
from profiler_core.store.history.moments import now
from profiler_core.store.history.query import recorded_keys
from profiler_core.store.history.waiting_deeds import record_kept

_MOST_PASSES = 5  # each only reads what changed since the one before


def back_up(vault: Vault, choice: Choice) -> Manifest:
    """Write a backup; it is there once this returns, and not at all before.

    Raises:
        HistoryUnavailable: the database cannot be used.
        OSError: the target cannot be written, or a file cannot be read.
    """
    making = _Making(vault, choice)
    record_kept()
    missing: frozenset[str] | None = None
    for _ in range(_MOST_PASSES):
        dump = Dump()
        rows = vault.keep(ROWS, dump, 0)
        making.take_files()
        still_missing = frozenset(dump.runs) - making.keys
        if not still_missing or still_missing == missing:
            break
        missing = still_missing
    for key in recorded_keys() - frozenset(dump.runs):
        making.leave_out(key, "recorded while the backup was made")
    making.left_out += [
        LeftOut(key, "its files are among the artifacts" if run.artifact else "its files are gone")
        for key, run in dump.runs.items()
        if key not in making.keys
    ]
    settings = making.settings()
    manifest = Manifest(
        format=FORMAT,
        made_at=now(),
        version=__version__,
        n_rows=dump.n_rows,
        n_runs=dump.n_runs,
        files=(rows, *making.files(), *settings),
        left_out=tuple(making.left_out),
    )
    return vault.finish(manifest)


@dataclass
class _Taken:
    unit: Unit
    version: tuple[tuple[str, int, int], ...]
    files: tuple[BackupFile, ...]


@dataclass
class _Making:
    vault: Vault
    choice: Choice
    left_out: list[LeftOut] = field(default_factory=list)
    _taken: dict[tuple[Path, bool], _Taken] = field(default_factory=dict)
    _by_key: dict[str, tuple[Path, bool]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        last = self.vault.last()
        self._last = {file.path: file for file in last.files} if last is not None else {}

    @property
    def keys(self) -> frozenset[str]:
        """Of the runs whose files are in it, as the history names them."""
        return frozenset(self._by_key)

    def files(self) -> tuple[BackupFile, ...]:
        """All that were taken."""
        return tuple(file for taken in self._taken.values() for file in taken.files)

    def leave_out(self, key: str, reason: str) -> None:
        """Take a run out again, with all of its files."""
        name = self._by_key.pop(key, None)
        if name is not None:
            del self._taken[name]
            self.left_out.append(LeftOut(key, reason))

    def take_files(self) -> None:
        """Everything that belongs into it as it is now; what is gone goes from it too."""
        before, self._taken, self._by_key, self.left_out = self._taken, {}, {}, []
        self.left_out += [
            LeftOut(places.shown(path.relative_to(home_directory())), places.NAMELESS)
            for path in places.nameless()
        ]
        above_runs: set[Path] = set()
        for unit in units(self.choice):
            name = (unit.folder, unit.run is not None)
            if name[1] and unit.is_being_made:
                self.left_out.append(LeftOut(_path(unit.folder), "it is being captured"))
                continue
            if self._is_loose(unit) and unit.folder not in above_runs:
                continue  # of a capture without any run in the backup
            earlier = before.get(name)
            if earlier is None or earlier.version != unit.version():
                earlier = self._read(unit)
            if earlier is None:
                self.left_out.append(LeftOut(_path(unit.folder), "it changed while it was read"))
                continue
            self._add(name, earlier)
            if unit.run is not None:
                above_runs |= {unit.folder, unit.folder.parent}

    def settings(self) -> tuple[BackupFile, ...]:
        """settings.toml, as the choice says."""
        path = home_directory() / SETTINGS
        try:
            text = path.read_text("utf-8")
        except FileNotFoundError:
            return ()
        kept = without_secrets(text, with_secrets=self.choice.with_secrets)
        if kept is None:
            self.left_out.append(LeftOut(SETTINGS, "its secrets cannot be told from the rest"))
            return ()
        left = sorted(set(tomllib.loads(text)) - set(tomllib.loads(kept)))
        if left:
            self.left_out.append(LeftOut(SETTINGS, f"without {', '.join(left)}"))
        return (self.vault.keep(SETTINGS, [kept.encode()], path.stat().st_mtime_ns),)

    def _add(self, name: tuple[Path, bool], taken: _Taken) -> None:
        self._taken[name] = taken
        key = places.key_of(taken.unit.run) if taken.unit.run is not None else None
        if key is not None:
            self._by_key[key] = name

    def _is_loose(self, unit: Unit) -> bool:
        root, *inside = _path(unit.folder).split("/")
        if unit.stands_alone:
            return False
        return unit.run is None and root in RUN_ROOTS and TRASH not in inside

    def _read(self, unit: Unit) -> _Taken | None:
        version = unit.version()
        if version is None:
            return None
        try:
            files = tuple(self._kept(path) for path in unit.files)
        except FileNotFoundError:
            return None
        changed = unit.version() != version or unit.is_being_made
        return None if changed else _Taken(unit, version, files)

    def _kept(self, path: Path) -> BackupFile:
        name, stat = _path(path), path.stat()
        last = self._last.get(name)
        if (
            last is not None
            and (last.n_bytes, last.mtime_ns) == (stat.st_size, stat.st_mtime_ns)
            and self.vault.has(last)
        ):
            return last
        return self.vault.keep(name, blocks_of(path), stat.st_mtime_ns)


def _path(path: Path) -> str:
    return path.relative_to(home_directory()).as_posix()

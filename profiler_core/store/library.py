"""Which runs there are: the shipped samples, own captures, uploads. No trace is opened here.

All three lie as `<root>/<capture>/<variant>/run.json …`. A key names one of them in a URL:
`sample/<capture>/<variant>`, `run/<capture_id>/<variant>`, `upload/<id>/<n>`, made of folder
names, so that it stays true over restarts; `path/…` is something opened by its path on the
server (`server_path.py`), `history/<run_id>` a run of the history whose files lie among the
team's artifacts. Listing costs one scandir a capture; run.json files
are decoded once per version (mtime and size).
"""

import os
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Literal

from profiler_core import run_directory as names
from profiler_core.analysis.run_labels import own_name
from profiler_core.errors import BadInput
from profiler_core.home import runs_directory, uploads_directory
from profiler_core.ingest.run import open_run
from profiler_core.model.history import RecordedRun
from profiler_core.model.run import RunRecord
from profiler_core.resources import sample_traces_directory
from profiler_core.session.folder import Member, has_trace, in_order, is_run, other_ranks
from profiler_core.store import server_path
from profiler_core.store.key_parts import decode_part, encode_part
from profiler_core.store.listing import Stamp, stamp_of
from profiler_core.store.records import abridged, full_record, read_record

Origin = Literal["sample", "capture", "upload", "path", "history"]

_PREFIX: Mapping[str, Origin] = {"sample": "sample", "run": "capture", "upload": "upload"}
_UNSETTLED = ("running", "lost")  # change without a file that changes
_FEW = 100  # folders that are remembered in vain
_LONGEST_NAME_BYTES = 255  # of one folder's name; what is longer, no file system has


@dataclass(frozen=True)
class Entry:
    """One run of the library. `run.status` is "lost" where a running run has died."""

    key: str
    path: Path  # the run directory; for origin "path" maybe a single file
    run: RunRecord
    origin: Origin
    problem: str | None = None  # why run.json could not be read; `run` then only has a name
    is_abridged: bool = False  # of a list: `run` is without the time of each single step

    @property
    def variant(self) -> str:
        """What to call it inside its comparison; never empty."""
        return own_name(self.run, self.path)

    @property
    def full_run(self) -> RunRecord:
        """The record with all that was measured."""
        return full_record(self.path, self.run) if self.is_abridged else self.run

    @property
    def is_readable(self) -> bool:
        """True where there is a trace, or timed rounds, to look at."""
        timed = self.run.measurement is not None and bool(self.run.measurement.rounds)
        return timed or self.path.is_file() or has_trace(self.path)


@dataclass(frozen=True)
class Comparable:
    """The runs that belong together: one capture, one sample, or what was uploaded at once.

    Candidates are in the order in which they were timed.
    """

    key: str  # "<prefix>/<capture>"
    origin: Origin
    path: Path
    baseline: Entry
    candidates: tuple[Entry, ...]
    created_at: str  # ISO 8601 as in run.json; "" where no run says it

    @property
    def entries(self) -> tuple[Entry, ...]:
        """Baseline first."""
        return (self.baseline, *self.candidates)

    @property
    def title(self) -> str:
        """The name that the capture was given, else the workload, else that of what was uploaded.

        Of a sample its folder, chosen to tell.
        """
        if self.origin == "sample":
            return self.path.name
        for entry in self.entries:
            point = entry.run.sweep  # the points of a sweep differ in nothing else
            if point is not None and entry.run.workload:
                return f"{entry.run.workload}, {point.label or point.name} {point.value}"
            own_name = entry.run.spec.get("name")
            if isinstance(own_name, str) and own_name:
                return own_name
            if entry.run.workload:
                return entry.run.workload
        return " and ".join(entry.run.name or entry.path.name for entry in self.entries[:2])

    @property
    def is_alive(self) -> bool:
        """True while one of its runs is being captured."""
        return any(entry.run.status == "running" for entry in self.entries)


def entries() -> tuple[Entry, ...]:
    """Every run there is: captures, uploads, samples; newest captures first."""
    return tuple(entry for group in comparisons() for entry in group.entries)


def entry(key: str, *, allowed: tuple[Path, ...] = ()) -> Entry:
    """The run that a URL names.

    Args:
        key: as in the address; anything may stand there.
        allowed: the folders below which `path/…` keys are followed (`server_path.roots`).

    Raises:
        BadInput: no run has this key, or its path may not be opened.
    """
    prefix, _, rest = key.partition("/")
    root = _roots().get(prefix)
    parts = [decode_part(part) for part in rest.split("/")]
    if prefix == "history":
        return _of_history(key, parts)
    if prefix == "path":
        return at_path(server_path.resolve("/" + "/".join(parts), allowed))
    if root is not None and 1 <= len(parts) <= 2 and all(_is_folder_name(part) for part in parts):
        path = root.joinpath(*parts)
        if _is_run(path, root):
            return _entry(key, path, _PREFIX[prefix])
    raise BadInput(
        f"There is no run “{key[:200]}” here.",
        remedy="Choose one on the page Runs: it may have been deleted, or lie on another machine.",
    )


def key_of_recorded(recorded: RecordedRun) -> str:
    """The key that opens a run of the history here: its own, or through the artifacts."""
    prefix, _, rest = recorded.key.partition("/")
    parts = [decode_part(part) for part in rest.split("/")]
    root = _roots().get(prefix)
    if root is not None and root.joinpath(*parts).is_dir():
        return recorded.key
    return f"history/{encode_part(recorded.run_id)}"


def _of_history(key: str, parts: list[str]) -> Entry:
    from profiler_core.store import history  # late: it brings the database along

    recorded = history.run("/".join(parts))
    path = history.directory_of(recorded)
    record, problem = read_record(path, may_be_alive=False)
    return Entry(key=key, path=path, run=record, origin="history", problem=problem)


def at_path(path: Path) -> Entry:
    """The run or the single trace at a path that `server_path.resolve` let through.

    Raises:
        NotARun: no run or trace lies there.
    """
    key = key_of_path(path)
    opened = open_run(path)
    if (path / names.RUN_JSON).is_file():
        record, problem = read_record(path, may_be_alive=True)
        return Entry(key=key, path=path, run=record, origin="path", problem=problem)
    return Entry(key=key, path=path, run=opened.record, origin="path")


def key_of_path(path: Path) -> str:
    """The key of whatever lies at an absolute path, in the library or outside of it."""
    return "path/" + "/".join(encode_part(part) for part in path.parts[1:])


def comparisons() -> tuple[Comparable, ...]:
    """Runs that belong together: own captures and uploads, newest first, then the samples."""
    folders = {
        folder: (prefix, root) for prefix, root in _roots().items() for folder in _folders(root)
    }
    if len(_listed) > 2 * len(folders) + _FEW:  # deleted ones, or those of another home
        for folder in set(_listed) - set(folders):
            _listed.pop(folder, None)
    groups = [
        group
        for folder, (prefix, root) in folders.items()
        if (group := _comparable(prefix, folder, root)) is not None
    ]
    alone = [g.baseline for g in groups if g.path == g.baseline.path]
    rank_indices = other_ranks([(entry.path, entry.run) for entry in alone])
    hidden = {alone[index].key for index in rank_indices}
    groups = [g for g in groups if g.path != g.baseline.path or g.key not in hidden]
    own_groups = [group for group in groups if group.origin != "sample"]
    samples = [group for group in groups if group.origin == "sample"]
    return (*sorted(own_groups, key=lambda group: group.created_at, reverse=True), *samples)


def _roots() -> dict[str, Path]:
    return {
        "run": runs_directory(),
        "upload": uploads_directory(),
        "sample": sample_traces_directory(),
    }


def _folders(directory: Path, root: Path | None = None) -> Iterator[Path]:
    """Folders in `directory`, by name; links that lead out of it, or of `root`, are left out."""
    try:
        with os.scandir(directory) as entries:
            shown = sorted(
                (entry for entry in entries if not entry.name.startswith((".", "_"))),
                key=lambda entry: entry.name,
            )
    except OSError:
        return
    for entry in shown:
        path = directory / entry.name
        # What is no link lies where it seems to; only links need their way followed.
        is_inside = not entry.is_symlink() or _inside(path, root or directory)
        if is_inside and entry.is_dir():
            yield path


# Folder -> how it looked, and what it held then. Assignments only, so threads need no lock.
_listed: dict[Path, tuple[Stamp, Comparable | None]] = {}


def _comparable(prefix: str, folder: Path, root: Path) -> Comparable | None:
    """As the folder is now; read anew only where it changed, or while one of its runs runs."""
    stamp = stamp_of(folder)
    before = _listed.get(folder)
    if before is not None and stamp and before[0] == stamp:
        return before[1]
    group = _abridged(_read_comparable(prefix, folder, root))
    if group is None or not any(entry.run.status in _UNSETTLED for entry in group.entries):
        _listed[folder] = (stamp, group)
    return group


def _abridged(group: Comparable | None) -> Comparable | None:
    """Without the single steps, which are 97 % of a record and asked for by no list."""
    if group is None:
        return None
    baseline, *candidates = (
        replace(entry, run=abridged(entry.run), is_abridged=True) for entry in group.entries
    )
    return replace(group, baseline=baseline, candidates=tuple(candidates))


def _read_comparable(prefix: str, folder: Path, root: Path) -> Comparable | None:
    origin = _PREFIX[prefix]
    key = f"{prefix}/{encode_part(folder.name)}"
    members = [
        _entry(f"{key}/{encode_part(path.name)}", path, origin)
        for path in _folders(folder, root)
        if _is_run(path, root)
    ]
    if not members and _is_run(folder, root):
        members = [_entry(key, folder, origin)]
    if not members:
        return None
    order = in_order([Member(entry.path, entry.run, entry.is_readable) for entry in members])
    baseline, *candidates = (members[index] for index in order)
    created = max((e.run.created_at or "" for e in members), default="")
    return Comparable(key, origin, folder, baseline, tuple(candidates), created)


def _entry(key: str, path: Path, origin: Origin) -> Entry:
    record, problem = read_record(path, may_be_alive=origin == "capture")
    return Entry(key=key, path=path, run=record, origin=origin, problem=problem)


def _is_folder_name(text: str) -> bool:
    fits = 0 < len(text.encode("utf-8", "replace")) <= _LONGEST_NAME_BYTES
    return fits and not text.startswith((".", "_")) and not set(text) & {"/", "\\", "\0"}


def _is_run(path: Path, root: Path) -> bool:
    return is_run(path) and _inside(path, root)


def _inside(path: Path, root: Path) -> bool:
    try:
        return path.resolve().is_relative_to(root.resolve())
    except (OSError, RuntimeError):  # RuntimeError: a loop of links
        return False

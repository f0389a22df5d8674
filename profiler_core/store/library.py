"""Which runs there are: the shipped samples, own captures, uploads. No trace is opened here.

All three lie as `<root>/<capture>/<variant>/run.json …`. A key names one of them in a URL:
`sample/<capture>/<variant>`, `run/<capture_id>/<variant>`, `upload/<id>/<n>`, made of folder
names, so that it stays true over restarts; `path/…` is something opened by its path on the
server (`server_path.py`), `history/<run_id>` a run of the history whose files lie among the
team's artifacts. What lists them asks `catalogue`.
"""

import os
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Literal

from profiler_core import run_directory as names
from profiler_core.analysis.run_labels import Labelled, names_together, own_name, run_labels
from profiler_core.errors import BadInput
from profiler_core.home import runs_directory, uploads_directory
from profiler_core.ingest.run import open_run
from profiler_core.model.history import RunHead
from profiler_core.model.run import RunRecord
from profiler_core.resources import sample_traces_directory
from profiler_core.session.folder import Member, has_trace, in_order, is_run
from profiler_core.store import server_path
from profiler_core.store.key_parts import decode_part, encode_part
from profiler_core.store.records import abridged, full_record, read_record

Origin = Literal["sample", "capture", "upload", "path", "history"]

_PREFIX: Mapping[str, Origin] = {"sample": "sample", "run": "capture", "upload": "upload"}
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
        """The name that the capture was given, else the workload, else what the files share.

        "my_model" for "my_model_eager.json" and "my_model_compiled.json". Of a sample its folder,
        chosen to tell, and of a folder of bare traces that folder.
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
        names = [entry.run.name for entry in self.entries if entry.run.name]
        if not names:  # folders are called by variants; the one around them tells more
            return self.path.name
        return names_together(names)

    @property
    def is_job(self) -> bool:
        """True where one of its runs has several ranks."""
        return any(entry.run.world_size > 1 for entry in self.entries)

    @property
    def is_alive(self) -> bool:
        """True while one of its runs is being captured."""
        return any(entry.run.status == "running" for entry in self.entries)


def labels_of(entries: Sequence[Entry]) -> tuple[str, ...]:
    """A short, distinct name for each."""
    return run_labels(
        [Labelled(entry.run, entry.path, entry.key.split("/", 1)[-1]) for entry in entries]
    )


def entry(key: str, *, allowed: tuple[Path, ...] = ()) -> Entry:
    """The run that a URL names.

    Args:
        key: as in the address; anything may stand there.
        allowed: the folders below which `path/…` keys are followed (`server_path.roots`).

    Raises:
        BadInput: no run has this key, or its path may not be opened.
    """
    prefix, _, rest = key.partition("/")
    root = roots().get(prefix)
    parts = [decode_part(part) for part in rest.split("/")]
    if prefix == "history":
        return _of_history(key, parts)
    if prefix == "path":
        return at_path(server_path.resolve_run("/" + "/".join(parts), allowed))
    if root is not None and 1 <= len(parts) <= 2 and all(is_folder_name(part) for part in parts):
        path = root.joinpath(*parts)
        if _is_run(path, root):
            return _entry(key, path, _PREFIX[prefix])
    raise BadInput(
        f"There is no run “{key[:200]}” here.",
        remedy="Choose one on the page Runs and uploads: it may have been deleted, or lie on "
        "another machine.",
    )


def key_of_recorded(recorded: RunHead) -> str:
    """The key that opens a run of the history here: its own, or through the artifacts."""
    prefix, _, rest = recorded.key.partition("/")
    parts = [decode_part(part) for part in rest.split("/")]
    root = roots().get(prefix)
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


def own_key(key: str) -> str:
    """The library's key of a run where a `path/…` key leads into it; else the key itself."""
    if not key.startswith("path/"):
        return key
    path = Path("/", *(decode_part(part) for part in key.split("/")[1:]))
    for prefix, root in roots().items():
        if path.is_relative_to(root.resolve()):
            return "/".join((prefix, *map(encode_part, path.relative_to(root.resolve()).parts)))
    return key


def roots() -> dict[str, Path]:
    """Prefix of a key -> the folder of all such captures."""
    return {
        "run": runs_directory(),
        "upload": uploads_directory(),
        "sample": sample_traces_directory(),
    }


def folders_in(directory: Path, root: Path | None = None) -> Iterator[Path]:
    """Folders in `directory`, by name, where that is text.

    Links that lead out of it, or of `root`, are left out.
    """
    try:
        with os.scandir(directory) as entries:
            shown = sorted(
                (
                    entry
                    for entry in entries
                    if not entry.name.startswith((".", "_")) and names.is_text(entry.name)
                ),
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


def read_group(prefix: str, folder: Path, root: Path) -> Comparable | None:
    """The comparison in a folder as it is now, without single steps; None: there is no run.

    Args:
        prefix: of its key.
        folder: of a capture, an upload or a sample.
        root: the folder of all of these; what a link leads to outside of it is left out.
    """
    group = _read_comparable(prefix, folder, root)
    if group is None:
        return None
    # The single steps are 97 % of a record, and no list asks for them.
    baseline, *candidates = (
        replace(entry, run=abridged(entry.run), is_abridged=True) for entry in group.entries
    )
    return replace(group, baseline=baseline, candidates=tuple(candidates))


def group_at(folder: Path) -> Comparable | None:
    """The comparison in a folder of this library as it is now; None: there is none."""
    for prefix, root in roots().items():
        if folder.parent == root:
            return read_group(prefix, folder, root)
    return None


def _read_comparable(prefix: str, folder: Path, root: Path) -> Comparable | None:
    origin = _PREFIX[prefix]
    key = f"{prefix}/{encode_part(folder.name)}"
    members = [
        _entry(f"{key}/{encode_part(path.name)}", path, origin)
        for path in folders_in(folder, root)
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


def is_folder_name(text: str) -> bool:
    """Can a folder of runs be called so, and not lie elsewhere?"""
    fits = 0 < len(text.encode("utf-8", "replace")) <= _LONGEST_NAME_BYTES
    return fits and not text.startswith((".", "_")) and not set(text) & {"/", "\\", "\0"}


def _is_run(path: Path, root: Path) -> bool:
    return is_run(path) and _inside(path, root)


def _inside(path: Path, root: Path) -> bool:
    try:
        return path.resolve().is_relative_to(root.resolve())
    except (OSError, RuntimeError):  # RuntimeError: a loop of links
        return False

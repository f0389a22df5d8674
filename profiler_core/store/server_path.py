"""Opening what lies on the server by its path: only below folders that the owner named.

A key for it is `path/<the absolute path>`, each folder name encoded as in the library.
"""

import os
from pathlib import Path

from profiler_core.errors import BadInput, NotARun
from profiler_core.guarded_open import is_open_below
from profiler_core.ingest.run import open_run
from profiler_core.ranks.jobs_below import runs_inside, runs_packed
from profiler_core.ranks.rank_sets import ranks_beside
from profiler_core.settings import settings
from profiler_core.store.opened import opened_paths


def roots(*, is_local: bool) -> tuple[Path, ...]:
    """Folders below which anything may be opened by its path.

    The owner's `open_below`; without it the home of the user who runs the server, and that only
    on a server that nobody else can reach. There, what was given to the command `open` is too.
    """
    below = settings().open_below
    if below is None:
        below = (Path.home(),) if is_local else ()
    return (*(path.resolve() for path in below), *(opened_paths() if is_local else ()))


def resolve(text: str, allowed: tuple[Path, ...]) -> Path:
    """The path that somebody typed, links followed, if it may be opened.

    Raises:
        BadInput: it is outside of the allowed folders, or there is nothing. Outside of them
            both look alike: nobody learns what lies there.
    """
    if not allowed:
        raise BadInput(
            "Opening files by their path is switched off on this server.",
            remedy="Upload the file, or name its folder as open_below in settings.toml.",
        )
    if "\0" in text or not text.strip():
        raise BadInput("That is not a path.", remedy="Type the path of a run or a trace.")
    try:
        path = Path(text.strip()).expanduser()
        path = (path if path.is_absolute() else allowed[0] / path).resolve()
        is_there = path.exists()
    except (OSError, RuntimeError, ValueError):  # no name, a loop of links, an unknown ~user
        path, is_there = Path("/"), False
    if not is_open_below(path, allowed):
        names = " or ".join(str(root) for root in allowed[:3])
        raise BadInput(
            f"{text.strip()[:300]} may not be opened.",
            remedy=f"Choose something below {names}, or upload the files. On your own machine "
            "`python -m profiler_core open PATH` opens any path; on a team's server open_below in "
            "settings.toml names more folders.",
        )
    if not is_there:
        raise BadInput(f"{path} does not exist.", remedy="Check the path.")
    return path


def resolve_run(text: str, allowed: tuple[Path, ...]) -> Path:
    """As `resolve`, of a run whose files may be read too.

    Raises:
        BadInput: as there; or a link that another user of the system made leads out of the allowed
            folders: what it leads to would be read with this server's rights, and shown.
    """
    path = resolve(text, allowed)
    for folder in {path, *ranks_beside(path).values()} if path.is_dir() else ():
        for top, folders, files in os.walk(folder):
            for name in (*folders, *files):
                _check_link(Path(top, name), allowed)
    return path


def _check_link(path: Path, allowed: tuple[Path, ...]) -> None:
    if not path.is_symlink() or path.lstat().st_uid == os.geteuid():
        return
    try:
        target = path.resolve()
    except (OSError, RuntimeError):  # a loop of links
        return
    if not is_open_below(target, allowed):
        raise BadInput(
            f"{path} is a link that leads out of the folders that may be opened.",
            remedy="Put a copy of what it leads to in its place.",
        )


def runs_below(path: Path) -> tuple[Path, ...]:
    """The runs at a path: itself, or what its folder holds (`ranks.jobs_below.runs_inside`).

    Raises:
        NotARun: neither.
    """
    if path.is_dir() and not (path / "run.json").is_file():
        inside = runs_inside(path)
        if inside:
            return inside
    try:
        open_run(path)
    except NotARun as error:
        packed = () if path.is_dir() else runs_packed(path)
        if len(packed) < 2:
            raise
        job_names = ", ".join(job.name for job in packed[:4])
        raise NotARun(
            f"{path.name} holds {len(packed)} jobs ({job_names}), not one.",
            remedy="Upload it, or unpack it and open its folder: then they are compared.",
        ) from error
    return (path,)

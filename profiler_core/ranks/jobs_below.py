"""The jobs and runs below a folder or in an archive."""

from pathlib import Path

from profiler_core import run_directory as names
from profiler_core.ingest.kinds import is_archive
from profiler_core.ingest.rank_traces import ranks_in
from profiler_core.ingest.run import unpacked
from profiler_core.ranks.rank_sets import sets_in


def runs_inside(folder: Path) -> tuple[Path, ...]:
    """The runs in a folder that is none itself, by name; empty where it holds none.

    Run directories (those of single ranks of one job count as one, its lowest rank's), else folders
    that hold the traces of one job each (`eager/rank0.json.gz`, `compiled/rank0.json.gz`, …). A
    folder that itself holds the ranks of one job has none inside.
    """
    folders = [p for p in sorted(folder.iterdir()) if p.is_dir() and not p.name.startswith(".")]
    runs = [path for path in folders if (path / names.RUN_JSON).is_file()]
    if runs:
        hidden = {path for job in sets_in(folder) for path in list(job.values())[1:]}
        return tuple(path for path in runs if path not in hidden)
    if ranks_in(folder):
        return ()
    return tuple(path for path in folders if ranks_in(path))


def runs_packed(file: Path) -> tuple[Path, ...]:
    """As `runs_inside` of an archive, or of the only folder in it; empty for any other file.

    Raises:
        BadInput: the archive is damaged or hostile.
    """
    if not is_archive(file):
        return ()
    folder = unpacked(file)
    inside = [path for path in folder.iterdir() if not path.name.startswith((".", "__MACOSX"))]
    if len(inside) == 1 and inside[0].is_dir():
        folder = inside[0]
    return () if (folder / names.RUN_JSON).is_file() else runs_inside(folder)

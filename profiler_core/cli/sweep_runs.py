"""From a path on the command line to the points of one sweep."""

from collections.abc import Sequence
from pathlib import Path

from profiler_core import run_directory
from profiler_core.analysis.side import Side
from profiler_core.analysis.sweep.series import PointRuns, Sweep, build_sweep
from profiler_core.errors import FusionscopeError, NotARun
from profiler_core.ingest.run import open_run
from profiler_core.model.run import SweepPlace
from profiler_core.session.folder import runs_in
from profiler_core.session.run import Run


def sweep_at(path: Path) -> Sweep:
    """The sweep of which `path` is a point, or a run of a point, or that `path` alone holds.

    Raises:
        NotARun: there is no sweep, or there are several.
    """
    if not path.is_dir():
        raise NotARun(f"{path} is no folder.", remedy="Pass the folder of one of its points.")
    point = _place_of(path)
    if point is not None:
        around = path.resolve().parent
        if (path / run_directory.RUN_JSON).is_file():
            around = around.parent
        return sweep_of(_points(around).get(point.id, []))
    sweeps = _points(path)
    if len(sweeps) == 1:
        return sweep_of(next(iter(sweeps.values())))
    if not sweeps:
        raise NotARun(
            f"{path} holds no sweep.",
            remedy="Capture one: capture WORKLOAD --sweep batch-size=1,8,32.",
        )
    raise NotARun(
        f"{path} holds {len(sweeps)} sweeps: {', '.join(sorted(sweeps))}.",
        remedy=f"Pass a folder of one of them, for example {max(sweeps.values())[0]}.",
    )


def sweep_of(folders: Sequence[Path]) -> Sweep:
    """The sweep whose points lie in these folders.

    Raises:
        NotARun: a folder holds no comparison.
        BadInput: they are no points of one sweep.
    """
    return build_sweep([PointRuns(folder, _sides(folder)) for folder in folders])


def _sides(folder: Path) -> tuple[Side, ...]:
    """The runs of one point, the baseline first; it may be alone."""
    runs = runs_in(folder)
    if not runs:
        raise NotARun(f"{folder} holds no run.", remedy="Pass the folders of whole captures.")
    return tuple(Run.open(path).point for path in runs)


def _points(folder: Path) -> dict[str, list[Path]]:
    """Id of a sweep -> the folders of its points, oldest first; others are passed over."""
    folders: dict[str, list[Path]] = {}
    for path in sorted(p for p in folder.iterdir() if p.is_dir() and not p.name.startswith(".")):
        point = _place_of(path)
        if point is not None and not (path / run_directory.RUN_JSON).is_file():
            folders.setdefault(point.id, []).append(path)
    return folders


def _place_of(folder: Path) -> SweepPlace | None:
    """The sweep of a run, or of the first run of a capture's folder; None: it is in none."""
    runs = [folder] if (folder / run_directory.RUN_JSON).is_file() else sorted(folder.iterdir())
    for run in runs:
        if (run / run_directory.RUN_JSON).is_file():
            try:
                point = open_run(run).record.sweep
            except FusionscopeError:  # damaged: another run of the point may say it
                continue
            if point is not None:
                return point
    return None

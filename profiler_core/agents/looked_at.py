"""Runs by their id, and what was computed of them: kept, because an agent asks again and again.

An id is a key of the library ("sample/customcnn/eager", as in the dashboard's addresses) or a path
on this machine.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from threading import Lock

from profiler_core.analysis.compare import ComparedNumbers, compare
from profiler_core.analysis.compilation.report import CompilationReport, compilation_report
from profiler_core.analysis.explanation import Explanation, Material, explanations
from profiler_core.cli.runs import paths_by_role, sides_of
from profiler_core.errors import BadInput, NothingToAnalyse
from profiler_core.store import library

_KEPT = 4  # comparisons; each holds its traces' columns (memory-mapped) and a ledger

_lock = Lock()  # the server asks in threads, and two must not read one trace at once


@dataclass(frozen=True)
class LookedAt:
    """A baseline with candidates, everything about them."""

    comparison: ComparedNumbers
    materials: tuple[Material, ...]
    explained: tuple[Explanation, ...]


def path_of(run: str) -> Path:
    """Where the run of an id lies.

    Raises:
        BadInput: there is none.
    """
    if not run.strip():
        raise BadInput("No run was named.", remedy="Take an id from list_runs, or pass a path.")
    prefix = run.split("/", 1)[0]
    if prefix in ("sample", "run", "upload", "history"):
        return library.entry(run, allowed=()).path
    path = Path(run).expanduser()
    if not path.exists():
        raise BadInput(
            f"There is no run {run[:200]}.", remedy="Take an id from list_runs, or pass a path."
        )
    return path


def looked_at(baseline: str, candidates: Sequence[str]) -> LookedAt:
    """Compare the runs; a capture alone stands for all of its runs.

    Raises:
        BadInput: one of them is not there, or there is nothing to compare with.
    """
    paths = _capture(baseline) if not candidates else []
    paths = paths or [path_of(baseline), *map(path_of, candidates)]
    if len(paths) < 2:
        raise BadInput("A comparison needs two runs.", remedy="Name a candidate too.")
    with _lock:
        return _looked_at(tuple(paths), tuple(map(_version, paths)))


def compiled(run: str) -> CompilationReport:
    """What the compiler's log of a run says, with causes and costs.

    Raises:
        NothingToAnalyse: the run has no log.
    """
    path = path_of(run)
    with _lock:
        (side,), (material,) = sides_of([path])
        if material.compile_log is None:
            raise NothingToAnalyse(
                f"{run} holds no log of the compiler.",
                remedy="Ask for the compiled run, or capture it with logs.",
            )
        return compilation_report(
            material.compile_log, trace=material.trace, measurement=side.run.record.measurement
        )


def material_of(run: str) -> Material:
    """The files of one run."""
    path = path_of(run)
    with _lock:
        return sides_of([path])[1][0]


def _capture(capture: str) -> list[Path]:
    """The runs of a capture by its id or folder, the baseline first; empty: it is none."""
    for group in library.comparisons():
        if group.key == capture:
            return [entry.path for entry in (group.baseline, *group.candidates)]
    folder = Path(capture).expanduser()
    if folder.is_dir() and not (folder / "run.json").is_file():
        baseline, candidates = paths_by_role(folder)
        return [baseline, *candidates]
    return []


@lru_cache(maxsize=_KEPT)
def _looked_at(paths: tuple[Path, ...], _versions: tuple[int, ...]) -> LookedAt:
    (first, *others), materials = sides_of(paths)
    comparison = compare(first, others)
    return LookedAt(comparison, tuple(materials), explanations(comparison, materials))


def _version(path: Path) -> int:
    """Changes when the run does: a capture may still be writing it."""
    record = path / "run.json"
    return (record if record.is_file() else path).stat().st_mtime_ns

"""Run directories of single ranks that lie beside each other, as a Recorder leaves them.

Under torchrun each rank writes a run directory of its own. Those of one job have the same
workload, variant and number of ranks, and a rank each; where a folder holds several such jobs,
the capture's id tells them apart.
"""

from collections.abc import Iterable, Mapping
from functools import lru_cache
from pathlib import Path
from typing import TypeVar

from profiler_core import run_directory as names
from profiler_core.errors import NotARun
from profiler_core.ingest.run_json import read_run_json
from profiler_core.model.run import RunRecord

T = TypeVar("T")


def rank_sets(records: Iterable[tuple[T, RunRecord]]) -> list[dict[int, T]]:
    """The jobs of several ranks among the runs of one folder, each by rank, the lowest first.

    Runs that are of no such job, or not clearly of one, are in none.
    """
    jobs: dict[tuple[object, ...], list[tuple[int, str, T]]] = {}
    for run, record in records:
        if record.world_size > 1:
            key = (record.workload, record.variant, record.world_size, repr(record.sweep))
            jobs.setdefault(key, []).append((record.rank, record.capture_id, run))
    sets = []
    for job in jobs.values():
        parts = [job]
        if not _distinct(job):
            by_id: dict[str, list[tuple[int, str, T]]] = {}
            for member in job:
                by_id.setdefault(member[1], []).append(member)
            parts = list(by_id.values())
        sets += [
            {rank: run for rank, _, run in sorted(part, key=lambda member: member[0])}
            for part in parts
            if len(part) > 1 and _distinct(part)
        ]
    return sets


def _distinct(members: list[tuple[int, str, T]]) -> bool:
    return len({rank for rank, _, _ in members}) == len(members)


def ranks_beside(run: Path) -> Mapping[int, Path]:
    """The run directories of the job that a run directory is a rank of, by rank; empty: of none."""
    record = record_in(run)
    if record is None or record.world_size < 2:
        return {}
    return next((s for s in sets_in(run.parent) if run in s.values()), {})


def sets_in(folder: Path) -> list[dict[int, Path]]:
    """The jobs among the run directories of a folder; those with ranks of their own stay out."""
    runs = [
        (path, record)
        for path in sorted(folder.iterdir())
        if not (path / "ranks").is_dir() and (record := record_in(path)) is not None
    ]
    return rank_sets(runs)


def record_in(run: Path) -> RunRecord | None:
    """The record of a run directory; None where there is none, or it cannot be understood."""
    return record_at(run / names.RUN_JSON)


def record_at(file: Path) -> RunRecord | None:
    """The record in a run.json; None where it is absent, or cannot be understood."""
    try:
        status = file.stat()
    except OSError:
        return None
    return _decoded(file, status.st_mtime_ns, status.st_size)


# mtime_ns and size only retire the entry of a changed file.
@lru_cache(maxsize=8192)
def _decoded(file: Path, mtime_ns: int, size: int) -> RunRecord | None:
    del mtime_ns, size
    try:
        return read_run_json(file)
    except (OSError, NotARun):
        return None  # opening it says what is wrong

"""The runs of one folder: which is the baseline, and in which order its candidates come.

For the command line, MCP and the library alike, whoever wrote the folder: a capture gives roles, a
Recorder or an upload gives none.
"""

from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from profiler_core import run_directory as names
from profiler_core.analysis.compilation.by_script import is_called_eager
from profiler_core.errors import NotARun
from profiler_core.ingest.file_kind import Role
from profiler_core.ingest.run import open_run
from profiler_core.ingest.run_files import file_in
from profiler_core.model.run import RunRecord
from profiler_core.ranks.find import RANKS
from profiler_core.ranks.rank_sets import rank_sets


@dataclass(frozen=True)
class Member:
    """One run of a folder."""

    path: Path
    record: RunRecord
    is_readable: bool  # it has a trace, or timed rounds


def in_order(members: Sequence[Member]) -> tuple[int, ...]:
    """Indices of the runs, the baseline first, then the candidates as timed, else by name.

    Run directories of single ranks of one job count as one: the lowest rank's stands for all. The
    baseline is the one whose role says so; without roles the one called eager, else the first one
    that can be shown.
    """
    on_other_ranks = other_ranks([(member.path, member.record) for member in members])
    indices = [index for index in range(len(members)) if index not in on_other_ranks]
    if not indices:
        return ()
    baseline = min(indices, key=lambda index: (_baseline_rank(members[index]), index))
    candidates = sorted(
        (index for index in indices if index != baseline), key=lambda index: _timed(members[index])
    )
    return (baseline, *candidates)


def other_ranks(runs: Sequence[tuple[Path, RunRecord]]) -> set[int]:
    """Indices of the runs that are ranks of a job whose lowest rank is here, too."""
    single = [
        (index, record)
        for index, (path, record) in enumerate(runs)
        if not (path / RANKS).is_dir()  # else it holds the other ranks of its job itself
    ]
    return {index for ranks in rank_sets(single) for index in list(ranks.values())[1:]}


def runs_of(folder: Path) -> list[Path]:
    """The runs in a folder, the baseline first; a folder alone stands for all of them.

    Raises:
        NotARun: there is no such folder, it is one run, or it holds fewer than two.
    """
    if not folder.exists():
        raise NotARun(
            f"{folder} does not exist.", remedy="Pass the folder of a capture, or two runs."
        )
    if not folder.is_dir() or (folder / names.RUN_JSON).is_file():
        raise NotARun(
            f"{folder} is one run, and a comparison needs two.",
            remedy="Name a candidate too, or pass the folder of a whole capture.",
        )
    runs = runs_in(folder)
    if len(runs) < 2:
        raise NotARun(
            f"{folder} holds {len(runs)} run{'' if len(runs) == 1 else 's'}, and a comparison "
            "needs two.",
            remedy="Pass the folder of one capture, or name the runs: compare BASELINE CANDIDATE.",
        )
    return runs


def runs_at(paths: Sequence[Path]) -> list[Path]:
    """The runs at these paths; a capture's folder alone stands for its sides by their role."""
    if len(paths) == 1 and paths[0].is_dir() and not (paths[0] / names.RUN_JSON).is_file():
        with suppress(NotARun):  # a folder somebody copied together is one run
            return runs_of(paths[0])
    return list(paths)


def runs_in(folder: Path) -> list[Path]:
    """The same of any number of runs; a run directory itself holds none."""
    members = []
    for path in sorted(folder.iterdir()):
        if not path.name.startswith((".", "_")) and is_run(path):
            files = open_run(path)
            timed = files.record.measurement is not None and bool(files.record.measurement.rounds)
            members.append(Member(path, files.record, timed or files.trace is not None))
    return [members[index].path for index in in_order(members)]


def is_run(path: Path) -> bool:
    """Is this the directory of a run, by its run.json or its trace?"""
    return path.is_dir() and ((path / names.RUN_JSON).is_file() or has_trace(path))


def has_trace(path: Path) -> bool:
    """Does a trace lie in this directory, under a name that captures give it?"""
    return file_in(path, Role.TRACE) is not None


def _baseline_rank(member: Member) -> tuple[int, bool]:
    """The lowest of a folder is its baseline; of two alike the one that can be shown."""
    record = member.record
    if record.role == "baseline":
        return 0, not member.is_readable
    if record.role is None and is_called_eager("", record):
        return 1, not member.is_readable
    return 2, not member.is_readable


def _timed(member: Member) -> tuple[int, str]:
    """Candidates in the order in which they were timed, else by name."""
    rounds = member.record.measurement.rounds if member.record.measurement else ()
    return (rounds[0].order if rounds else 1_000, member.path.name)


def versions_in(folder: Path) -> tuple[Path, Path]:
    """The two versions of one variant in the folder of `capture --against`, the other one first.

    Raises:
        NotARun: there is no such folder, or it has another number of such pairs than one.
    """
    by_variant: dict[str, dict[bool, Path]] = {}
    for path in runs_of(folder):
        record = open_run(path).record
        if record.spec.get("version"):
            versions = by_variant.setdefault(record.variant, {})
            versions[bool(record.spec.get("is_against"))] = path
    pairs = [versions for versions in by_variant.values() if len(versions) == 2]
    if len(pairs) == 1:
        return pairs[0][True], pairs[0][False]
    if not pairs:
        raise NotARun(
            f"{folder} holds no two versions of a variant.",
            remedy="Name a candidate too, or pass the folder of a capture --against.",
        )
    named = "; ".join(f"gate {pair[True]} {pair[False]}" for pair in pairs)
    raise NotARun(
        f"{folder} holds two versions of {len(pairs)} variants.", remedy=f"Judge each: {named}."
    )

"""Uploaded traces that are the ranks of one job: they become one run, not one run each."""

import re
from collections.abc import Callable, Hashable, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path, PurePosixPath

from profiler_core.ingest.kinds import rank_header
from profiler_core.ingest.rank_of import rank_in_name
from profiler_core.model.run import RunRecord
from profiler_core.ranks.find import RANKS
from profiler_core.ranks.rank_sets import rank_sets, record_at

# What tells ranks apart in names; without it, those of one job are alike.
_NUMBER = re.compile(r"((?:rank|worker)s?[ _.=/-]*)\d+", re.IGNORECASE)
_OF_RUN = re.compile(rf"(?P<run>.*?)/?{RANKS}/(?P<rank>\d+)$")


@dataclass(frozen=True)
class RankedPart:
    """A trace with its rank."""

    index: int  # among the traces that were looked at
    name: str
    rank: int
    n_ranks: int | None  # of its job, as the file itself says; None: it does not say

    @property
    def job_key(self) -> tuple[str, int | None]:
        """Equal for the ranks of one job among the files that say of how many they are."""
        return str(PurePosixPath(self.name).parent), self.n_ranks


def jobs_among(traces: Sequence[tuple[str, Path]]) -> list[dict[int, int]]:
    """The jobs among uploaded traces, each as rank -> place in `traces`.

    Files that say their rank belong together where they lie in one folder and are of as many
    ranks; others by names that differ in the number of the rank only. Two files of one rank are no
    job.

    Args:
        traces: (name, path) of each.
    """
    ranked = []
    for index, (name, path) in enumerate(traces):
        header = rank_header(path)
        is_told = header.rank is not None and (header.world_size or 0) > 1
        rank = header.rank if is_told else rank_in_name(name)
        if rank is not None:
            ranked.append(RankedPart(index, name, rank, header.world_size if is_told else None))
    jobs = _buckets([part for part in ranked if part.n_ranks], lambda part: part.job_key)
    assigned = {index for job in jobs for index in job.values()}
    rest = [part for part in ranked if part.index not in assigned]
    return jobs + _buckets(rest, lambda part: (_NUMBER.sub(r"\1#", part.name), part.n_ranks))


def _buckets(
    parts: Iterable[RankedPart], key: Callable[[RankedPart], Hashable]
) -> list[dict[int, int]]:
    buckets: dict[Hashable, list[RankedPart]] = {}
    for part in parts:
        buckets.setdefault(key(part), []).append(part)
    return [
        {member.rank: member.index for member in sorted(bucket, key=lambda member: member.rank)}
        for bucket in buckets.values()
        if len(bucket) > 1 and len({member.rank for member in bucket}) == len(bucket)
    ]


def rank_folder_below(folder: str, runs: Iterable[str]) -> tuple[str, str] | None:
    """(folder of the run, "ranks/<r>") for the folder of a rank of one of these runs."""
    match = _OF_RUN.match(folder)
    if match is None or match["run"] not in set(runs):
        return None
    return match["run"], f"{RANKS}/{match['rank']}"


def rank_folders_beside(records: Iterable[tuple[str, Path]]) -> dict[str, tuple[str, str]]:
    """Folder -> (folder of the job's lowest rank, "ranks/<r>"), for run.json files of single ranks.

    Of run directories that lie beside each other (`ranks.rank_sets`); the lowest rank's own folder
    is not among the keys.

    Args:
        records: (folder as uploaded, the file) of each run.json.
    """
    records_read = [(folder, record_at(path)) for folder, path in records]
    with_ranks = {match["run"] for folder, _ in records_read if (match := _OF_RUN.match(folder))}
    beside: dict[str, list[tuple[str, RunRecord]]] = {}
    for folder, record in records_read:
        if record is not None and folder not in with_ranks and not _OF_RUN.match(folder):
            beside.setdefault(str(PurePosixPath(folder).parent), []).append((folder, record))
    rank_folders: dict[str, tuple[str, str]] = {}
    for runs in beside.values():
        for job in rank_sets(runs):
            (_, lead), *followers = job.items()
            rank_folders |= {folder: (lead, f"{RANKS}/{rank}") for rank, folder in followers}
    return rank_folders


def job_name(names: Sequence[str]) -> str:
    """What the names of all ranks share: the folder, else the name without the rank."""
    folder = PurePosixPath(names[0]).parent.name
    shared = _NUMBER.sub("", PurePosixPath(names[0]).name).split(".")[0].strip(" _-=")
    return folder if folder and not _NUMBER.fullmatch(folder) else shared or folder or "ranks"

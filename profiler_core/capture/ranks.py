"""The processes of all ranks of one variant, controlled together.

Rank 0 works in the run directory itself; what rank r writes lies at the same place below
`ranks/<r>/`, a run directory of its own. A rank that fails ends the group: the others would wait
in a collective for ever.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from profiler_core import run_directory as names
from profiler_core.capture.process import Child, ChildFailure
from profiler_core.capture.run_writer import RunWriter, write_json

RANKS = "ranks"
# Structured logs of all further ranks of a run together, as they are packed.
MOST_LOG_BYTES = 256 << 20
_POLL_S = 0.02


def directory_of(run: Path, rank: int) -> Path:
    """The run directory of a rank."""
    return run if rank == 0 else run / RANKS / str(rank)


def path_of(path: Path, run: Path, rank: int) -> Path:
    """The same file of another rank; outside of the run it has the rank in its name."""
    if rank == 0:
        return path
    if not path.is_relative_to(run):
        return path.with_name(f"{path.stem}.rank{rank}{path.suffix}")
    return directory_of(run, rank) / path.relative_to(run)


def bound_logs(run: Path, most_bytes: int = MOST_LOG_BYTES) -> str:
    """Remove the structured logs of the highest ranks until the rest is within the limit.

    Args:
        run: the run directory of rank 0, whose own logs always stay.
        most_bytes: of the structured logs of the further ranks.

    Returns:
        A sentence that says whose logs are gone; "" where all of them stay.
    """
    ranks = sorted(int(path.name) for path in (run / RANKS).glob("*") if path.name.isdecimal())
    n_bytes, dropped = 0, []
    for rank in ranks:
        logs = list((directory_of(run, rank) / names.TORCH_TRACE).glob("*"))
        n_bytes += sum(log.stat().st_size for log in logs)
        if logs and n_bytes > most_bytes:
            dropped.append(rank)
            for log in logs:
                log.unlink()
    if not dropped:
        return ""
    return (
        f"The structured logs of {len(dropped)} of {len(ranks) + 1} ranks, from rank {dropped[0]} "
        f"on, were not kept: all together had {n_bytes >> 20} MiB."
    )


def run_folders(
    writer: RunWriter, n_ranks: int, gpus: Sequence[Mapping[str, Any]] = ()
) -> Iterator[Path]:
    """The run directory of each rank; further ones get a run.json, without rank 0's timing.

    Args:
        writer: of rank 0.
        n_ranks: of the job.
        gpus: by rank, what run.json's `environment` says of its GPU; () where no rank has one.
    """
    run, record = writer.directory, writer.record
    yield run
    for rank in range(1, n_ranks):
        folder = directory_of(run, rank)
        if folder.is_dir():
            own = {"run_id": f"{record['run_id']}.rank{rank}", "rank": rank, "status": "finished"}
            environment = {**record["environment"], **(gpus[rank] if rank < len(gpus) else {})}
            own_record = {**record, **own, "environment": environment, "measurement": {}}
            write_json(folder / names.RUN_JSON, own_record)
            yield folder


def rank_gpus(
    environments: Sequence[Mapping[str, Any]], facts: Sequence[Mapping[str, Any]]
) -> list[dict[str, Any]]:
    """By rank, the keys of run.json's `environment` that are of its GPU alone.

    Args:
        environments: as each rank's process tells them; without a GPU nothing comes of them.
        facts: by rank, of the library that samples its GPU; () where none does.
    """
    if not environments[0].get("gpu"):
        return []
    sampled = facts if len(facts) == len(environments) else [{}] * len(environments)
    return [
        {**{key: own[key] for key in own if key == "device" or key.startswith("gpu")}, **its_facts}
        for own, its_facts in zip(environments, sampled, strict=True)
    ]


def rank_uuids(gpus: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """For `measurement` of run.json, of `rank_gpus`; {} for one process."""
    uuids = [gpu.get("gpu_uuid") for gpu in gpus]
    return {"rank_gpu_uuids": uuids} if len(uuids) > 1 else {}


class RankGroup:
    """Offers what a Child does; commands go to every rank at once.

    Args:
        children: by rank.
        run: the run directory of rank 0.
        look: called often while waiting; raises to cancel.
    """

    def __init__(self, children: list[Child], run: Path, look: Callable[[], None]) -> None:
        self._children = children
        self._run = run
        self._look = look

    @property
    def pid(self) -> int:
        """The process id of rank 0."""
        return self._children[0].pid

    def ask(
        self, command: str, progress: Callable[[dict[str, Any]], None] | None = None, **fields: Any
    ) -> dict[str, Any]:
        """Send a command to every rank and wait for all; the result of rank 0.

        Raises:
            ChildFailure: the command failed on a rank, or a rank died.
        """
        self.tell(command, **fields)
        return self.answer(progress)

    def tell(self, command: str, **fields: Any) -> None:
        """Send a command; `answer` waits for its results."""
        for rank, child in enumerate(self._children):
            rank_fields = dict(fields)
            if "path" in rank_fields:
                rank_fields["path"] = str(path_of(Path(rank_fields["path"]), self._run, rank))
            child.tell(command, **rank_fields)

    def answer(self, progress: Callable[[dict[str, Any]], None] | None = None) -> dict[str, Any]:
        """Wait until every rank has answered; the result of rank 0."""
        return self.answers(progress)[0]

    def answers(
        self, progress: Callable[[dict[str, Any]], None] | None = None
    ) -> list[dict[str, Any]]:
        """Wait until every rank has answered; all results by rank."""
        results: dict[int, dict[str, Any]] = {}
        while len(results) < len(self._children):
            self._look()
            for rank, child in enumerate(self._children):
                if rank in results:
                    continue
                try:
                    result = child.poll(_POLL_S, progress if rank == 0 else None)
                except ChildFailure as failure:
                    raise ChildFailure(
                        failure.kind,
                        f"Rank {rank}: {failure.sentence}",
                        "",
                        failure.compile_failure,
                    ) from None
                if result is not None:
                    results[rank] = result
        return [results[rank] for rank in range(len(self._children))]

    def close(self) -> None:
        """Ask all to leave together, then make sure that they are gone."""
        for child in self._children:
            child.leave()
        for child in self._children:
            child.close()

    def kill(self) -> None:
        """End all now."""
        for child in self._children:
            child.kill()

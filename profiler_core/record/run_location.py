"""Where a recorded run lies, and which rank of which job writes it.

The ranks of a job write into one run directory, rank r into `ranks/<r>` below it, as those of a
capture do. Each rank computes the name of the run directory without talking to the others: a
collective would block a loop in which only one rank records. On one host the name is made of the
pid and start time of their common parent, torchrun's agent; over several hosts of the variables
that the launcher sets for all of them. A job that is started again is another attempt, whose ranks
meet in a run of their own (`_attempt`).
"""

from __future__ import annotations

import contextlib
import hashlib
import os
import re
import secrets
import sys
import time
from pathlib import Path
from typing import List, NamedTuple, Optional

from profiler_core import run_directory as names
from profiler_core.capture.run_writer import process_started_at

RANKS = "ranks"
_MOST_OF_A_NAME = 40
_CLAIM = ".recorder"  # in a run directory whose name several may compute
# Set by torchrun, by Slurm, by MPI, and by whoever follows torch.distributed's env:// rendezvous.
_OF_ONE_ATTEMPT = (
    "TORCHELASTIC_RUN_ID",
    "TORCHELASTIC_RESTART_COUNT",
    "SLURM_JOB_ID",
    "SLURM_STEP_ID",
    "SLURM_RESTART_COUNT",
    "PMIX_NAMESPACE",
    "MASTER_PORT",
)
_ADDRESS = "MASTER_ADDR"  # rank 0 may call its own host by another name than the others do
_ATTEMPT_KEY = "fusionscope/attempt"  # in the store of the process group


class Ranks(NamedTuple):
    """This process among those that make a step together."""

    rank: int
    world_size: int
    is_one_host: bool


class RunLocation(NamedTuple):
    """Where one rank writes. capture_id: of the whole job. directory: of this rank."""

    capture_id: str
    directory: Path


def ranks() -> Ranks:
    """The rank of this process: from the process group, else from torchrun's variables."""
    distributed = sys.modules.get("torch.distributed")
    if distributed is not None and distributed.is_available() and distributed.is_initialized():
        rank, world_size = distributed.get_rank(), distributed.get_world_size()
    else:
        rank, world_size = _whole("RANK", 0), _whole("WORLD_SIZE", 1)
    return Ranks(rank, world_size, _whole("LOCAL_WORLD_SIZE", world_size) == world_size)


def run_location(
    out: Path, workload: str, variant: str, process_ranks: Ranks, job: Optional[str], n_before: int
) -> RunLocation:
    """The run directory of this rank.

    Args:
        out: the folder for runs.
        workload: what is run.
        variant: eager, or how it is compiled.
        process_ranks: the rank of this process and the number of ranks.
        job: what the user calls the job; None to find out.
        n_before: how many Recorders this process had before this one.
    """
    title = "-".join(filter(None, (_slug(workload), _slug(variant))))
    if process_ranks.world_size == 1 and job is None:
        capture_id = "{}-{}-{}".format(_stamp(time.time()), title, secrets.token_hex(4))
        return RunLocation(capture_id, out / capture_id)
    if job is not None:
        head, shared = _slug(job), job
    elif process_ranks.is_one_host and Path("/proc/self/stat").is_file():
        started = process_started_at(os.getppid())
        head, shared = _stamp(started), "{} {}".format(os.getppid(), started)
    else:
        head, shared = "job", ""
    token = hashlib.sha256(" ".join([shared, *_attempt(job), str(n_before)]).encode()).hexdigest()[
        :6
    ]
    capture_id = "{}-{}-{}".format(head, title, token)
    folder = out / capture_id
    number = 1
    while not _claimed(_of_rank(folder, process_ranks.rank)):  # the same job once more
        number += 1
        folder = out / "{}-{}".format(capture_id, number)
    return RunLocation(folder.name, _of_rank(folder, process_ranks.rank))


def _attempt(job: Optional[str]) -> List[str]:
    """What all ranks of this start of the job share, and those of no other start.

    A rank that did not record in an earlier start finds its place there free, and would take it.
    The store of the process group tells starts apart whatever launched them: the rank that comes
    first leaves a word there, and no rank waits for another. Before there is a group, what the
    launcher says has to do.
    """
    distributed = sys.modules.get("torch.distributed")
    if distributed is not None and distributed.is_available() and distributed.is_initialized():
        with contextlib.suppress(Exception):  # a store of somebody's own that cannot do it
            store = distributed.distributed_c10d._get_default_store()
            return [bytes(store.compare_set(_ATTEMPT_KEY, "", secrets.token_hex(8))).hex()]
    shared = [os.environ.get(name, "") for name in _OF_ONE_ATTEMPT]
    is_one_agents = os.environ.get("LOCAL_WORLD_SIZE", "") == os.environ.get("WORLD_SIZE", "-")
    if is_one_agents and Path("/proc/self/stat").is_file():  # of torchrun; the next start's differs
        shared.append("{} {}".format(os.getppid(), process_started_at(os.getppid())))
    return shared if job is not None else [*shared, os.environ.get(_ADDRESS, "")]


def _claimed(directory: Path) -> bool:
    """Claim a run directory for this process; False: it is, or was, another one's.

    Two that begin at the same moment see no run.json of each other.
    """
    if (directory / names.RUN_JSON).exists():
        return False
    directory.mkdir(parents=True, exist_ok=True)
    try:
        (directory / _CLAIM).touch(exist_ok=False)
    except FileExistsError:
        return False
    return True


def _of_rank(folder: Path, rank: int) -> Path:
    return folder if rank == 0 else folder / RANKS / str(rank)


def _slug(text: str) -> str:
    return re.sub(r"[^a-z0-9]+", "-", text.lower()).strip("-")[:_MOST_OF_A_NAME]


def _stamp(seconds: float) -> str:
    return time.strftime("%Y%m%d-%H%M%S", time.gmtime(seconds))


def _whole(name: str, default: int) -> int:
    text = os.environ.get(name, "")
    return int(text) if text.isdigit() else default

"""What the checks of a job's ranks say together: as right as the rank that is furthest off."""

import json
import math
from collections.abc import Sequence
from typing import Any

from profiler_core import run_directory as names
from profiler_core.capture.ranks import directory_of
from profiler_core.capture.run_writer import RunWriter, write_json

_BY_BADNESS = ("right", "not comparable", "wrong")


def keep_numerics(writer: RunWriter, of_ranks: Sequence[dict[str, Any]]) -> None:
    """Put each rank's verdict into its own run.json, and the job's into that of rank 0.

    Args:
        writer: of rank 0.
        of_ranks: keys of `numerics` in run.json, by rank.
    """
    writer.record["numerics"] = numerics_of_job(of_ranks)
    for rank, numerics in enumerate(of_ranks[1:], start=1):
        path = directory_of(writer.directory, rank) / names.RUN_JSON
        if path.is_file():
            write_json(path, {**json.loads(path.read_bytes()), "numerics": numerics})


def numerics_of_job(of_ranks: Sequence[dict[str, Any]]) -> dict[str, Any]:
    """The numerics of the rank that is furthest off, with every rank named that is as bad.

    Args:
        of_ranks: keys of `numerics` in run.json, by rank; of a single process it is the answer.
    """
    if len(of_ranks) == 1:
        return of_ranks[0]
    order = sorted(range(len(of_ranks)), key=lambda rank: _badness(of_ranks[rank]), reverse=True)
    worst = of_ranks[order[0]]
    as_bad = [rank for rank in order if of_ranks[rank]["verdict"] == worst["verdict"]]
    reason = worst["reason"]
    if worst["verdict"] != "right":
        reason = "; ".join(f"rank {rank}: {of_ranks[rank]['reason']}" for rank in as_bad)
    return {**worst, "reason": reason, "n_ranks": len(of_ranks), "rank": order[0]}


def _badness(numerics: dict[str, Any]) -> tuple[int, float]:
    error, tolerance = numerics["rms_error"], numerics["tolerance"]
    if error is not None and tolerance:
        ratio = error / tolerance
    else:  # a tensor of another shape, or one that is not finite, is further off than any number
        ratio = math.inf if numerics["verdict"] == "wrong" else 0.0
    return _BY_BADNESS.index(numerics["verdict"]), ratio

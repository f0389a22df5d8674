"""What an agent may ask of runs that hold more: sweeps, ranks, hardware counters.

As in `tools.py`, names, docstrings and parameters are what it reads.
"""

from typing import Any

from profiler_core.agents.answer import page
from profiler_core.agents.runs import path_of
from profiler_core.cli.counters import counters_answer, report_of
from profiler_core.cli.json_output import plain
from profiler_core.cli.ranks import ranks_answer
from profiler_core.cli.sweep import sweep_answer
from profiler_core.cli.sweep_runs import sweep_at

_FEW_ROWS = 10
_LONGEST_NAME = 160  # names of templates run to thousands of characters


def sweep(run: str) -> dict[str, Any]:
    """A sweep over batch size or another option: from which value on compiling pays, each point.

    run: any run of any of its points, or the folder of a sweep.
    """
    answer: dict[str, Any] = plain(sweep_answer(sweep_at(path_of(run))))
    return answer


def ranks(place: str) -> dict[str, Any]:
    """Who waits for whom among the ranks of a distributed job, and in which collectives.

    place: the id of a run of several ranks, or a folder of rank traces, or a whole capture.
    """
    answer: dict[str, Any] = plain(ranks_answer(str(path_of(place))))
    return answer


def counters(
    run: str, contains: str = "", offset: int = 0, limit: int = _FEW_ROWS
) -> dict[str, Any]:
    """What Nsight Compute measured: DRAM and L2 bytes, bandwidth, occupancy, tensor pipe.

    run: one that holds counters, or a CSV file. contains: part of a kernel's name. Sums are of
    the whole file; estimated_bytes is what shapes demand.
    """
    answer = plain(counters_answer(report_of(path_of(run))))
    wanted_text = contains.lower()
    rows = [row for row in answer.pop("kernels") if wanted_text in row["name"].lower()]
    for row in rows:
        if len(row["name"]) > _LONGEST_NAME:
            row["name"] = f"{row['name'][:_LONGEST_NAME]}…"
    return {**answer, **page(rows, offset, limit)}


SPECIAL = (sweep, ranks, counters)

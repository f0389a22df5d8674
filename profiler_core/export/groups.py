"""Fusion groups in a merged trace: what each kernel carries, and the flows between the runs.

A flow leads from a group's first kernel in the aligned step of one run to that of the other. The
format wants flows to lead forward in time, and the faster run is ahead: so a flow begins at
whichever of the two starts first.
"""

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt
import polars as pl

from profiler_core.analysis.ledger.result import FusionLedger
from profiler_core.analysis.work import device_work
from profiler_core.export.chrome import Event, us
from profiler_core.model.trace import Trace

TraceRow = tuple[str, int]  # table of the trace, row in it


@dataclass(frozen=True)
class Membership:
    """The groups of one run's device events in one ledger."""

    ledger: FusionLedger
    group: npt.NDArray[np.int32]  # row of device_work -> group, -1
    suffix: str  # of the arguments: "" for the first candidate's ledger, "_2" for the next one's


@dataclass
class Landing:
    """Where an exported event ended up: its process, row and time in the file."""

    pid: int
    tid: int
    ts_ns: int


@dataclass
class GroupArguments:
    """Looks up the arguments of an event, and remembers where the flows of groups begin and end."""

    trace: Trace
    memberships: tuple[Membership, ...]
    step: int  # the aligned one
    first: dict[tuple[str, int], Landing] = field(default_factory=dict)  # (suffix, group) ->
    _work_row: dict[TraceRow, int] = field(init=False)
    _steps: list[int | None] = field(init=False)

    def __post_init__(self) -> None:
        work = device_work(self.trace)
        self._steps = work["step"].to_list()
        self._work_row = _work_rows(self.trace, work)

    def arguments(self, table: str, row: int) -> dict[str, Any]:
        """`fusion_group`, `fusion_group_of`, `fusion_kind` and `module`; empty for other events."""
        work_row = self._work_row.get((table, row))
        arguments: dict[str, Any] = {}
        if work_row is None:
            return arguments
        for membership in self.memberships:
            number = int(membership.group[work_row])
            if number < 0:
                continue
            group = membership.ledger.groups[number]
            arguments[f"fusion_group{membership.suffix}"] = number
            arguments[f"fusion_group_of{membership.suffix}"] = group.title
            arguments[f"fusion_kind{membership.suffix}"] = group.kind
            if group.module is not None:
                arguments[f"module{membership.suffix}"] = group.module
        return arguments

    def landed(self, table: str, row: int, landing: Landing) -> None:
        """Remember where an event went if it is the first of its group in the aligned step."""
        work_row = self._work_row.get((table, row))
        if work_row is None or self._steps[work_row] != self.step:
            return
        for membership in self.memberships:
            number = int(membership.group[work_row])
            earliest = self.first.get((membership.suffix, number))
            if number >= 0 and (earliest is None or landing.ts_ns < earliest.ts_ns):
                self.first[membership.suffix, number] = landing


def group_flows(
    baseline: GroupArguments, candidate: GroupArguments, suffix: str, first_id: int
) -> Iterator[Event]:
    """One flow for each group that both runs have in the aligned step.

    Args:
        baseline: after its events were written.
        candidate: too.
        suffix: of the candidate's ledger on the baseline's side.
        first_id: ids of flows are unique in a file; this one and those after it are used.
    """
    for number, baseline_landing in sorted(
        (group, landing) for (of, group), landing in baseline.first.items() if of == suffix
    ):
        candidate_landing = candidate.first.get(("", number))
        if candidate_landing is None:
            continue
        flow = {"name": "fusion group", "cat": "fusion", "id": first_id + number}
        earlier, later = sorted(
            (baseline_landing, candidate_landing), key=lambda landing: landing.ts_ns
        )
        yield {"ph": "s", **flow, "pid": earlier.pid, "tid": earlier.tid, "ts": us(earlier.ts_ns)}
        yield {
            "ph": "f",
            "bp": "e",
            **flow,
            "pid": later.pid,
            "tid": later.tid,
            "ts": us(later.ts_ns),
        }


def _work_rows(trace: Trace, work: pl.DataFrame) -> dict[TraceRow, int]:
    """Rows of the trace's tables -> rows of device_work: on a CPU the operators are the work."""
    if trace.has_device_events:
        return {("device", row): row for row in range(work.height)}
    keys = ("ts_ns", "dur_ns", "name")
    ops = trace.ops.with_row_index("row").select("row", *keys, stream="tid")
    rows = work.with_row_index("work").select("work", *keys, "stream")
    joined = ops.join(rows, on=(*keys, "stream"), how="inner").unique("work", keep="first")
    return {("ops", row): work_row for row, work_row in joined.select("row", "work").iter_rows()}

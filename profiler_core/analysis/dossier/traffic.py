"""Bytes of every kernel's operators, from shapes: what a roofline of single kernels rests on."""

from collections.abc import Mapping

import numpy as np

from profiler_core.analysis.dossier.roofline import Traffic
from profiler_core.analysis.ledger.bytes_moved import bytes_by_call, counts_once
from profiler_core.analysis.ledger.looked_up import looks_up
from profiler_core.analysis.ledger.sides import LedgerSide, read_side


def traffic_by_kernel(side: LedgerSide) -> Mapping[str, Traffic]:
    """Name of a kernel -> bytes of the operators (or generated calls) that it is a part of.

    Of an operator that calls others, the one that launches the kernel: of `aten::linear` under
    autocast its casts have their own bytes. A kernel of which any operator's shapes are unknown is
    not in it: the rest would be too few.
    """
    run = read_side(side)
    largest: dict[str, int] = {}  # of one call, bytes
    totals: dict[str, np.ndarray[tuple[int], np.dtype[np.int64]]] = {}
    unknown: set[str] = set()
    once: set[str] = set()
    with_lookups: set[str] = set()
    for step, executions in zip(run.steps, run.executions, strict=True):
        graph_of = {execution.run: execution.graph for execution in executions}
        calls = (
            call
            for unit in step.units
            for call in bytes_by_call(
                unit, run.names, graph_of.get(unit.run) if unit.run is not None else None
            )
        )
        for unit, moved in calls:
            names = {run.names[row] for row in unit.events if row in run.names}
            if not names:
                continue
            if moved is None:
                unknown |= names
                continue
            if counts_once(unit):
                once |= names
            if looks_up(unit):
                with_lookups |= names
            rows = step.form.like(unit.events)
            time_ns = int(run.durations[rows].sum())
            amounts = np.array([sum(moved) * len(rows), time_ns, len(rows), rows.size], np.int64)
            for name in names:
                totals[name] = totals.get(name, 0) + amounts
                largest[name] = max(largest.get(name, 0), sum(moved))
    traffic = {}
    for name, amounts in totals.items():
        if name not in unknown:
            n_bytes, time_ns, n_calls, n_events = map(int, amounts)
            traffic[name] = Traffic(
                n_bytes, time_ns, n_calls, n_events, largest[name],
                counts_once=name in once, looks_up=name in with_lookups,
            )  # fmt: skip
    return traffic

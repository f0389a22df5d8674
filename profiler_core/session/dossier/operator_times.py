"""What an operator takes in each run: by its own calls, by the ledger, or of a run alone."""

from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from math import isclose

from profiler_core.analysis.dossier.callers import callers_on_cpu
from profiler_core.analysis.dossier.elsewhere import SAME_TIME
from profiler_core.analysis.dossier.record import RunTime
from profiler_core.analysis.finding_rules.op_work import OpWork
from profiler_core.analysis.ledger.result import FusionGroup
from profiler_core.analysis.operators import OperatorRow
from profiler_core.session.comparison import Comparison
from profiler_core.session.dossier.common import per_step
from profiler_core.session.dossier.ledger_runs import LedgerRuns
from profiler_core.session.pair import Pair


def ledger_times(
    pair: Pair, groups: Sequence[FusionGroup], name: str, row: OperatorRow | None
) -> tuple[RunTime, ...]:
    """As on page Modules: in one run its part of the kernels that do the operator's work.

    What the candidate alone calls by this name, for other operators, has the time of these calls.
    Calls are counted where the time is theirs and of nothing else.
    """
    times = []
    for side, run in enumerate((0, pair.number + 1)):
        calls = [
            (group.per_step(operator.time_ns, side), group.per_step(operator.n, side))
            for group in groups
            for operator in (group.baseline, group.candidate)[side].operators
            if operator.op == name
        ]
        n = sum(n for _, n in calls) if calls else None
        ns = sum(ns for ns, _ in calls) if calls else None
        if row is not None and not row.is_only_in_candidate:
            calls_ns, ns = ns, row.step_ns(side)
            if not (calls_ns is not None and isclose(calls_ns, ns, rel_tol=SAME_TIME)):
                n = None  # kernels that replaced other calls are in the time
        times.append(RunTime(run, pair.labels[side], ns, n))
    return tuple(times)


def alone_times(shown: LedgerRuns, name: str, own: tuple[RunTime, ...]) -> tuple[RunTime, ...]:
    """Of a run alone without calls of it, as a graph's replay, its time on page *Modules*."""
    row = next((row for row in shown.divided.operators if row.op == name), None)
    if row is None:
        return own
    return tuple(
        replace(time, time_ns=row.step_ns(0), n=row.calls_per_step)
        if time.run in shown.runs and time.time_ns is None and not time.inside
        else time
        for time in own
    )


def own_times(
    comparison: Comparison, works: dict[int, tuple[OpWork, ...]], name: str
) -> tuple[RunTime, ...]:
    """Of its own calls in each run, or the operators that call it there on a CPU.

    Args:
        comparison: of the runs.
        works: its calls, by the run's place.
        name: of the operator.
    """
    times = []
    for number, ops in works.items():
        label = comparison.labels[number]
        if not ops:
            trace = comparison.runs[number].required_trace()
            times.append(RunTime(number, label, inside=callers_on_cpu(trace, name)))
            continue
        calls = [ns for op in ops for ns in op.times_ns]
        of_run = partial(per_step, comparison, number)
        times.append(
            RunTime(
                number, label, of_run(sum(calls)), of_run(len(calls)),
                sum(calls) / len(calls), min(calls), max(calls),
            )
        )  # fmt: skip
    return tuple(times)

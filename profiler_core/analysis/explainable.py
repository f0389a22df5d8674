"""Can two runs be put beside each other kernel by kernel, and why not."""

from profiler_core.analysis.compare import ComparedNumbers
from profiler_core.analysis.environment import is_another_model
from profiler_core.analysis.ledger.result import FusionLedger
from profiler_core.analysis.trace_notes import MARK_STEPS, cut_clause, unmarked_clause
from profiler_core.analysis.unnamed_code import unnamed_code_clause
from profiler_core.analysis.wording.incomparable import clause_of_unrelated
from profiler_core.analysis.wording.replays import graph_capture_clause
from profiler_core.units import format_share

# Below, of either side's time, two runs are taken for different models.
_LEAST_COVERAGE = 0.75


def not_explained(comparison: ComparedNumbers, number: int) -> str | None:
    """Why the two cannot be put beside each other kernel by kernel; None: they can."""
    sides = (comparison.baseline, comparison.sides[number])
    without = [side.label for side in sides if side.summary is None]
    if without:
        return f"{' and '.join(without)} {'has' if len(without) == 1 else 'have'} no trace."
    pair = comparison.candidates[number]
    if pair.cut_traces:
        return cut_clause(pair.cut_traces)
    if pair.unmarked_traces:
        return f"{unmarked_clause(pair.unmarked_traces)} {MARK_STEPS}"
    if pair.graph_captures:
        return graph_capture_clause(pair.graph_captures)
    if pair.unnamed_code:
        return unnamed_code_clause(pair.unnamed_code)
    if pair.unrelated:
        return unrelated_sentence((pair.baseline_label, pair.label), pair.unrelated)
    if is_another_model(pair.environment_differs):
        return f"{pair.baseline_label} and {pair.label} are different models."
    idle = [side.label for side in sides if side.summary and not side.summary.by_category]
    if idle:
        return f"the trace of {' and that of '.join(idle)} holds neither kernels nor operators."
    baseline_kind, candidate_kind = pair.device_kinds
    if baseline_kind != candidate_kind:
        return "one trace has the kernels of a GPU, the other only operators on the host."
    return None


def unrelated_sentence(labels: tuple[str, str], why: str) -> str:
    """That two runs look unrelated, and why, as `look_unrelated` says it."""
    return f"{clause_of_unrelated(labels)}: {why}."


def is_named(comparison: ComparedNumbers, number: int) -> bool:
    """Do both runs name one workload, so that no ledger has to tell whether they are related?"""
    records = [side.run.record for side in (comparison.baseline, comparison.sides[number])]
    return bool(records[0].workload) and records[0].workload == records[1].workload


def look_unrelated(ledger: FusionLedger, labels: tuple[str, str]) -> str:
    """Why two runs that nobody names look like two programs, a clause; "": they do not.

    Runs of one program leave a few per cent that nobody can place. Of two unrelated models kernels
    of the same names still find each other, but a quarter of one side at least finds nothing: what
    is placed is no measure of what they share, so what is not placed is told. What ranks exchange
    does not count: one process of the same program has none of it.

    Args:
        ledger: of the pair.
        labels: what the two are called.
    """
    parts = [
        f"{format_share(share)} of the device time of {labels[side]} matches nothing in "
        f"{labels[1 - side]}"
        for side in (0, 1)
        if (share := _unmatched_share(ledger, side)) > 1 - _LEAST_COVERAGE
    ]
    return " and ".join(parts)


def _unmatched_share(ledger: FusionLedger, side: int) -> float:
    """Of a side's device time what nobody can place, communication left out of both."""
    time_ns = unmatched_ns = 0
    for group in ledger.groups:
        for kernel in (group.baseline, group.candidate)[side].kernels:
            own_ns = kernel.time_ns * (kernel.category != "communication")
            time_ns += own_ns
            unmatched_ns += own_ns * (group.kind == "unmatched")
    return unmatched_ns / time_ns if time_ns else 0.0

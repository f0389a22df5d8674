"""Why two runs cannot be compared, by what their traces lack."""

from collections.abc import Callable, Mapping

from profiler_core.analysis.compare import CandidateComparison
from profiler_core.analysis.trace_notes import MARK_STEPS, cut_clause, unmarked_clause
from profiler_core.analysis.unnamed_code import unnamed_code_clause
from profiler_core.analysis.verdict import Claim
from profiler_core.analysis.wording.replays import graph_capture_clause
from profiler_core.analysis.wording.sentence import Statement


def _incomparable(c: CandidateComparison, reason: str) -> Statement:
    return Statement((f"{c.label} and {c.baseline_label} cannot be compared",), reason)


def _cut_trace(c: CandidateComparison) -> Statement:
    return _incomparable(c, cut_clause(c.cut_traces))


def _unmarked_steps(c: CandidateComparison) -> Statement:
    return _incomparable(c, f"{unmarked_clause(c.unmarked_traces)} {MARK_STEPS}")


def _empty_trace(c: CandidateComparison) -> Statement:
    empty = " and of ".join(c.empty_traces)
    return _incomparable(c, f"the trace of {empty} holds neither steps nor work of a device.")


def _other_device(c: CandidateComparison) -> Statement:
    without = c.label if c.device_kinds[1] == "cpu" else c.baseline_label
    return _incomparable(c, f"the trace of {without} holds no GPU events.")


def _no_trace(c: CandidateComparison) -> Statement:
    return _incomparable(c, "a trace is missing.")


INCOMPARABLE: Mapping[Claim, Callable[[CandidateComparison], Statement]] = {
    Claim.CUT_TRACE: _cut_trace,
    Claim.UNMARKED_STEPS: _unmarked_steps,
    Claim.GRAPH_CAPTURE: lambda c: _incomparable(c, graph_capture_clause(c.graph_captures)),
    Claim.UNNAMED_CODE: lambda c: _incomparable(c, unnamed_code_clause(c.unnamed_code)),
    Claim.EMPTY_TRACE: _empty_trace,
    Claim.OTHER_DEVICE: _other_device,
    Claim.NO_TRACE: _no_trace,
}


def clause_of_unrelated(labels: tuple[str, str]) -> str:
    """What is said of two runs that nobody names and of which too little can be matched."""
    return f"{labels[0]} and {labels[1]} look like different programs"

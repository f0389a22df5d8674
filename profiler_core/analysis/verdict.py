"""Is the candidate worth it? What may be claimed of a pair, and what is to be said besides.

`verdict_kind.judge` decides what the numbers allow; here is decided which claim that makes, and why
there is none. Words are made of it by `wording.verdict`.
"""

from dataclasses import dataclass
from enum import StrEnum

from profiler_core.analysis.compare import CandidateComparison, ComparedNumbers
from profiler_core.analysis.verdict_kind import VerdictKind


class Claim(StrEnum):
    """What is said of a candidate. The last nine carry no judgement."""

    WRONG = "gives wrong results"
    SLOWER = "slower"
    FASTER = "faster"
    NO_DIFFERENCE = "no difference"
    UNCERTAIN = "faster or slower"  # the interval holds 1 and is too wide
    OTHER_WORKLOAD = "another workload"
    NOT_FINISHED = "run not finished"
    TOO_FEW_ROUNDS = "too few rounds"
    CUT_TRACE = "cut trace"
    UNMARKED_STEPS = "one side without marked steps"
    GRAPH_CAPTURE = "capture of graphs"
    UNNAMED_CODE = "compiled code without names"
    EMPTY_TRACE = "empty trace"
    OTHER_DEVICE = "one side without GPU events"
    NO_TRACE = "no trace"
    PROFILED = "profiled times"


class Detail(StrEnum):
    """What is said after the claim."""

    CUT = "a trace is cut"
    COMPILED_NOTHING = "the candidate is eager"
    NOT_EAGER = "the script compiles in the baseline"
    UNFAIR = "clocks apart, or throttled"
    NUMERICS = "are the results right"
    THROUGHPUT = "tokens or samples per second"
    COMPILE_COST = "cost of compiling, and break-even"
    MEMORY = "peak memory"
    ENERGY = "energy per step"
    NOT_IN_TURNS = "not timed in turns"
    ENVIRONMENT = "what else differs"


@dataclass(frozen=True)
class Verdict:
    """A claim on one candidate with the numbers it rests on, and details, the gravest first."""

    kind: VerdictKind
    claim: Claim
    numbers: CandidateComparison  # ns and bytes per step
    details: tuple[Detail, ...]


def verdict(comparison: CandidateComparison) -> Verdict:
    """The verdict on one candidate."""
    applies = {
        Detail.CUT: bool(comparison.cut_traces) and comparison.step_time.ratio is not None,
        Detail.COMPILED_NOTHING: comparison.compiled_nothing,
        Detail.NOT_EAGER: comparison.baseline_compiled is not None
        and comparison.step_time.ratio is not None,
        Detail.UNFAIR: comparison.fairness is not None and comparison.fairness.fair is False,
        Detail.NUMERICS: comparison.numerics is not None,
        Detail.THROUGHPUT: None not in comparison.throughput,
        Detail.COMPILE_COST: comparison.compile.seconds is not None,
        Detail.MEMORY: comparison.memory.reserved_compares
        and None not in comparison.memory.peak_reserved_bytes,
        Detail.ENERGY: None not in comparison.energy_per_step_j,
        Detail.NOT_IN_TURNS: comparison.step_time.interval is not None
        and comparison.interleaved is False,
        Detail.ENVIRONMENT: bool(comparison.environment_differs),
    }
    details = tuple(detail for detail in Detail if applies[detail])
    return Verdict(comparison.verdict, _claim(comparison), comparison, details)


def leading(comparison: ComparedNumbers) -> CandidateComparison | None:
    """The candidate that a headline is about: the fastest; None: none can be compared.

    A fast wrong answer leads too, so that it is seen first. Another workload leads only where there
    is nothing else.
    """
    comparable = [c for c in comparison.candidates if c.step_time.ratio is not None]
    comparable = [c for c in comparable if not c.workloads_differ] or comparable
    return max(comparable, key=lambda c: c.step_time.ratio or 0.0) if comparable else None


def _claim(c: CandidateComparison) -> Claim:
    if c.verdict == "no_verdict":
        return _without_verdict(c)
    return {
        "wrong_numerics": Claim.WRONG, "slower": Claim.SLOWER, "faster": Claim.FASTER,
        "no_difference": Claim.NO_DIFFERENCE, "cannot_be_told": Claim.UNCERTAIN,
    }[c.verdict]  # fmt: skip


def _without_verdict(c: CandidateComparison) -> Claim:
    """Why the numbers are measurements, if there are any."""
    if c.workloads_differ:
        return Claim.OTHER_WORKLOAD
    if c.status in ("failed", "cancelled", "lost") and c.step_time.ratio is None:
        return Claim.NOT_FINISHED
    if c.step_time.clock == "unprofiled":
        return Claim.TOO_FEW_ROUNDS
    if c.cut_traces:
        return Claim.CUT_TRACE
    if c.unmarked_traces:
        return Claim.UNMARKED_STEPS
    if c.graph_captures:
        return Claim.GRAPH_CAPTURE
    if c.unnamed_code:
        return Claim.UNNAMED_CODE
    if c.empty_traces:
        return Claim.EMPTY_TRACE
    if set(c.device_kinds) == {"gpu", "cpu"}:
        return Claim.OTHER_DEVICE
    return Claim.NO_TRACE if None in c.device_time_ns else Claim.PROFILED

"""Why a candidate differs from its baseline: waterfall, fusion ledger and findings of one pair.

`session.pair.Pair` asks here for all who show it. What cannot be computed is None, with a
sentence; one part that fails takes no other with it.
"""

import logging
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import TypeVar

import numpy as np
import numpy.typing as npt

from profiler_core.analysis.compare import ComparedNumbers
from profiler_core.analysis.compilation.report import CompilationReport, compilation_report
from profiler_core.analysis.compilation.skipped_frames import Other
from profiler_core.analysis.counters.groups import MeasuredLedger, measured_ledger
from profiler_core.analysis.counters.join import Joined, join
from profiler_core.analysis.counters.report import joined_notes
from profiler_core.analysis.device_peaks import peaks_of
from profiler_core.analysis.explainable import not_explained
from profiler_core.analysis.findings import Facts, Finding, findings, run_findings
from profiler_core.analysis.ledger.ledger import FusionLedger, LedgerSide, fusion_ledger
from profiler_core.analysis.ranks.job import Job
from profiler_core.analysis.ranks.job_ledger import JobLedger
from profiler_core.analysis.ranks.overlap import Overlap, overlap
from profiler_core.analysis.ranks.rank_compiling import RankCompiling
from profiler_core.analysis.shared_categories import sides_of, with_known_categories
from profiler_core.analysis.span import PER_STEP
from profiler_core.analysis.summary import Summary
from profiler_core.analysis.telemetry.run import RunTelemetry
from profiler_core.analysis.trace_notes import cut_clause
from profiler_core.analysis.unfused.report import Unfused, unfused
from profiler_core.analysis.waterfall import Waterfall, waterfall
from profiler_core.analysis.what_if.tried import tried_beside
from profiler_core.analysis.work import device_work
from profiler_core.errors import FusionscopeError, NothingToAnalyse
from profiler_core.model.compilation import CompileLog
from profiler_core.model.counters import Counters
from profiler_core.model.inductor import InductorLog
from profiler_core.model.run import RunRecord
from profiler_core.model.trace import Trace

_log = logging.getLogger(__name__)
Result = TypeVar("Result")


@dataclass(frozen=True)
class Material:
    """What was read of one run; None: it has no such file."""

    trace: Trace | None = None
    code: InductorLog | None = None  # graphs and generated kernels
    compile_log: CompileLog | None = None
    stacks: Trace | None = None  # the attribution pass, with Python calls
    counters: Counters | None = None  # what Nsight Compute measured
    problems: tuple[str, ...] = ()  # files that are there and cannot be read, a sentence each
    left_out: tuple[str, ...] = ()  # logs of another process than the trace's, a sentence each
    rank_compiling: tuple[RankCompiling, ...] = ()  # of a job of ranks, by their own logs
    job: Job | None = None  # of these ranks
    # Of each device event, as `share_beside.share_of` takes it; None: no job of ranks.
    shares_beside: npt.NDArray[np.float64] | None = None

    @property
    def ledger_side(self) -> LedgerSide | None:
        """As the ledger takes it; None without a trace."""
        if self.trace is None:
            return None
        code = self.code if self.code and self.code.says_something else None
        return LedgerSide(self.trace, code, self.stacks, self.left_out)


@dataclass(frozen=True)
class Explanation:
    """One candidate against the baseline. None: it cannot be computed, and `notes` say why."""

    waterfall: Waterfall | None
    ledger: FusionLedger | None
    findings: tuple[Finding, ...] | None
    notes: tuple[str, ...]
    measured: MeasuredLedger | None = None  # counters of the groups, where a run has any
    # What the candidate passes through memory between two calls of its generated code.
    not_fused: tuple[Unfused, ...] = ()
    job_ledger: JobLedger | None = None  # the groups on every rank of a job
    overlap: Overlap | None = None  # of two jobs of ranks


def explain(
    comparison: ComparedNumbers,
    number: int,
    baseline: Material,
    candidate: Material,
    *,
    others: Sequence[Other] = (),
    make_ledger: Callable[[], FusionLedger] | None = None,
    make_report: Callable[[], CompilationReport | None] | None = None,
    make_job_ledger: Callable[[], JobLedger | None] = lambda: None,
) -> Explanation:
    """Explain the difference between the baseline and candidate `number`.

    Args:
        comparison: of both, and of whatever other candidates there are.
        number: which candidate.
        baseline: its files.
        candidate: its files.
        others: runs of the candidate's workload, to tell what its skipped frames lost.
        make_ledger: gives the ledger of this pair, as `pair_ledger` does; None: it is made here.
        make_report: gives what the candidate's compiler did; None: it is made here.
        make_job_ledger: gives what the ledger's groups take on every rank; None: no job.
    """
    notes: list[str] = [*baseline.problems, *candidate.problems]
    missing = not_explained(comparison, number)
    make_ledger = make_ledger or partial(pair_ledger, comparison, baseline, candidate)
    make_report = make_report or partial(
        _report, comparison.sides[number].run.record, candidate, others
    )
    ledger = None
    if missing is None:
        ledger = _attempt("The fusion ledger", notes, make_ledger)
    measured = _measured(ledger, (baseline, candidate), notes) if ledger is not None else None
    over_ranks = None
    if ledger is not None:
        over_ranks = _attempt("The ledger over all ranks", notes, make_job_ledger)
    bars = None
    if missing is None:
        bars = _attempt(
            "The waterfall", notes, lambda: pair_waterfall(comparison, number, ledger=ledger)
        )
    is_cut = candidate.trace is not None and candidate.trace.tally.is_cut
    fired = (
        None
        if is_cut
        else _attempt(
            "The findings",
            notes,
            lambda: _findings(
                comparison,
                number,
                (baseline.trace, candidate),
                (ledger, over_ranks),
                make_report(),
                measured,
            ),
        )
    )
    if is_cut:
        notes.append(f"No findings: {cut_clause([comparison.sides[number].label])}")
    if missing is not None:
        notes.append(f"Neither waterfall nor fusion ledger: {missing}")
    if fired is None and candidate.trace is None:
        notes.append(f"No findings: {comparison.sides[number].label} has no trace.")
    not_fused = _attempt(
        "What was not fused", notes, lambda: _unfused(comparison, number, candidate)
    )
    return Explanation(
        bars,
        ledger,
        fired,
        tuple(notes),
        measured,
        not_fused or (),
        over_ranks,
        pair_overlap(comparison, number),
    )


def pair_overlap(comparison: ComparedNumbers, number: int) -> Overlap | None:
    """What became of the overlap of compute and transfers; None where not both are jobs."""
    sides = (comparison.baseline, comparison.sides[number])
    left, right = (side.summary.critical if side.summary is not None else None for side in sides)
    return overlap((left, right))


def _unfused(comparison: ComparedNumbers, number: int, candidate: Material) -> tuple[Unfused, ...]:
    side, summary = candidate.ledger_side, comparison.sides[number].summary
    if side is None or summary is None or summary.device_kind != "gpu":
        return ()
    return unfused(side, candidate.compile_log, peaks_of(summary.device.name))


def pair_ledger(
    comparison: ComparedNumbers,
    baseline: Material,
    candidate: Material,
    others: Iterable[Material] = (),
) -> FusionLedger:
    """What each operator of the baseline became; kinds of kernels as all runs share them.

    Args:
        comparison: of both, and of whatever other candidates there are.
        baseline: its files.
        candidate: its files.
        others: of further runs, which may show what a CUDA graph without a log replays.

    Raises:
        NothingToAnalyse: one of them has no trace.
    """
    left, right = baseline.ledger_side, candidate.ledger_side
    if left is None or right is None:
        raise NothingToAnalyse(
            "There is no fusion ledger without the traces of both runs.",
            remedy="Capture both runs with the profiled pass.",
        )
    further = (side for other in others if (side := other.ledger_side) is not None)
    ledger = fusion_ledger(left, right, further)
    return with_known_categories(ledger, comparison.category_by_name)


def pair_waterfall(
    comparison: ComparedNumbers, number: int, *, ledger: FusionLedger | None = None
) -> Waterfall:
    """From the baseline's step to the candidate's, both on one clock; kinds as all runs share them.

    On the profiler's where one was not timed, or its trace marks no steps: all that a trace holds
    is no part of a step that was timed.

    Args:
        comparison: of both, and of whatever other candidates there are.
        number: which candidate.
        ledger: of the pair; with it the bars open into groups.

    Raises:
        NothingToAnalyse: one of them has no trace.
    """
    every = sides_of(comparison)
    left, right = every[0].summary, every[number + 1].summary
    if left is None or right is None:
        raise NothingToAnalyse(
            f"Where the time of the step went is unknown: {not_explained(comparison, number)}",
            remedy="Capture both runs with the profiled pass.",
        )
    time = comparison.candidates[number].step_time
    timed = None
    are_steps = left.span == right.span == PER_STEP
    if time.clock == "unprofiled" and time.baseline_ns is not None and are_steps:
        timed = (float(time.baseline_ns), float(time.candidate_ns or 0))
    return waterfall((left, right), timed, ledger)


def _findings(
    comparison: ComparedNumbers,
    number: int,
    read: tuple[Trace | None, Material],
    ledgers: tuple[FusionLedger | None, JobLedger | None],
    report: CompilationReport | None,
    measured: MeasuredLedger | None,
) -> tuple[Finding, ...] | None:
    side = sides_of(comparison)[number + 1]
    baseline, trace = read[0], read[1].trace
    if side.summary is None or trace is None:
        return None
    return findings(
        Facts(
            trace,
            side.summary,
            side.run.record,
            comparison.candidates[number],
            ledgers[0],
            report,
            side.telemetry,
            measured,
            baseline,
            tried_beside(comparison, number),
            read[1].code,
            ledgers[1],
            read[1].rank_compiling,
            read[1].job,
            read[1].shares_beside,
            place=number + 1,
        )
    )


def _measured(
    ledger: FusionLedger, materials: Sequence[Material], notes: list[str]
) -> MeasuredLedger | None:
    """Counters of the groups; None where neither run has any."""
    joined: list[Joined | None] = []
    for material in materials:
        counters, trace = material.counters, material.trace
        if counters is None or trace is None:
            joined.append(None)
            continue
        work = partial(join, counters, device_work(trace))
        joined.append(_attempt("The join of trace and counters", notes, work))
        notes.extend(joined_notes(joined[-1]))
    left, right = joined
    return measured_ledger(ledger, left, right) if left or right else None


def _report(
    record: RunRecord, material: Material, others: Sequence[Other] = ()
) -> CompilationReport | None:
    if material.compile_log is None:
        return None
    return compilation_report(
        material.compile_log,
        trace=material.trace,
        measurement=record.measurement,
        others=others,
    )


def explain_run(
    record: RunRecord,
    summary: Summary | None,
    material: Material,
    sampled: RunTelemetry | None = None,
    make_report: Callable[[], CompilationReport | None] | None = None,
) -> tuple[tuple[Finding, ...] | None, tuple[str, ...]]:
    """What stands out in one run that is compared with nothing, and notes on what failed.

    None: the run has no trace, or its findings cannot be computed.

    Args:
        record: of the run.
        summary: of its trace.
        material: its files.
        sampled: its telemetry.
        make_report: gives what its compiler did; None: it is made here.
    """
    trace = material.trace
    if summary is None or trace is None:
        return None, ("No findings: the run has no trace.",)
    if summary.is_cut:
        return None, ("No findings: the trace is cut, and what it lacks is not known.",)
    notes: list[str] = []
    report = _attempt(
        "What the compiler did", notes, make_report or partial(_report, record, material)
    )
    fired = _attempt(
        "The findings",
        notes,
        lambda: run_findings(
            trace,
            summary,
            record,
            report,
            sampled,
            material.rank_compiling,
            material.code,
            material.job,
        ),
    )
    return fired, tuple(notes)


def _attempt(part: str, notes: list[str], work: Callable[[], Result]) -> Result | None:
    """The result of `work`; None and a note where it fails.

    Traces come from anywhere, and what they break here must not cost the numbers beside it.
    """
    try:
        return work()
    except FusionscopeError as error:
        notes.append(f"{part} cannot be computed: {error.problem}")
    except Exception as error:  # said in a note, logged with its traceback
        _log.info("%s failed", part, exc_info=error)
        notes.append(
            f"{part} cannot be computed from these files: an error of ours "
            f"({type(error).__name__}: {error})."
        )
    return None

"""A baseline and one candidate: verdict, waterfall, ledger, findings, memory, asked here by all."""

import logging
from collections.abc import Iterator
from dataclasses import replace
from functools import cached_property
from typing import TYPE_CHECKING, cast

from profiler_core.analysis.compare import CandidateComparison
from profiler_core.analysis.compilation.report import CompilationReport
from profiler_core.analysis.counters.groups import MeasuredLedger
from profiler_core.analysis.explainable import (
    is_named,
    look_unrelated,
    not_explained,
    unrelated_sentence,
)
from profiler_core.analysis.explanation import (
    Explanation,
    Material,
    explain,
    pair_ledger,
    pair_overlap,
    pair_waterfall,
)
from profiler_core.analysis.findings import Finding
from profiler_core.analysis.gate.judgement import Gate, gate
from profiler_core.analysis.gate.limits import Limit
from profiler_core.analysis.graph_replays.phases import Bucket
from profiler_core.analysis.ledger.result import FusionLedger
from profiler_core.analysis.ledger.sides import LedgerSide
from profiler_core.analysis.memory.comparison import MemoryComparison, compare_memory
from profiler_core.analysis.ranks.job_ledger import JobLedger, job_ledger
from profiler_core.analysis.ranks.overlap import Overlap
from profiler_core.analysis.side import Side
from profiler_core.analysis.step_division import DividedStep, divided_steps
from profiler_core.analysis.verdict import Verdict, verdict
from profiler_core.analysis.waterfall import Waterfall
from profiler_core.analysis.wording.notes import pair_notes, precision_notes
from profiler_core.analysis.wording.sentence import of_run
from profiler_core.errors import NothingToAnalyse
from profiler_core.model.run import Measurement
from profiler_core.session.divided import Divided, divided, divided_bucket
from profiler_core.session.run import Run

if TYPE_CHECKING:
    from profiler_core.session.comparison import Comparison

_log = logging.getLogger(__name__)


class Pair:
    """One candidate against the baseline of a comparison. Times are ns per step.

    Args:
        comparison: that owns it: kinds of kernels are shared over all of its runs.
        number: which candidate, from 0.
    """

    def __init__(self, comparison: "Comparison", number: int) -> None:
        self._comparison = comparison
        self._number = number

    @property
    def number(self) -> int:
        """Which candidate of its comparison, from 0."""
        return self._number

    @property
    def baseline(self) -> Run:
        """The run that the candidate is compared with."""
        return self._comparison.baseline

    @property
    def candidate(self) -> Run:
        """The run in question."""
        return self._comparison.runs[self._number + 1]

    @property
    def runs(self) -> tuple[Run, Run]:
        """Both."""
        return self.baseline, self.candidate

    @property
    def labels(self) -> tuple[str, str]:
        """What the two are called."""
        return self._comparison.labels[0], self._comparison.labels[self._number + 1]

    @property
    def sides(self) -> tuple[Side, Side]:
        """Both in numbers, with kinds of kernels that all runs share."""
        return self._comparison.sides[0], self._comparison.sides[self._number + 1]

    @property
    def numbers(self) -> CandidateComparison:
        """Every number of both beside each other."""
        return self._comparison.numbers.candidates[self._number]

    @property
    def steps(self) -> tuple[DividedStep | None, DividedStep | None]:
        """What a step of either divides into; None where what its trace holds is no whole step."""
        steps = zip(divided_steps(self.sides), self.numbers.busy_ns, strict=True)
        before, after = (None if busy_ns is None else step for step, busy_ns in steps)
        return before, after

    @property
    def judged(self) -> CandidateComparison:
        """`numbers`, which know too whether the two look like different programs."""
        return self._comparison.judged.candidates[self._number]

    @property
    def verdict(self) -> Verdict:
        """Is the candidate worth it; `wording.verdict` says it in sentences."""
        return verdict(self.judged)

    @property
    def not_explained(self) -> str | None:
        """Why there is neither waterfall nor ledger; None: there are."""
        return not_explained(self._comparison.numbers, self._number)

    @property
    def time_word(self) -> str:
        """What the groups' times are."""
        return "operator time" if self.numbers.device_kinds[1] == "cpu" else "GPU time"

    @property
    def waterfall(self) -> Waterfall:
        """From step to step in bars, from the summaries alone; `explanation` opens them in groups.

        Raises:
            NothingToAnalyse: one of the two has no trace.
        """
        return self._comparison.answer(
            ("waterfall", self._number),
            lambda: pair_waterfall(self._comparison.numbers, self._number),
        )

    @property
    def overlap(self) -> Overlap | None:
        """What became of the overlap of compute and transfers; None where not both are jobs."""
        return pair_overlap(self._comparison.numbers, self._number)

    @property
    def ledger(self) -> FusionLedger:
        """What each operator of the baseline became.

        Raises:
            NothingToAnalyse: the two cannot be matched, and why.
        """
        why = self.not_explained
        if why is None and self.unrelated:
            why = unrelated_sentence(self.labels, self.unrelated)
        if why is None:
            return self._any_ledger()
        raise NothingToAnalyse(
            f"There is no fusion ledger: {why}",
            remedy="Choose two runs of one workload with whole traces of one kind of device, of "
            "which both mark steps, or neither.",
        )

    @cached_property
    def unrelated(self) -> str:
        """Why the two look like different programs, a clause; "": they do not, or name one.

        It takes the ledger of runs that do not name one workload.
        """
        if self.not_explained is not None or is_named(self._comparison.numbers, self._number):
            return ""
        try:
            return look_unrelated(self._any_ledger(), self.labels)
        except Exception as error:  # the explanation says it
            _log.info("the ledger failed", exc_info=error)
            return ""

    def _any_ledger(self) -> FusionLedger:
        """Of unrelated runs too."""
        question, lasting = ("ledger", self._number), self._comparison.lasting
        return lasting(question, self.candidate, FusionLedger, self._ledger)

    @property
    def has_ledger(self) -> bool:
        """Has some process kept the ledger, so that nothing need be read for it?"""
        return self._comparison.has_lasting(("ledger", self._number), self.candidate, FusionLedger)

    def _ledger(self) -> FusionLedger:
        materials = self.baseline.material, self.candidate.material
        return self._comparison.answer(
            ("ledger", self._number),
            lambda: pair_ledger(self._comparison.numbers, *materials, self._others()),
        )

    @property
    def job_ledger(self) -> JobLedger | None:
        """What each group of the ledger takes on every rank; None: one of the two is no job.

        Raises:
            NothingToAnalyse: the two cannot be matched, and why.
        """
        jobs = [run.job for run in self.runs]
        ranks = [run.shown_rank for run in self.runs]
        if jobs[0] is None or jobs[1] is None or None in ranks:
            return None  # without reading traces and logs
        ledger = self.ledger
        sides = [run.material.ledger_side for run in self.runs]
        if None in sides:
            return None
        in_baseline = {cost.rank for cost in jobs[0].costs}
        both = [cost.rank for cost in jobs[1].costs if cost.rank in in_baseline]
        n_ranks = len(jobs[1].ranks)
        shown = cast("tuple[int, int]", tuple(ranks))
        shown_sides = cast("tuple[LedgerSide, LedgerSide]", tuple(sides))
        return self._comparison.answer(
            ("job ledger", self._number),
            lambda: job_ledger(ledger, shown, shown_sides, both, self._sides_of_rank, n_ranks),
        )

    def _sides_of_rank(
        self, rank: int, with_logs: bool = True
    ) -> tuple[LedgerSide, LedgerSide] | None:
        if with_logs:
            baseline, candidate = (run.material_of(rank).ledger_side for run in self.runs)
            return None if baseline is None or candidate is None else (baseline, candidate)
        traces = [run.worked_trace_of(rank) for run in self.runs]
        if traces[0] is None or traces[1] is None:
            return None
        return LedgerSide(traces[0]), LedgerSide(traces[1])

    def _others(self) -> Iterator[Material]:
        """The files of their captures' other runs and other candidates, one after the other.

        In an order of their own, whichever of them are chosen.
        """
        chosen = self._comparison.runs
        candidates = [run for n, run in enumerate(chosen) if n not in (0, self._number + 1)]
        others = (*self._comparison.beside, *candidates)
        for run in sorted(others, key=lambda run: str(run.path.resolve())):
            yield run.material

    @property
    def explanation(self) -> Explanation:
        """Waterfall with groups, ledger and findings; what fails is a note in it."""
        question = ("explanation", self._number)
        rest = self._comparison.lasting(question, self.candidate, Explanation, self._without_ledger)
        return self._explanation() if rest is None else replace(rest, ledger=self.ledger)

    def _without_ledger(self) -> Explanation | None:
        """All but the ledger, which is kept by itself; None: a part failed, for now perhaps."""
        made = self._explanation()
        if made.ledger is None or made.waterfall is None or made.findings is None:
            return None
        return replace(made, ledger=None)

    def _explanation(self) -> Explanation:
        materials = self.baseline.material, self.candidate.material

        def made() -> Explanation:
            explanation = explain(
                self._comparison.judged,
                self._number,
                *materials,
                make_ledger=lambda: self.ledger,
                make_report=lambda: self.compilation,
                make_job_ledger=lambda: self.job_ledger,
            )
            for material in materials:
                if material.trace is not None:
                    material.trace.forget_derived()  # nothing else asks as much of it
            return explanation

        return self._comparison.answer(("explanation", self._number), made)

    @property
    def findings(self) -> tuple[Finding, ...] | None:
        """What stands out in the candidate, most important first; None: it has no trace."""
        return self.explanation.findings

    @property
    def measured(self) -> MeasuredLedger | None:
        """Hardware counters of the ledger's groups; None where neither run has any."""
        if all(run.counters.counters is None for run in self.runs):
            return None  # without asking for all of the explanation
        return self.explanation.measured

    @property
    def over_ranks(self) -> JobLedger | None:
        """The explanation's `job_ledger`; None where not both runs are jobs of ranks."""
        if any(run.job is None for run in self.runs):
            return None  # without asking for all of the explanation
        return self.explanation.job_ledger

    @property
    def left_out(self) -> tuple[str, ...]:
        """What its numbers leave out, one sentence each."""
        return pair_notes(self._comparison.numbers, self._number)

    @property
    def precision_notes(self) -> tuple[str, ...]:
        """Of `left_out`, that its products are of different precisions; empty where not sure."""
        return tuple(precision_notes(*self.sides, self.numbers))

    @property
    def notes(self) -> tuple[str, ...]:
        """What the files did not allow, one sentence each."""
        of_all = self._comparison.problems
        return tuple(dict.fromkeys((*self.left_out, *of_all, *self.explanation.notes)))

    @property
    def compilation(self) -> CompilationReport | None:
        """What the candidate's compiler did, beside the other runs; None without logs."""
        return self._comparison.compilation_of(self._number + 1)

    @property
    def divided(self) -> Divided:
        """The device time of both by nn.Module and by operator.

        Raises:
            NothingToAnalyse: the two cannot be matched, and why.
        """
        ledger = self.ledger
        return self._comparison.answer(
            ("divided", self._number), lambda: divided(ledger, self.runs)
        )

    @property
    def server_buckets(self) -> tuple[Bucket, ...]:
        """Phases and batch sizes of steps that both have, where servers wrote both."""
        before, after = (run.server_buckets for run in self.runs)
        return tuple(bucket for bucket in after if bucket in before)

    def divided_of(self, bucket: Bucket) -> Divided:
        """`divided` of the steps of one phase and batch size; raises as `divided_bucket`."""
        return self._comparison.answer(
            ("divided", self._number, bucket), lambda: divided_bucket(self.runs, bucket)
        )

    @property
    def memory(self) -> MemoryComparison:
        """The memory of both, joined through the ledger where both have a trace."""
        reports = self.baseline.memory, self.candidate.memory
        # Of a job the ledger may be of another rank than the one whose memory is shown.
        other_rank = next((run for run in self.runs if run.shown is not run), None)

        def make_ledger() -> FusionLedger:
            if other_rank is None:
                return self.ledger
            raise NothingToAnalyse(
                f"What vanished is told by fusion groups, which are those of rank "
                f"{other_rank.shown_rank} here; the memory is that of rank "
                f"{other_rank.record.rank}.",
                remedy="Open the runs of one rank.",
            )

        return self._comparison.answer(
            ("memory", self._number), lambda: compare_memory(*reports, make_ledger)
        )

    def gate(self, limits: list[Limit], repeats: list[Measurement]) -> Gate:
        """Is the candidate within its limits?

        Args:
            limits: of quantities.
            repeats: further runs of the baseline's code, for the noise.
        """
        sides = (self._comparison.numbers.baseline, self._comparison.numbers.sides[self._number])
        evidences = (self.baseline.evidence, self.candidate.evidence)
        judged = gate(self.judged, sides, evidences, limits, repeats=repeats)
        alone = [
            of_run(side.label, note)
            for side, run in zip(sides, (self.baseline, self.candidate), strict=True)
            if run.record.world_size > 1 and (note := run.alone_note)  # else no trace is read
        ]
        judged = replace(judged, notes=(*judged.notes, *alone))
        if all(c.quantity.key != "graph_breaks" or c.outcome == "pass" for c in judged.checks):
            return judged
        report = self.compilation
        return replace(judged, breaks=report.breaks if report is not None else ())

"""A baseline and one candidate: verdict, waterfall, ledger, findings, memory, asked here by all."""

from collections.abc import Iterator
from dataclasses import replace
from typing import TYPE_CHECKING, cast

from profiler_core.analysis.compare import CandidateComparison, Side
from profiler_core.analysis.compilation.report import CompilationReport
from profiler_core.analysis.counters.groups import MeasuredLedger
from profiler_core.analysis.explainable import look_unrelated, not_explained
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
from profiler_core.analysis.ledger.result import FusionLedger
from profiler_core.analysis.ledger.sides import LedgerSide
from profiler_core.analysis.memory.comparison import MemoryComparison, compare_memory
from profiler_core.analysis.ranks.job_ledger import JobLedger, job_ledger, runs_same_kernels
from profiler_core.analysis.ranks.overlap import Overlap
from profiler_core.analysis.verdict import Verdict, verdict
from profiler_core.analysis.waterfall import Waterfall
from profiler_core.analysis.wording.notes import pair_notes
from profiler_core.errors import NothingToAnalyse
from profiler_core.model.run import Measurement
from profiler_core.model.trace import Trace
from profiler_core.session.divided import Divided, divided
from profiler_core.session.run import Run

if TYPE_CHECKING:
    from profiler_core.session.comparison import Comparison


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
    def verdict(self) -> Verdict:
        """Is the candidate worth it; `wording.verdict` says it in sentences."""
        return verdict(self.numbers)

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
        if why is None:
            question = ("ledger", self._number)
            lasting = self._comparison.lasting
            ledger = lasting(question, self.candidate, FusionLedger, self._ledger)
            why = look_unrelated(ledger, self._comparison.numbers, self._number)
            if why is None:
                return ledger
        raise NothingToAnalyse(
            f"There is no fusion ledger: {why}",
            remedy="Choose two runs of one workload with whole traces of one kind of device.",
        )

    def _ledger(self) -> FusionLedger:
        baseline, right = self._ledger_material
        return self._comparison.answer(
            ("ledger", self._number),
            lambda: pair_ledger(self._comparison.numbers, baseline, right, self._others()),
        )

    @property
    def _ledger_material(self) -> tuple[Material, Material]:
        """Of the shown ranks; where these run other programs, the candidate's rank of both jobs."""
        baseline, candidate = self.baseline.material, self.candidate.material
        ranks = self._shown_ranks
        if ranks is None or ranks[0] == ranks[1]:
            return baseline, candidate
        other = self.baseline.material_of(ranks[1])

        return (baseline if self._mixes_ranks else other), candidate

    @property
    def rank_of_both(self) -> int | None:
        """The rank whose kernels stand for both jobs, where their ranks run other programs."""
        ranks = self._shown_ranks
        return None if ranks is None or self._mixes_ranks else ranks[1]

    @property
    def _mixes_ranks(self) -> bool:
        """May the ledger face one rank of the baseline with another of the candidate?"""
        ranks = self._shown_ranks
        if ranks is None or ranks[0] == ranks[1]:
            return True

        def same() -> bool:
            traces = self.baseline.worked_trace, self.baseline.worked_trace_of(ranks[1])
            return None in traces or runs_same_kernels(*cast("tuple[Trace, Trace]", traces))

        return self._comparison.answer(("mixes ranks", self._number), same)

    @property
    def _shown_ranks(self) -> tuple[int, int] | None:
        paths = [run.job.critical if run.job is not None else None for run in self.runs]
        return None if paths[0] is None or paths[1] is None else (paths[0].shown, paths[1].shown)

    @property
    def job_ledger(self) -> JobLedger | None:
        """What each group of the ledger takes on every rank; None: one of the two is no job.

        Raises:
            NothingToAnalyse: the two cannot be matched, and why.
        """
        ranks, ledger = self._shown_ranks, self.ledger
        jobs = [run.job for run in self.runs]
        sides = [material.ledger_side for material in self._ledger_material]
        if ranks is None or jobs[0] is None or jobs[1] is None or None in sides:
            return None
        in_baseline = {cost.rank for cost in jobs[0].costs}
        both = [cost.rank for cost in jobs[1].costs if cost.rank in in_baseline]
        n_ranks = len(jobs[1].ranks)
        of = ranks if self._mixes_ranks else (ranks[1], ranks[1])
        shown = (cast("LedgerSide", sides[0]), cast("LedgerSide", sides[1]))
        return self._comparison.answer(
            ("job ledger", self._number),
            lambda: job_ledger(ledger, of, shown, both, self._sides_of_rank, n_ranks),
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
        """The files of the other candidates, one after the other, as they are asked for."""
        for number, run in enumerate(self._comparison.runs):
            if number not in (0, self._number + 1):
                yield run.material

    @property
    def explanation(self) -> Explanation:
        """Waterfall with groups, ledger and findings; what fails is a note in it."""
        question = ("explanation", self._number)
        rest = self._comparison.lasting(question, self.candidate, Explanation, self._without_ledger)
        return self._explanation() if rest is None else replace(rest, ledger=self.ledger)

    @property
    def is_explained(self) -> bool:
        """Has some process kept the explanation, so that nothing need be read for it?"""
        return self._comparison.has_lasting(
            ("explanation", self._number), self.candidate, Explanation
        )

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
                self._comparison.numbers,
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
    def left_out(self) -> tuple[str, ...]:
        """What its numbers leave out, one sentence each."""
        return pair_notes(self._comparison.numbers, self._number)

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
    def memory(self) -> MemoryComparison:
        """The memory of both, joined through the ledger where both have a trace."""
        reports = self.baseline.memory, self.candidate.memory
        # Of a job the ledger may be of another rank than the one whose memory is shown.
        is_of_ledger = all(run.shown is run for run in self.runs)
        make_ledger = (lambda: self.ledger) if is_of_ledger else None
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
        judged = gate(self.numbers, sides, evidences, limits, repeats=repeats)
        if all(c.quantity.key != "graph_breaks" or c.outcome == "pass" for c in judged.checks):
            return judged
        report = self.compilation
        return replace(judged, breaks=report.breaks if report is not None else ())

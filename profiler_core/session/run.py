"""One run and all results about it alone; every page and every verb uses them.

    run = Run.open(Path("runs/today/default"))
    run.summary, run.alone.findings, run.memory, run.problems()

Nothing is read before it is asked for. A file that cannot be read is a problem of the run, and
affects only the results that depend on it.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from profiler_core.analysis.compilation.by_script import (
    ScriptCompilation,
    compiled_nothing,
    script_compilation,
)
from profiler_core.analysis.compilation.compile_time import CompileTime, compile_time
from profiler_core.analysis.compilation.compiled_calls import RegionTax, region_taxes
from profiler_core.analysis.compilation.cost import CompileCost
from profiler_core.analysis.compilation.report import (
    CompilationReport,
    compilation_report,
    says_something,
)
from profiler_core.analysis.compilation.skipped_frames import Other
from profiler_core.analysis.compilation.traced_frames import TracedFrames, traced_frames
from profiler_core.analysis.counters.report import RunMeasured, run_measured
from profiler_core.analysis.dossier.roofline import Traffic
from profiler_core.analysis.dossier.traffic import traffic_by_kernel
from profiler_core.analysis.explanation import Material, explain_run
from profiler_core.analysis.findings import Finding
from profiler_core.analysis.gate.evidence import Evidence, evidence, no_energy
from profiler_core.analysis.graph_replays.phases import Bucket, ServerPhase, server_phases
from profiler_core.analysis.headline_metrics import headline_metrics
from profiler_core.analysis.memory.report import MemoryReport, memory_report
from profiler_core.analysis.module_functions import ModuleFunctions, module_functions
from profiler_core.analysis.ranks.job_summary import with_job
from profiler_core.analysis.side import Side, make_side
from profiler_core.analysis.summary import Summary, summarise
from profiler_core.analysis.telemetry.run import (
    BY_PROFILER,
    RunTelemetry,
    nothing_sampled,
    run_telemetry,
)
from profiler_core.analysis.without_work import WithoutWork, without_work
from profiler_core.analysis.wording.without_work import how_to_get_work, what_it_holds
from profiler_core.errors import NothingToAnalyse
from profiler_core.ingest.run import open_run
from profiler_core.ingest.telemetry.reader import RunSamples
from profiler_core.model.history import HeadlineMetrics
from profiler_core.model.trace import Trace
from profiler_core.session.divided import Divided, divided_alone, divided_bucket
from profiler_core.session.kept import load
from profiler_core.session.parts import Part
from profiler_core.session.ranked_run import RankedRun
from profiler_core.session.reading import Reading


@dataclass(frozen=True)
class RunFindings:
    """What stands out in a run alone. None: it has no trace that can be read; `notes` say more."""

    findings: tuple[Finding, ...] | None
    notes: tuple[str, ...]


class Run(RankedRun):
    """A run directory or a bare trace. Answers do not change: for changed files open it again."""

    @classmethod
    def open(cls, path: Path, *other_paths: Path, reading: Reading | None = None) -> "Run":
        """What lies at a path; with `more`, loose files that belong together. As `open_run`."""
        return cls(open_run(path, *other_paths), reading=reading)

    # What is known of it

    @property
    def summary(self) -> Summary | None:
        """Its trace in numbers, of a job of ranks with the job's times; None without a trace."""
        if self._files.trace is None:
            return None
        return self._lasting("summary", Summary, self._summary)

    @property
    def known_summary(self) -> Summary | None:
        """The summary where some process has made it already; reads no trace."""
        return load((self._files.trace, self.version, "summary"), Summary)

    def _summary(self) -> Summary | None:
        trace = self.worked_trace
        if trace is None:
            return None
        measurement = self.record.measurement
        rank, job = self.shown_rank, self.job
        path = job.critical if job is not None else None

        def make() -> Summary:
            summary = self._cached("summary", lambda: summarise(trace, measurement))
            if path is not None and rank is not None:
                return with_job(summary, path, rank)
            alone = self.alone_note
            return replace(summary, notes=(*summary.notes, alone)) if alone else summary

        return self._attempt("trace", "summary", make)

    @property
    def compiled_nothing(self) -> bool:
        """Whether it was to be compiled, and was not."""
        return self._answer(
            "compiled nothing",
            lambda: compiled_nothing(self.record, lambda: self.trace, lambda: self.compile_log),
        )

    @property
    def compiled_by_script(self) -> ScriptCompilation | None:
        """What its script compiles although it is called eager; None: nothing."""
        return self._answer(
            "compiled by script",
            lambda: script_compilation(
                self.record, self.path.name, lambda: self.trace, lambda: self.compile_log
            ),
        )

    @property
    def server_phases(self) -> tuple[ServerPhase, ...]:
        """Its steps by phase and batch size, where an inference server wrote its trace."""
        trace = self.trace
        if trace is None:
            return ()
        return self._answer("server phases", lambda: server_phases(trace))

    @property
    def compiling(self) -> CompileTime | None:
        """The time of its compilations; None without logs."""
        return compile_time(self.compile_log)

    @property
    def telemetry(self) -> RunTelemetry | None:
        """What was sampled, in numbers; None: nothing was."""
        samples = self.samples
        return self._answer(
            "telemetry",
            lambda: run_telemetry(self.record, samples.gpus, samples.hosts, samples.problems),
        )

    @property
    def side(self) -> Side:
        """Its numbers as one side of a comparison."""
        return make_side(
            self._files,
            self.summary,
            compiling=self.compiling,
            telemetry=self.telemetry,
            compiled_by_script=self.compiled_by_script,
            compiled_nothing=self.compiled_nothing,
        )

    @property
    def point(self) -> Side:
        """Its numbers as a point of a sweep: the trace is read only where nothing was measured."""
        side = make_side(self._files, None, compiling=self.compiling)
        is_complete = side.memory.peak_reserved_bytes is not None and side.step_time_ns is not None
        return side if is_complete or self._files.trace is None else self.side

    @property
    def material(self) -> Material:
        """What analyses of pairs take of it; of a job, of the rank that is shown."""
        shown, counters = self.shown, self.counters
        material = shown._material(self.worked_trace)
        left_out = material.left_out
        if material.code is None and self.code is not None:
            left_out = (
                *left_out,
                f"rank {shown.record.rank} has no structured log: the graphs are those of rank "
                f"{self.record.rank}.",
            )
        return replace(
            material,
            code=material.code or self.code,
            compile_log=material.compile_log or self.compile_log,
            stacks=material.stacks or self.stacks,
            counters=counters.counters,
            left_out=left_out,
            rank_compiling=self.compiling_by_rank,
            job=self.job,
            shares_beside=self._shares_beside,
            problems=(
                *counters.problems,
                *(problem.problem for problem in self.problems("stacks", "generated code")),
            ),
        )

    def material_of(self, rank: int) -> Material:
        """The same of another rank of its job, with that rank's logs; no trace: it is not read."""
        return (self.of_rank(rank) or self)._material(self.worked_trace_of(rank))

    def _material(self, trace: Trace | None) -> Material:
        return Material(
            trace,
            code=self.code,
            compile_log=self.compile_log,
            stacks=self.stacks,
            left_out=self.logs_of_trace.left_out,
        )

    @property
    def memory(self) -> MemoryReport:
        """Where its memory went; empty where no file says anything. Of a job its own rank's."""
        trace = self.worked_trace if self.shown is self else self.trace
        stacks, snapshot = self.stacks, self.snapshot
        measurement = self.record.measurement
        return self._answer("memory", lambda: memory_report(trace, stacks, snapshot, measurement))

    @property
    def divided(self) -> Divided:
        """Its device time by nn.Module and by operator; raises as `divided_alone`."""
        return self._answer("divided", lambda: divided_alone(self))

    @property
    def module_functions(self) -> Mapping[str, ModuleFunctions]:
        """The user's functions of each nn.Module that Python calls of its trace name."""
        trace = self.worked_trace
        if trace is None:
            return {}
        return self._answer("module functions", lambda: module_functions(trace))

    @property
    def server_buckets(self) -> tuple[Bucket, ...]:
        """Phases and batch sizes of a server's steps that have kernels."""
        return tuple(phase.bucket for phase in self.server_phases if phase.kernel_ns)

    def divided_of(self, bucket: Bucket) -> Divided:
        """The same of a server's steps of one phase and batch size; raises as `divided_bucket`."""
        return self._answer(("divided", bucket), lambda: divided_bucket((self, self), bucket))

    @property
    def compilation(self) -> CompilationReport | None:
        """What the compiler did and what it cost, of this run alone; None without logs."""
        return self.compilation_beside((), None)

    @property
    def regions(self) -> tuple[RegionTax, ...]:
        """What each compiled region in its trace costs the host; () without any, or a trace."""
        trace = self.trace
        return () if trace is None else self._answer("regions", lambda: region_taxes(trace))

    @property
    def traced_frames(self) -> TracedFrames | None:
        """Which frames these regions are of, by their names; None without a trace."""
        trace = self.trace
        return None if trace is None else self._answer("frames", lambda: traced_frames(trace))

    def compilation_beside(
        self, other_runs: Sequence[Other], compile_cost: CompileCost | None
    ) -> CompilationReport | None:
        """The same beside other runs; None without logs.

        Args:
            other_runs: runs of the same workload, to tell what skipped frames lost.
            compile_cost: of the comparison with the baseline, with its break-even.
        """
        log, trace = self.compile_log, self.trace
        if log is None:
            return None
        return self._answer(
            ("compilation", tuple(other_runs), compile_cost),
            lambda: compilation_report(
                log,
                trace=trace,
                measurement=self.record.measurement,
                compile_cost=compile_cost,
                others=other_runs,
            ),
        )

    @property
    def compiler_spoke(self) -> bool:
        """Is there a log that says that the compiler did anything?"""
        log = self.compile_log
        return log is not None and says_something(log)

    @property
    def alone(self) -> RunFindings:
        """What stands out in it, compared with nothing."""
        material, summary, telemetry = self.material, self.summary, self.telemetry
        findings, notes = self._answer(
            "findings",
            lambda: explain_run(
                self.record, summary, material, telemetry, make_report=lambda: self.compilation
            ),
        )
        return RunFindings(findings, notes)

    @property
    def measured(self) -> RunMeasured:
        """Its hardware counters beside its trace, by kernel."""
        counters = self.counters
        table = counters.counters
        # Without counters neither trace nor logs are read.
        side = None if table is None else self.material.ledger_side
        if table is None or side is None:
            return RunMeasured(notes=counters.problems)
        return self._answer("measured", lambda: run_measured(table, side))

    @property
    def traffic(self) -> Mapping[str, Traffic]:
        """Bytes that shapes demand of each kernel's operators, by the kernel's name."""
        side = self.material.ledger_side
        return {} if side is None else self._answer("traffic", lambda: traffic_by_kernel(side))

    @property
    def headline(self) -> HeadlineMetrics:
        """The few numbers that are followed over time."""
        telemetry = self.telemetry
        return headline_metrics(
            self.record,
            self.summary,
            self.compile_log,
            energy_per_step_j=telemetry.energy_per_step_j if telemetry else None,
            sm_clock_mhz=telemetry.sm_clock_mhz if telemetry else None,
        )

    @property
    def evidence(self) -> Evidence:
        """The numbers that a gate can limit."""
        return evidence(
            self.record,
            self.headline,
            self.summary,
            self.trace,
            self.compile_log,
            no_energy=no_energy(self.telemetry),
        )

    def required_trace(self) -> Trace:
        """The trace, for an answer that is about nothing else.

        Raises:
            NothingToAnalyse: the run has none.
            BadInput: it cannot be read.
        """
        trace = self.worked_trace
        if trace is not None:
            return trace
        for problem in self.problems("trace"):
            raise problem.error()
        status = self.record.status
        state = "" if status == "finished" else f" (it is {status})"
        raise NothingToAnalyse(
            f"The run {self.path} has no trace{state}.", remedy="Capture it with the profiled pass."
        )

    def required_summary(self) -> Summary:
        """The summary; raises as `required_trace`."""
        self.required_trace()
        summary = self.summary
        if summary is None:
            raise self._problems["trace"].error()
        return summary

    @property
    def without_work(self) -> WithoutWork | None:
        """What its trace has instead of kernels and operators; None: it has some, or no trace."""
        trace = self.trace
        if trace is None:
            return None
        return self._answer("without work", lambda: without_work(trace))

    def required_work(self, name: str = "") -> None:
        """Raise where the trace, of a job of the rank that is shown, has nothing to measure.

        Args:
            name: what the run is called; "" where no other is meant.

        Raises:
            NothingToAnalyse: what it holds instead, and how to record it.
        """
        lacking = self.shown.without_work
        if lacking is not None:
            raise NothingToAnalyse(what_it_holds(lacking, name), remedy=how_to_get_work(lacking))

    def required_telemetry(self) -> tuple[RunTelemetry, RunSamples]:
        """What was sampled, for an answer that is about nothing else.

        Raises:
            NothingToAnalyse: nothing was, and why.
        """
        samples, telemetry = self.samples, self.telemetry
        is_sampled = samples.gpus is not None or samples.hosts is not None
        if telemetry is None and self.metrics.metrics:
            telemetry = run_telemetry(self.record, None, None, BY_PROFILER)
        if telemetry is not None and (is_sampled or self.metrics.metrics):
            return telemetry, samples
        raise nothing_sampled(str(self.path), self.record, telemetry)

    def _ask(self, part: Part) -> object:
        return self.summary if part == "trace" else super()._ask(part)

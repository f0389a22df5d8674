"""Each recompile with its cause, what it cost, and the step that paid for it."""

from bisect import bisect_right
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import accumulate

from profiler_core.analysis.compilation.causes import Cause, recompile_cause
from profiler_core.analysis.compilation.compile_time import compilation_ns
from profiler_core.model.compilation import CompileLog, Recompile
from profiler_core.model.run import Measurement

_LEADS = 400  # moments tried as the begin of the first call


@dataclass(frozen=True)
class RecompileReport:
    """One recompile. Absent facts are None: text logs know neither seconds nor step."""

    event: Recompile
    cause: Cause
    cost_ns: int | None  # seconds of its compilation
    start_ns: int | None  # epoch
    step: int | None  # 0 is the first call


@dataclass(frozen=True)
class RecompileGroup:
    """The recompiles of one function for one cause: a row on the page and in the report."""

    function: str
    file: str
    line: int
    cause: Cause
    recompiles: tuple[RecompileReport, ...]

    @property
    def guards(self) -> tuple[str, ...]:
        """The guards that failed, each once, in the order of the log."""
        guards = [
            report.event.reasons[0].guard for report in self.recompiles if report.event.reasons
        ]
        return tuple(dict.fromkeys(guards))

    @property
    def cost_ns(self) -> int | None:
        """What they took together; None: no log says it of any."""
        costs = [report.cost_ns for report in self.recompiles if report.cost_ns is not None]
        return sum(costs) if costs else None

    @property
    def n_untimed(self) -> int:
        """How many of them no log says the time of, beside others; 0 where none is known."""
        return n_untimed(self.recompiles)

    @property
    def steps(self) -> tuple[int, ...]:
        """The steps that paid for them, as far as they are known."""
        return tuple(report.step for report in self.recompiles if report.step is not None)


def recompile_groups(reports: Sequence[RecompileReport]) -> tuple[RecompileGroup, ...]:
    """By function and cause, what took longest first."""
    groups: dict[tuple[str, str, int, str], list[RecompileReport]] = {}
    for report in reports:
        key = (report.event.function, report.event.file, report.event.line, report.cause.key)
        groups.setdefault(key, []).append(report)
    rows = [
        RecompileGroup(function, file, line, members[0].cause, tuple(members))
        for (function, file, line, _), members in groups.items()
    ]
    return tuple(sorted(rows, key=lambda row: -(row.cost_ns or 0)))


def recompile_reports(
    log: CompileLog, measurement: Measurement | None = None
) -> tuple[RecompileReport, ...]:
    """All recompiles in the order of the log."""
    spans = {
        (c.compile_id, c.rank): (c.start_ns, c.start_ns + (c.dur_ns or 0))
        for c in log.compilations
        if c.direction == "forward" and c.start_ns is not None
    }
    compiled = sorted(
        (*span, compile_id.rpartition("/")[0]) for (compile_id, _), span in spans.items()
    )
    clock = _StepClock(measurement, compiled)
    reports = []
    for recompile in log.recompiles:
        start, _ = spans.get((recompile.compile_id or "", recompile.rank), (None, None))
        reports.append(
            RecompileReport(
                event=recompile,
                cause=recompile_cause(recompile.reasons),
                cost_ns=compilation_ns(log, recompile.compile_id, recompile.rank),
                start_ns=start,
                step=clock.step_at(start),
            )
        )
    return tuple(reports)


class _StepClock:
    """Which step ran at a moment.

    The logs know when the compiler ran, run.json how long each step took, and nothing says when
    the first call began: between its begin and the first compilation PyTorch imports its
    compiler. So the two are laid over each other where most compilations lie inside one step,
    and a frame is compiled at most once in a step.
    """

    def __init__(
        self, measurement: Measurement | None, compilations: Sequence[tuple[int, int, str]]
    ) -> None:
        self._ends: Sequence[int] = ()
        if measurement is None or measurement.first_call_ns is None or not compilations:
            return
        ends = tuple(accumulate((measurement.first_call_ns, *measurement.warmup_step_ns)))
        first = compilations[0][0]
        leads = range(0, measurement.first_call_ns, max(1, measurement.first_call_ns // _LEADS))

        def fits(lead: int) -> int:
            begins = first - lead
            inside = set()
            for start, end, frame in compilations:
                step = bisect_right(ends, start - begins)
                if step == bisect_right(ends, end - begins) < len(ends):
                    inside.add((frame, step))
            return len(inside)

        best = max(fits(lead) for lead in leads)
        equal = [lead for lead in leads if fits(lead) == best]
        self._ends, self._begins = ends, first - equal[len(equal) // 2]

    def step_at(self, moment_ns: int | None) -> int | None:
        """None where the moment or the steps are not known, or it lies after the warm-up."""
        if moment_ns is None or not self._ends:
            return None
        step = bisect_right(self._ends, moment_ns - self._begins)
        return step if step < len(self._ends) else None


def n_untimed(recompiles: Sequence[RecompileReport]) -> int:
    """How many of these have no time, of those that a time of the others is said of; 0: of none."""
    n = sum(1 for report in recompiles if report.cost_ns is None)
    return n if n < len(recompiles) else 0

"""What a step loses where Dynamo gave whole functions up (docs/graph_break_cost.md).

Such a function runs eager in every step, and nothing in the trace says which kernels are its own.
Two things tell what was lost: a run of the same workload that compiled without skipping anything
(the difference of the step times), or, where a part of the step was compiled, what compiling
gained there: the same share of the time that runs outside of compiled calls, which is at most
what was lost, since more than the skipped functions runs there. Otherwise it cannot be known.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import polars as pl

from profiler_core.analysis.compilation.compiled_calls import call_spans
from profiler_core.analysis.compilation.cost import is_compiled
from profiler_core.analysis.step_time import step_time_ns
from profiler_core.analysis.work import device_work
from profiler_core.model.compilation import CompileLog
from profiler_core.model.run import Measurement, RunRecord
from profiler_core.model.trace import Trace
from profiler_core.units import format_duration, format_share


@dataclass(frozen=True)
class Other:
    """Another run of the same workload, to compare with. step_ns is unprofiled."""

    label: str
    step_ns: float
    compiled: bool
    whole: bool  # its log shows no skipped function and no function at the recompile limit


@dataclass(frozen=True)
class LostGain:
    """The gain that all skipped functions of a run lost together.

    Attributes:
        ns: a step; None: it cannot be known, and `sentence` says why.
        source: "compared" with a run that skips nothing, or "estimated": an upper bound.
        sentence: what it rests on, or why it is not known.
    """

    ns: float | None
    source: Literal["compared", "estimated"] | None
    sentence: str

    @property
    def price(self) -> str:
        """What was lost, in one sentence; "" where that is not known."""
        if self.ns is None:
            return ""
        return f"Frames skipped: lost {self.amount} per step."

    @property
    def amount(self) -> str:
        """What was lost, ns as text; an estimate is an upper bound and says so."""
        if self.source == "estimated":
            return f"up to {format_duration(self.ns, 'up')}"
        return format_duration(self.ns)


def others_of(
    runs: Sequence[tuple[str, RunRecord, CompileLog | None]], number: int
) -> tuple[Other, ...]:
    """The runs that run `number` may be compared with: other timed runs of its workload.

    Args:
        runs: (what the user calls it, its run.json, what its compiler said) of all of them.
        number: index in `runs` of the run in question.
    """
    workload = runs[number][1].workload
    candidates = [
        other_run(label, record.measurement, log, compiled=is_compiled(record))
        for position, (label, record, log) in enumerate(runs)
        if position != number and record.workload == workload
    ]
    return tuple(run for run in candidates if run is not None)


def other_run(
    label: str, measurement: Measurement | None, log: CompileLog | None, *, compiled: bool | None
) -> Other | None:
    """A run to compare with; None where it was not timed, or it is not known whether it compiles.

    Args:
        label: what the user calls it.
        measurement: its rounds.
        log: what its compiler said; None: no log, so nothing is known about skips.
        compiled: did it use torch.compile?
    """
    step_ns = step_time_ns(measurement)
    if step_ns is None or compiled is None:
        return None
    compiles = bool(compiled and log and log.n_compilations)
    return Other(
        label, step_ns, compiled, compiles and log is not None and not log.frame_skips
        and not log.limit_hits,
    )  # fmt: skip


def lost_gain(
    trace: Trace | None, measurement: Measurement | None, others: Sequence[Other]
) -> LostGain:
    """What the skipped functions of this run lost per step.

    Args:
        trace: of the run.
        measurement: of the run.
        others: runs of the same workload.
    """
    step_ns = step_time_ns(measurement)
    if step_ns is None:
        return LostGain(
            None, None, "What that loses is not known: this run's steps were not timed."
        )
    fully_compiled = min((o for o in others if o.whole), key=lambda o: o.step_ns, default=None)
    if fully_compiled is not None:
        return LostGain(
            max(0.0, step_ns - fully_compiled.step_ns),
            "compared",
            f"{fully_compiled.label} compiles the whole step and takes "
            f"{format_duration(fully_compiled.step_ns)} "
            f"where this run takes {format_duration(step_ns)}.",
        )
    share = _outside(trace) if trace is not None else None
    if share is None or share == 1.0:
        return LostGain(
            None,
            None,
            "What that loses cannot be known here: nothing of this run is compiled, so nothing "
            "shows what compiling gives. Remove the break and compare with this run."
            if share is not None
            else "What that loses is not known: the run has no trace.",
        )
    eager = next((o for o in others if not o.compiled), None)
    if eager is None:
        return LostGain(
            None, None, "What that loses is not known: there is no eager run to compare with."
        )
    return _estimated(step_ns, share, eager)


def _estimated(step_ns: float, share: float, eager: Other) -> LostGain:
    """The gain of the compiled part, applied to the rest of the step."""
    outside = step_ns * share
    before = eager.step_ns - outside  # what is compiled now, when it ran eager
    gained = eager.step_ns - step_ns
    # As with verdicts: a ratio that prints as 1.00 is no gain.
    if gained <= 0 or before <= 0 or round(eager.step_ns / step_ns, 2) == 1.0:
        return LostGain(
            None,
            None,
            "What that loses cannot be estimated: what was compiled of this run gained nothing "
            f"against {eager.label}.",
        )
    gain = gained / before
    return LostGain(
        outside * gain,
        "estimated",
        f"An upper bound: {format_share(share)} of the device's time runs outside of compiled "
        f"calls, and compiling made the rest {format_share(gain)} shorter than in {eager.label}.",
    )


def _outside(trace: Trace) -> float | None:
    """Share of the device time that no compiled call launched; None without any work."""
    work = device_work(trace).filter(pl.col("step").is_not_null())
    total = int(work["dur_ns"].sum())
    if total == 0:
        return None
    calls = call_spans(trace)
    if calls.height == 0:
        return 1.0
    table = calls.select(
        at="ts_ns",
        call_end=pl.col("ts_ns") + pl.col("dur_ns"),
        tid=pl.col("tid").fill_null(0).cast(pl.Int64),
    )
    on_gpu = trace.has_device_events
    inside = (
        work.select(
            pl.col("launch_ts_ns" if on_gpu else "ts_ns").cast(pl.Int64).alias("at"),
            pl.col("launch_tid" if on_gpu else "stream").cast(pl.Int64).alias("tid"),
            "dur_ns",
        )
        .drop_nulls("at")
        .sort("at")
        .join_asof(
            table.sort("at"), on="at", by="tid", strategy="backward",
            check_sortedness=False,
        )
        .filter(pl.col("at") < pl.col("call_end"))
    )  # fmt: skip
    return 1 - int(inside["dur_ns"].sum()) / total

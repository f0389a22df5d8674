"""How a number moved over recorded runs: lines that join only what may be joined.

One chart for each *question*: a workload with its shapes on one kind of GPU. Within it one line
for each variant, in the order of time. Two runs that answer different questions never share a
chart, so no line joins them. What changed around a run (torch, driver, clocks …) is said at it.
"""

import json
import math
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Any

import numpy as np

from profiler_core.analysis.environment import QUESTION_KEYS, differences
from profiler_core.analysis.noise import MIN_ROUNDS
from profiler_core.analysis.run_labels import run_facts
from profiler_core.analysis.step_time import step_time_between
from profiler_core.analysis.wording.sentence import clipped
from profiler_core.model.history import METRICS, RecordedRun
from profiler_core.model.run import RunRecord

# The middle 90 % of a run's rounds: what it wandered by while nothing was changed.
_BAND_PERCENTILES = (5.0, 95.0)

# Parts of the spec that make it another variant; QUESTION_KEYS make it another question.
_VARIANT = (
    *("mode", "backend", "precision", "channels_last", "dynamic", "fullgraph", "torchscript"),
    "compile",
)

# What is said at a point when it differs from the point before -> its words.
_ENVIRONMENT = {
    "torch": "torch",
    "triton": "triton",
    "cuda": "CUDA",
    "hip": "ROCm",
    "cudnn": "cuDNN",
    "driver": "driver",
    "python": "Python",
    "torchvision": "torchvision",
    "transformers": "transformers",
    "host": "host",
    "cpu": "CPU",
    "power_limit_w": "power limit (W)",
    "sm_clock_max_mhz": "clock limit (MHz)",
    "float32_matmul_precision": "matmul precision",
    "inductor_numerics": "Inductor's numerics",
}
# Clocks that differ by more make a comparison unfair (docs/columns.md, Telemetry).
_CLOCK_TOLERANCE = 0.03
_LONGEST_TEXT = 80  # characters of what changed
MOST_JUDGED = 24  # moves of a chart that are held against the noise, the largest ones


@dataclass(frozen=True)
class Change:
    """Something around the runs that is not as it was at the point before."""

    what: str
    before: str
    after: str


@dataclass(frozen=True)
class TrendPoint:
    """One run on a line. low and high: 90 % of its rounds; None without enough rounds."""

    run: RecordedRun  # without its rounds, options and environment, which are most of it
    value: float
    low: float | None
    high: float | None
    before_id: str | None  # of the run before it on the line
    ratio: float | None  # value over the value before
    is_beyond_noise: bool | None  # more than two recordings of one code differ by; None: not asked
    changes: tuple[Change, ...]


@dataclass(frozen=True)
class TrendLine:
    """One variant over time, oldest first."""

    variant: str
    is_baseline: bool
    points: tuple[TrendPoint, ...]


@dataclass(frozen=True)
class TrendChart:
    """One question."""

    workload: str
    facts: tuple[str, ...]  # what else makes the question: training, batch, GPU
    lines: tuple[TrendLine, ...]  # baselines first, then by name

    @property
    def newest(self) -> str:
        """When its newest run was made."""
        return max(point.run.created_at for line in self.lines for point in line.points)


@dataclass(frozen=True)
class Trend:
    """The charts, those with the newest runs first."""

    metric: str
    charts: tuple[TrendChart, ...]


def trend(
    runs: Iterable[RecordedRun],
    metric: str,
    before: Mapping[str, RecordedRun] | None = None,
) -> Trend:
    """Sort recorded runs into charts and lines; only finished ones that have the number.

    Args:
        runs: in any order.
        metric: a field of `HeadlineMetrics`.
        before: where not all runs of a line are among them: run_id -> the run before it.
    """
    if metric not in METRICS:
        raise ValueError(f"{metric!r} is no headline metric")
    finished = [run for run in runs if run.status == "finished" and run.workload]
    by_question: dict[str, list[RecordedRun]] = defaultdict(list)
    for run in sorted(finished, key=lambda run: (run.created_at, run.run_id)):
        if getattr(run.metrics, metric) is not None:
            by_question[question_of(run)].append(run)
    charts = [_chart(members, metric, before or {}) for members in by_question.values()]
    return Trend(metric, tuple(sorted(charts, key=lambda chart: chart.newest, reverse=True)))


def _chart(
    members: list[RecordedRun], metric: str, before: Mapping[str, RecordedRun]
) -> TrendChart:
    by_variant: dict[str, list[RecordedRun]] = defaultdict(list)
    for run in members:
        by_variant[variant_of(run)].append(run)
    lines = [
        TrendLine(
            variant=variant_runs[-1].variant or variant_runs[-1].name,
            is_baseline=variant_runs[-1].role == "baseline",
            points=_points(variant_runs, metric, before),
        )
        for variant_runs in by_variant.values()
    ]
    if metric == "step_time_ns":
        lines = _judged(lines, {run.run_id: run for run in (*members, *before.values())})
    lines.sort(key=lambda line: (not line.is_baseline, line.variant))
    # The question's facts; those that only one variant has are in its name.
    last = members[-1].as_record()
    facts = run_facts(last)[1:]
    shared = {"precision", "channels_last"} & {
        key for key in last.spec if len({str(run.spec.get(key)) for run in members}) > 1
    }
    hidden = {str(last.spec.get("precision")) if "precision" in shared else None}
    hidden |= {"channels_last"} if "channels_last" in shared else set()
    options = set(last.variant.split("+")[1:])
    torch = f"torch {members[-1].torch}"
    shown_facts = [f for f in facts if f not in hidden and f not in options and f != torch]
    return TrendChart(members[-1].workload, tuple(shown_facts), tuple(lines))


def _points(
    variant_runs: Sequence[RecordedRun], metric: str, before: Mapping[str, RecordedRun]
) -> tuple[TrendPoint, ...]:
    points: list[TrendPoint] = []
    for drawn_before, run in pairwise([None, *variant_runs]):
        assert run is not None  # noqa: S101 - only the first of the row is None
        value = float(getattr(run.metrics, metric))
        low, high = _band(run) if metric == "step_time_ns" else (None, None)
        last = before.get(run.run_id, drawn_before)
        last_value = getattr(last.metrics, metric) if last is not None else None
        ratio = _ratio(value, last_value)
        changes = changes_between(last, run) if last is not None else ()
        slim = replace(run, rounds=(), spec={}, environment={})
        before_id = last.run_id if last is not None else None
        points.append(TrendPoint(slim, value, low, high, before_id, ratio, None, changes))
    return tuple(points)


def _ratio(value: float, before: float | None) -> float | None:
    """Value over the value before; None without one above 0, and where no measurement is so."""
    if before is None or before <= 0 or value < 0:
        return None
    ratio = value / before
    return ratio if math.isfinite(ratio) else None


def _judged(lines: list[TrendLine], by_id: Mapping[str, RecordedRun]) -> list[TrendLine]:
    """The lines with the largest moves of the chart held against the noise: each costs 3 ms."""
    points = [point for line in lines for point in line.points if point.ratio]
    points.sort(key=lambda point: abs(math.log(point.ratio or 1.0)), reverse=True)
    beyond = {
        point.run.run_id: is_beyond_noise(by_id[point.before_id], by_id[point.run.run_id])
        for point in points[:MOST_JUDGED]
        if point.before_id is not None
    }
    return [
        replace(
            line,
            points=tuple(
                replace(point, is_beyond_noise=beyond.get(point.run.run_id))
                for point in line.points
            ),
        )
        for line in lines
    ]


def is_beyond_noise(before: RecordedRun, run: RecordedRun) -> bool | None:
    """Does the step time differ by more than two recordings of one code do? None: few rounds."""
    time = step_time_between(before.as_record(), run.as_record())
    return time.significant if time is not None else None


def _band(run: RecordedRun) -> tuple[float | None, float | None]:
    times = [r.wall_ns / r.n_steps for r in run.rounds if r.n_steps > 0 and r.wall_ns > 0]
    if len(times) < MIN_ROUNDS:
        return None, None
    low, high = np.percentile(times, _BAND_PERCENTILES)
    return float(low), float(high)


def changes_between(before: RecordedRun, after: RecordedRun) -> tuple[Change, ...]:
    """What is not as it was around two runs, in the order of `_ENVIRONMENT`, the clock last."""
    changes = [
        Change(_ENVIRONMENT[d.key], *_told_apart(d.baseline, d.candidate))
        for d in differences(_with_told(before), _with_told(after))
        if d.key in _ENVIRONMENT
    ]
    changes.sort(key=lambda change: list(_ENVIRONMENT.values()).index(change.what))
    clock_before, clock_after = before.metrics.sm_clock_mhz, after.metrics.sm_clock_mhz
    if clock_before and clock_after and abs(clock_after / clock_before - 1) > _CLOCK_TOLERANCE:
        changes.append(Change("clock (MHz)", f"{clock_before:.0f}", f"{clock_after:.0f}"))
    return tuple(changes)


def _with_told(run: RecordedRun) -> RunRecord:
    """Its record with what is said of its environment alone: the rest is ten times as much."""
    told = {key: value for key, value in run.environment.items() if key in _ENVIRONMENT}
    return replace(run, environment=told).as_record()


def question_of(run: RecordedRun) -> str:
    """Equal for runs that answer the same question: workload, shapes, batch, kind of GPU."""
    parts = [run.workload, run.gpu, *(run.spec.get(key) for key in QUESTION_KEYS)]
    return json.dumps(parts, sort_keys=True, default=str)


def variant_of(run: RecordedRun) -> str:
    """Equal for runs of the same variant with the same options."""
    parts = [run.variant, *(run.spec.get(key) for key in _VARIANT)]
    parts.append(run.spec.get("is_against") or None)  # another version is no point of this line
    return json.dumps(parts, sort_keys=True, default=str)


def _told_apart(before: Any, after: Any) -> tuple[str, str]:
    """Both as text; of versions the local part ("+cu130") only where nothing else differs."""
    whole = clipped(str(before), _LONGEST_TEXT), clipped(str(after), _LONGEST_TEXT)
    public = whole[0].partition("+")[0], whole[1].partition("+")[0]
    return whole if public[0] == public[1] else public

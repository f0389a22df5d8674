"""Performance metrics that the profiler sampled while it recorded (torch 2.15 and later)."""

from collections.abc import Sequence
from dataclasses import dataclass

import polars as pl

from profiler_core.analysis.telemetry.series import MOST_POINTS, Line, Lines, Point, thinned
from profiler_core.model.trace import Trace


@dataclass(frozen=True)
class Metric:
    """One metric of one device over the profiled steps, in the unit that its name says.

    period_ns: median distance of its samples; None for a single one. points: (s on the trace's
    axis, value), thinned for drawing.
    """

    name: str
    device: int | None
    n_samples: int
    period_ns: float | None
    mean: float
    median: float
    lowest: float
    highest: float
    points: tuple[Point, ...]


@dataclass(frozen=True)
class Metrics:
    """All that a trace holds, by device and name; empty for most traces."""

    metrics: tuple[Metric, ...] = ()


def sampled_metrics(trace: Trace) -> Metrics:
    """The metrics of a trace."""
    counters = trace.counters.with_columns(pl.col("name").cast(pl.String))
    groups = counters.group_by("device", "name", maintain_order=True)
    metrics = [
        Metric(
            name=str(name),
            device=None if device is None else int(str(device)),
            n_samples=samples.height,
            period_ns=_number(samples["ts_ns"].diff().median()),
            mean=_number(samples["value"].mean()) or 0.0,
            median=_number(samples["value"].median()) or 0.0,
            lowest=_number(samples["value"].min()) or 0.0,
            highest=_number(samples["value"].max()) or 0.0,
            points=thinned(samples.select(pl.col("ts_ns") / 1e9, "value").rows(), MOST_POINTS),
        )
        for (device, name), samples in groups
    ]
    return Metrics(tuple(sorted(metrics, key=lambda m: (m.device or 0, m.name))))


def metric_lines(runs: Sequence[tuple[int, Metrics]]) -> Lines:
    """The metrics of all runs, each against its trace's own axis.

    Args:
        runs: (place among the chosen runs, its metrics).
    """
    devices = {metric.device for _, sampled in runs for metric in sampled.metrics}
    drawn = [
        Line(number, metric.name if len(devices) == 1 else _with_device(metric), metric.points)
        for number, sampled in runs
        for metric in sampled.metrics
    ]
    return Lines("trace", "seconds on the trace's axis", tuple(drawn), ())


def _with_device(metric: Metric) -> str:
    return metric.name if metric.device is None else f"GPU {metric.device}: {metric.name}"


def _number(value: object) -> float | None:
    return float(value) if isinstance(value, int | float) else None

"""A sweep as measured: its points in order of their values, and each candidate's way through them.

The caller opens the runs; here each point is compared as any other pair of runs (`compare`), and
the numbers are put one behind the other:

    sweep = build_sweep([PointRuns(folder, [baseline_side, candidate_side]), …])
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from profiler_core.analysis.compare import CandidateComparison, compare
from profiler_core.analysis.compilation.by_script import of_record
from profiler_core.analysis.compilation.cost import CompileCost
from profiler_core.analysis.run_labels import run_facts
from profiler_core.analysis.side import Side
from profiler_core.analysis.sweep.crossing import Crossing, Judged, crossing
from profiler_core.analysis.sweep.scale import Value, batch_of, positions
from profiler_core.analysis.throughput import batch_size, per_second, samples_per_step
from profiler_core.analysis.verdict_kind import VerdictKind
from profiler_core.analysis.wording.script_compilation import name_with
from profiler_core.errors import BadInput
from profiler_core.model.run import RunRecord, SweepPlace


@dataclass(frozen=True)
class PointRuns:
    """The runs of one point, the baseline first, and the folder in which they lie."""

    path: Path
    sides: tuple[Side, ...]


@dataclass(frozen=True)
class VariantAtPoint:
    """One variant at one value. What is None was not measured; `error` says why, where one does.

    ratio, interval and verdict are against the baseline of the same point; None for itself.
    """

    series: str
    variant: str
    status: str
    error: str | None
    out_of_memory: bool
    step_time_ns: float | None
    samples_per_s: float | None
    tokens_per_s: float | None  # of a decoding step that says how many it makes
    peak_reserved_bytes: int | None
    peak_allocated_bytes: int | None
    compile: CompileCost
    ratio: float | None
    interval: tuple[float, float] | None
    verdict: VerdictKind | None
    numerics: str | None


@dataclass(frozen=True)
class SweepPoint:
    """All variants at one value, the baseline first; `variants` is in the order of `Sweep.series`.

    `x` is its place on a logarithmic axis; None where the values are words.
    """

    index: int  # in the order in which they were captured
    value: Value
    x: float | None
    batch_size: int | None
    path: Path
    variants: tuple[VariantAtPoint, ...]

    @property
    def baseline(self) -> VariantAtPoint:
        """What the others are compared with."""
        return self.variants[0]


@dataclass(frozen=True)
class SweepSeries:
    """One candidate through all points."""

    label: str
    crossing: Crossing


@dataclass(frozen=True)
class Sweep:
    """A series of comparisons over one option, in order of its values (words: as captured)."""

    id: str
    name: str  # of the option: "batch-size"
    label: str  # for people: "batch size"
    workload: str
    facts: tuple[str, ...]  # what was run, on which machine: all that every point shares
    points: tuple[SweepPoint, ...]
    baseline: str  # what the baseline is called in all points
    series: tuple[SweepSeries, ...]
    missing: tuple[Value, ...]  # asked for, and not here: never begun, or deleted

    @property
    def peak_is_reserved(self) -> bool:
        """Is memory what the allocator held? On a CPU only what tensors held is known."""
        return any(v.peak_reserved_bytes is not None for p in self.points for v in p.variants)

    def peak_bytes(self, variant: VariantAtPoint) -> int | None:
        """The peak that is known of this sweep's runs: reserved, else allocated."""
        return (
            variant.peak_reserved_bytes if self.peak_is_reserved else variant.peak_allocated_bytes
        )

    @property
    def counted(self) -> str:
        """What throughput counts here: "tokens", where a variant says them, or "samples"."""
        variants = (variant for point in self.points for variant in point.variants)
        return "tokens" if any(v.tokens_per_s is not None for v in variants) else "samples"

    def per_second(self, variant: VariantAtPoint) -> float | None:
        """The throughput, in what is `counted`."""
        return variant.tokens_per_s if self.counted == "tokens" else variant.samples_per_s

    @property
    def is_alive(self) -> bool:
        """Is one of its runs being captured now?"""
        return any(
            variant.status == "running" for point in self.points for variant in point.variants
        )

    def point(self, index: int) -> SweepPoint:
        """The point that was captured at this place."""
        return next(point for point in self.points if point.index == index)


def build_sweep(points: Sequence[PointRuns]) -> Sweep:
    """Put the points of one sweep together.

    Args:
        points: in any order; each with its baseline first.

    Raises:
        BadInput: there are none, or their runs belong to no sweep or to several.
    """
    sweep_points = [_place(point) for point in points]
    if not sweep_points:
        raise BadInput("No point of a sweep is given.", remedy="Name the folders of its captures.")
    first = sweep_points[0]
    if any(
        (sweep_point.id, sweep_point.name) != (first.id, first.name) for sweep_point in sweep_points
    ):
        raise BadInput(
            "These runs belong to several sweeps.", remedy="Choose the points of one of them."
        )
    x_of_points = positions([sweep_point.value for sweep_point in sweep_points])
    names = _names(points)
    built = [
        _point(runs, sweep_point, None if x_of_points is None else x_of_points[n], names)
        for n, (runs, sweep_point) in enumerate(zip(points, sweep_points, strict=True))
    ]
    built.sort(key=lambda point: (point.index if point.x is None else point.x, point.index))
    present_values = {sweep_point.value for sweep_point in sweep_points}
    return Sweep(
        id=first.id,
        name=first.name,
        label=first.label or first.name,
        workload=points[0].sides[0].run.record.workload,
        facts=_shared_facts([point.sides[0].run.record for point in points]),
        points=tuple(built),
        baseline=built[0].baseline.series,
        series=_series(built),
        missing=tuple(value for value in first.values if value not in present_values),
    )


def _names(points: Sequence[PointRuns]) -> Mapping[str, str]:
    """What each series is called in all points: with what its script compiles in any of them."""
    sides = [side for point in points for side in point.sides]
    compiled = {
        point.series: parts
        for record in (side.run.record for side in sides)
        if (point := record.sweep) and point.series and (parts := of_record(record))
    }
    names = dict.fromkeys(map(_series_of, sides))
    return {name: name_with(name, compiled.get(name)) for name in names}


def _series_of(side: Side) -> str:
    sweep_point = side.run.record.sweep
    return (sweep_point.series if sweep_point else "") or side.label


def _shared_facts(records: Sequence[RunRecord]) -> tuple[str, ...]:
    """What changes from point to point is no fact of the sweep."""
    first, *further_facts = (run_facts(record) for record in records)
    return tuple(
        fact for fact in first if all(fact in point_facts for point_facts in further_facts)
    )


def _place(point: PointRuns) -> SweepPlace:
    sweep_point = point.sides[0].run.record.sweep
    if sweep_point is None:
        raise BadInput(
            f"{point.path} is no point of a sweep.",
            remedy="Capture one: capture WORKLOAD --sweep batch-size=1,8,32.",
        )
    return sweep_point


def _point(
    runs: PointRuns, sweep_point: SweepPlace, x: float | None, names: Mapping[str, str]
) -> SweepPoint:
    baseline, *candidates = runs.sides
    batch = _batch_size(baseline.run.record, sweep_point)
    comparison = compare(baseline, candidates)
    variants = [_variant(baseline, None, batch, names)]
    for side, compared in zip(comparison.sides, comparison.candidates, strict=True):
        variants.append(_variant(side, compared, batch, names))
    return SweepPoint(sweep_point.index, sweep_point.value, x, batch, runs.path, tuple(variants))


def _variant(
    side: Side, compared: CandidateComparison | None, batch: int | None, names: Mapping[str, str]
) -> VariantAtPoint:
    record = side.run.record
    step = side.step_time_ns if side.clock == "unprofiled" else None
    timed = compared is not None and compared.step_time.clock == "unprofiled"
    tokens = record.measurement.tokens_per_step if record.measurement else None
    return VariantAtPoint(
        series=names[_series_of(side)],
        variant=record.variant or side.label,
        status=record.status,
        error=record.error,
        out_of_memory=record.error_kind == "memory",
        step_time_ns=step,
        samples_per_s=per_second(samples_per_step(record, batch), step),
        tokens_per_s=per_second(tokens, step),
        peak_reserved_bytes=side.memory.peak_reserved_bytes,
        peak_allocated_bytes=side.memory.peak_allocated_bytes,
        compile=compared.compile if compared is not None else CompileCost(),
        ratio=compared.step_time.ratio if compared is not None and timed else None,
        interval=compared.step_time.interval if compared is not None and timed else None,
        verdict=compared.verdict if compared is not None else None,
        numerics=record.numerics.verdict if record.numerics else None,
    )


def _batch_size(record: RunRecord, sweep_point: SweepPlace) -> int | None:
    """Samples of a batch, by the sweep or as asked for; None: the workload's own."""
    swept = batch_of(sweep_point.value, sweep_point.name)
    return batch_size(record) if swept is None else swept


def _series(points: Sequence[SweepPoint]) -> tuple[SweepSeries, ...]:
    labels = dict.fromkeys(v.series for point in points for v in point.variants[1:])
    return tuple(SweepSeries(label, crossing(_judged(points, label))) for label in labels)


def _judged(points: Sequence[SweepPoint], label: str) -> list[Judged]:
    return [
        Judged(
            point.index, point.x, variant.verdict or "no_verdict", variant.ratio, variant.interval
        )
        for point in points
        for variant in point.variants[1:]
        if variant.series == label
    ]

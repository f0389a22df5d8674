"""A sweep over an option: from which value on compiling pays."""

from pathlib import Path
from typing import Annotated

from profiler_core.analysis.sweep.scale import Value
from profiler_core.analysis.sweep.series import Sweep, SweepSeries, VariantAtPoint
from profiler_core.analysis.wording.sentence import plain
from profiler_core.analysis.wording.sweep import evidence, failures, headline
from profiler_core.answers.record import Answer, told


class SweepFacts(Answer, frozen=True):
    """Which sweep."""

    id: str
    name: Annotated[str, told("of the option: `batch-size`")]
    label: Annotated[str, told("`batch size`")]
    workload: str
    baseline: Annotated[str, told("its name in all points")]


class CrossingAnswer(Answer, frozen=True):
    """From where to where it pays, in values of the option."""

    kind: Annotated[str, told("`always`, `never`, `from`, `until`, `mixed`, `unknown`")]
    paying: Annotated[tuple[Value, ...], told("values")]
    not_paying: Annotated[tuple[Value, ...], told("values")]
    between: Annotated[
        tuple[Value, ...] | None,
        told("the two neighbouring values between which it changes, or null"),
    ]
    at: Annotated[
        float | None,
        told("where between them, by interpolation, or null; of shapes a number of elements"),
    ]


class SeriesAnswer(Answer, frozen=True):
    """One candidate over all points."""

    label: str
    crossing: Annotated[CrossingAnswer, told("{keys}")]
    headline: Annotated[str, told("the same in words, as `evidence`")]
    evidence: str


class PointAnswer(Answer, frozen=True):
    """One value of the option, with every variant that was captured there."""

    index: Annotated[int, told("as captured")]
    value: Value
    batch_size: Annotated[int | None, told("null where neither the sweep nor the capture says it")]
    directory: Path
    variants: Annotated[
        tuple[VariantAtPoint, ...],
        told(
            "the baseline first: {keys}",
            series="its name in all points",
            compile="as in [compare](#compare)",
            verdict="a word of [compare](#compare); null for the baseline",
        ),
    ]


class SweepAnswer(Answer, frozen=True):
    """`sweep`."""

    sweep: Annotated[SweepFacts, told("{keys}")]
    series: Annotated[tuple[SeriesAnswer, ...], told("one a candidate: {keys}")]
    points: Annotated[tuple[PointAnswer, ...], told("in order of their values: {keys}")]
    missing: Annotated[tuple[Value, ...], told("values that were asked for and are not here")]
    failures: Annotated[tuple[str, ...], told("one sentence for each thing that failed")]


def sweep_answer(sweep: Sweep) -> SweepAnswer:
    """Of one sweep."""
    return SweepAnswer.of(
        sweep,
        sweep=SweepFacts.of(sweep),
        series=tuple(_series(sweep, series) for series in sweep.series),
        points=tuple(PointAnswer.of(point, directory=point.path) for point in sweep.points),
        failures=tuple(failures(sweep)),
    )


def _series(sweep: Sweep, series: SweepSeries) -> SeriesAnswer:
    crossing = series.crossing

    def values(indices: tuple[int, ...]) -> tuple[Value, ...]:
        return tuple(sweep.point(index).value for index in indices)

    return SeriesAnswer(
        series.label,
        CrossingAnswer.of(
            crossing,
            paying=values(crossing.paying),
            not_paying=values(crossing.not_paying),
            between=None if crossing.between is None else values(crossing.between),
        ),
        plain(headline(sweep, series)),
        evidence(sweep, series),
    )

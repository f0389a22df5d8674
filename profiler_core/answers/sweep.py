"""A sweep over an option: from which value on compiling pays."""

from pathlib import Path
from typing import Annotated

from profiler_core.analysis.sweep.scale import Value
from profiler_core.analysis.sweep.series import Sweep, SweepSeries, VariantAtPoint
from profiler_core.analysis.wording.sentence import plain
from profiler_core.analysis.wording.sweep import evidence, failures, headline
from profiler_core.answers.record import Answer, means


class SweepFacts(Answer, frozen=True):
    """Which sweep."""

    id: str
    name: Annotated[str, means("of the option: `batch-size`")]
    label: Annotated[str, means("`batch size`")]
    workload: str
    baseline: Annotated[str, means("its name in all points")]


class CrossingAnswer(Answer, frozen=True):
    """From where to where it pays, in values of the option."""

    kind: Annotated[str, means("`always`, `never`, `from`, `until`, `mixed`, `unknown`")]
    paying: Annotated[tuple[Value, ...], means("values")]
    not_paying: Annotated[tuple[Value, ...], means("values")]
    between: Annotated[
        tuple[Value, ...] | None,
        means("the two neighbouring values between which it changes, or null"),
    ]
    at: Annotated[
        float | None,
        means("where between them, by interpolation, or null; of shapes a number of elements"),
    ]


class SeriesAnswer(Answer, frozen=True):
    """One candidate over all points."""

    label: str
    crossing: Annotated[CrossingAnswer, means("{keys}")]
    headline: Annotated[str, means("the same in words, as `evidence`")]
    evidence: str


class PointAnswer(Answer, frozen=True):
    """One value of the option, with every variant that was captured there."""

    index: Annotated[int, means("as captured")]
    value: Value
    batch_size: Annotated[int | None, means("null where neither the sweep nor the capture says it")]
    directory: Path
    variants: Annotated[
        tuple[VariantAtPoint, ...],
        means(
            "the baseline first: {keys}",
            series="its name in all points",
            compile="as in [compare](#compare)",
            verdict="a word of [compare](#compare); null for the baseline",
        ),
    ]


class SweepAnswer(Answer, frozen=True):
    """`sweep`."""

    sweep: Annotated[SweepFacts, means("{keys}")]
    series: Annotated[tuple[SeriesAnswer, ...], means("one a candidate: {keys}")]
    points: Annotated[tuple[PointAnswer, ...], means("in order of their values: {keys}")]
    missing: Annotated[tuple[Value, ...], means("values that were asked for and are not here")]
    failures: Annotated[tuple[str, ...], means("one sentence for each thing that failed")]


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

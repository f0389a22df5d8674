"""What a sweep says, in sentences: page, command line and report say the same."""

from collections.abc import Callable

from profiler_core.analysis.noise import MIN_ROUNDS
from profiler_core.analysis.sweep.crossing import Crossing
from profiler_core.analysis.sweep.series import Sweep, SweepPoint, SweepSeries, VariantAtPoint
from profiler_core.analysis.wording.sentence import Phrase, Strong, listed
from profiler_core.units import format_count

_WHY = {
    "slower": "is slower",
    "no_difference": "makes no difference",
    "wrong_numerics": "gives wrong results",
    "cannot_be_told": "could be faster or slower",  # the interval is wide
}


def headline(sweep: Sweep, series: SweepSeries) -> Phrase:
    """Where compiling pays, in one short sentence."""
    result, name, label = series.crossing, sweep.label, Strong(series.label)
    if result.kind == "unknown":
        return (label, f" could not be judged at any {name}.")
    if len(result.paying) + len(result.not_paying) == 1:
        (index,) = result.paying or result.not_paying
        pays = "pays" if result.paying else "does not pay"
        at = value_text(sweep.point(index))
        return (label, f" {pays} at {name} {at}, the only one that could be judged.")
    if result.kind == "always":
        return (label, f" pays at every {name} that was measured.")
    if result.kind == "never":
        return (label, f" pays at no {name} that was measured.")
    if result.kind == "from":
        start = Strong(f"from {name} {_value(sweep, result.paying[0])} on")
        return (label, " pays ", start, ".")
    if result.kind == "until":
        return (label, f" pays up to {name} {_value(sweep, result.paying[-1])}.")
    paying_values = listed([_value(sweep, index) for index in result.paying])
    return (label, f" pays at {name} {paying_values} only.")


def without_candidate(sweep: Sweep) -> str:
    """What is said of a sweep in which nothing is compared."""
    return f"{sweep.baseline} alone was captured: there is nothing to compare it with."


def without_speedup(sweep: Sweep) -> str:
    """What is said where at no value two step times can be compared."""
    if sweep.is_alive:
        return f"No {sweep.label} has a speed-up yet."
    return (
        f"There is none to draw: at no {sweep.label} were {sweep.baseline} and another variant "
        "both timed."
    )


def evidence(sweep: Sweep, series: SweepSeries) -> str:
    """The numbers behind the headline; empty where there are none."""
    result = series.crossing
    sentences = [
        _speeds(sweep, series),
        _too_few_rounds(sweep, series),
        _change(sweep, result),
        _elsewhere(sweep, series),
    ]
    if result.kind == "mixed" and sweep.points[0].x is not None:
        sentences.append("That is not monotonic: there is no one point from which it pays.")
    return " ".join(sentence for sentence in sentences if sentence)


def failures(sweep: Sweep) -> list[str]:
    """One sentence for each value at which something failed, or that is not here."""
    return [*_failures(sweep, _what), *_absent(sweep)]


def short_failures(sweep: Sweep) -> list[str]:
    """The same, with no more than the kind of what happened where that says enough."""
    return [*_failures(sweep, _kind_of_failure), *_absent(sweep)]


def shortened_failures(sweep: Sweep) -> list[str]:
    """In full, those of which `short_failures` gives the kind alone."""
    return _failures(sweep, lambda v: _what(v) if _what(v) != _kind_of_failure(v) else None)


def _what(variant: VariantAtPoint) -> str:
    return variant.error or f"{variant.status}."


def _kind_of_failure(variant: VariantAtPoint) -> str:
    return "out of memory." if variant.out_of_memory else _what(variant)


def _failures(sweep: Sweep, describe: Callable[[VariantAtPoint], str | None]) -> list[str]:
    sentences = []
    for point in sweep.points:
        series_by_failure: dict[str, list[str]] = {}
        for variant in point.variants:
            failure = describe(variant) if short_failure(variant) is not None else None
            if failure is not None:
                series_by_failure.setdefault(failure, []).append(variant.series)
        for failure, names in series_by_failure.items():
            subject = "every variant" if len(names) == len(point.variants) else listed(names)
            sentences.append(
                f"{sweep.label.capitalize()} {value_text(point)}, {subject}: {failure}"
            )
    return sentences


def _absent(sweep: Sweep) -> list[str]:
    """Baselines that run out of memory where a candidate runs, and values without any run."""
    sentences = _rescued(sweep)
    if sweep.missing and not sweep.is_alive:
        values = listed([str(value) for value in sweep.missing])
        sentences.append(
            f"{sweep.label.capitalize()} {values}: not here. The sweep was stopped before, or the "
            "runs were deleted."
        )
    return sentences


def value_text(point: SweepPoint) -> str:
    """The value as people wrote it."""
    return str(point.value)


def short_failure(variant: VariantAtPoint) -> str | None:
    """Two or three words for a mark in a chart; None for one that finished or is on its way."""
    if variant.status in ("finished", "running"):
        return None
    return "out of memory" if variant.out_of_memory else variant.status


def _rescued(sweep: Sweep) -> list[str]:
    """Where one variant needs so much less memory that it alone runs."""
    return [
        f"{variant.series} runs at {sweep.label} {value_text(point)}, where "
        f"{point.baseline.series} runs out of memory."
        for point in sweep.points
        if point.baseline.out_of_memory
        for variant in point.variants[1:]
        if variant.step_time_ns is not None
    ]


def _speeds(sweep: Sweep, series: SweepSeries) -> str:
    ratios = [
        (variant.ratio, point)
        for point in sweep.points
        for variant in point.variants[1:]
        if variant.series == series.label and variant.ratio is not None
    ]
    if not ratios:
        return ""
    low, high = min(ratios, key=_ratio), max(ratios, key=_ratio)
    if f"{low[0]:.2f}" == f"{high[0]:.2f}":
        return f"The speed-up is {low[0]:.2f}."
    return (
        f"The speed-up lies between {low[0]:.2f} (at {value_text(low[1])}) and {high[0]:.2f} (at "
        f"{value_text(high[1])})."
    )


def _too_few_rounds(sweep: Sweep, series: SweepSeries) -> str:
    """Why a point with a speed-up has no verdict: it has no interval."""
    values = [
        value_text(point)
        for point in sweep.points
        for variant in point.variants[1:]
        if variant.series == series.label and variant.ratio is not None and variant.interval is None
    ]
    if not values:
        return ""
    location = "" if len(values) == len(sweep.points) else f" at {listed(values)}"
    return f"There are too few rounds for a verdict{location}: it takes {MIN_ROUNDS} or more."


def _ratio(pair: tuple[float, SweepPoint]) -> float:
    return pair[0]


def _change(sweep: Sweep, result: Crossing) -> str:
    if result.between is None:
        return ""
    below, above = (_value(sweep, index) for index in result.between)
    sentence = f"It passes 1 between {below} and {above}"
    if result.at is None:
        return f"{sentence}."
    return f"{sentence}, at about {place_text(result.at, sweep.name)} by interpolation."


def place_text(x: float, name: str) -> str:
    """A position on the swept axis as text, without decimals from 10 on: it is interpolated."""
    if name == "shape":
        return f"{format_count(round(x))} elements"
    return f"{x:.0f}" if x >= 10 else f"{x:.1f}"


def _elsewhere(sweep: Sweep, series: SweepSeries) -> str:
    """What it is where it does not pay: "It is slower at 1 and 2, and … at 4."."""
    reasons: dict[str, list[str]] = {}
    for point in sweep.points:
        for variant in point.variants[1:]:
            if variant.series == series.label and variant.verdict in _WHY:
                reasons.setdefault(_WHY[variant.verdict], []).append(value_text(point))
    clauses = [f"{reason_text} at {listed(values)}" for reason_text, values in reasons.items()]
    return f"It {', and '.join(clauses)}." if clauses else ""


def _value(sweep: Sweep, index: int) -> str:
    return value_text(sweep.point(index))

"""The comparison as rows: runs as columns, measures as rows, the change beside the value."""

from profiler_core.analysis.compare import ComparedNumbers
from profiler_core.analysis.measures import Judgement, Measure, measures
from profiler_core.analysis.rows.table import Cell, Change, Tone
from profiler_core.analysis.wording.measures import change_text, value_text

_TONE: dict[Judgement, Tone] = {"better": "better", "worse": "worse", "same": "", "unjudged": ""}
_NOTE: dict[Judgement, str] = {
    "better": "better",
    "worse": "worse",
    "same": "no difference",
    "unjudged": "",
}
_RESULTS = (
    "Results",
    "RMS error against an eager reference in fp64 (fp32 where that is not possible): right when "
    "at most three times the baseline's own, plus the rounding unit of its dtype.",
)
_RESULT_TONE: dict[str, Tone] = {"right": "", "wrong": "worse"}


def measure_rows(comparison: ComparedNumbers) -> tuple[tuple[Cell, ...], ...]:
    """A row for each measure that a run has, the most important first."""
    return tuple(_row(measure) for measure in measures(comparison))


def result_rows(comparison: ComparedNumbers) -> tuple[tuple[Cell, ...], ...]:
    """Whether each candidate computes the right thing; no row where nobody checked."""
    every = [candidate.numerics for candidate in comparison.candidates]
    if all(numerics is None for numerics in every):
        return ()
    cells = [
        Cell("not checked", "muted", Change())
        if numerics is None
        else Cell(
            numerics.verdict,
            _RESULT_TONE.get(numerics.verdict, "muted"),
            Change(),
            note=numerics.reason,
        )
        for numerics in every
    ]
    return ((Cell(_RESULTS[0], note=_RESULTS[1]), Cell("reference"), *cells),)


def definitions(comparison: ComparedNumbers) -> tuple[tuple[str, str], ...]:
    """(label, meaning) of each row."""
    rows = (*measure_rows(comparison), *result_rows(comparison))
    return tuple((row[0].text, row[0].note) for row in rows)


def _row(measure: Measure) -> tuple[Cell, ...]:
    cells = [Cell(measure.label, note=measure.definition), Cell(value_text(measure, 0))]
    for run, judgement in enumerate(measure.judgements, start=1):
        change = Change(change_text(measure, run), _TONE[judgement], _NOTE[judgement])
        cells.append(Cell(value_text(measure, run), change=change))
    return tuple(cells)

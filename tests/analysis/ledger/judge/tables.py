"""`make accuracy`: what the judge says of all pairs, into docs/ledger.md."""

from collections.abc import Iterable, Sequence
from pathlib import Path

from tests.analysis.ledger.judge.ablation import ablation_rows
from tests.analysis.ledger.judge.pairs import ROOT, judged, shown_beside
from tests.analysis.ledger.judge.verdict import Verdict

LEDGER_PAGE = ROOT / "docs" / "ledger.md"
Pairs = Sequence[tuple[str, Path, Path]]


def write_tables(pairs: Pairs, ablation: bool) -> None:
    """Write the tables of accuracy, and that of what each rule is worth if `ablation`."""
    logged = [_row(name, judged(*runs, logs=True)) for name, *runs in pairs]
    alone = [_row(name, judged(*runs, logs=False)) for name, *runs in pairs]
    beside = [
        _row(f"{name}, `default` compared along", judged(baseline, candidate, False, shown))
        for name, baseline, candidate in pairs
        if (shown := shown_beside(candidate))
    ]
    head = "| pair | wrong | undecidable | merged |\n|---|---|---|---|"
    tables = {"with logs": [head, *logged], "without logs": [head, *alone, *beside]}
    if ablation:
        tables["rules"] = list(ablation_rows(pairs))
    text = LEDGER_PAGE.read_text(encoding="utf-8")
    for name, lines in tables.items():
        text = replaced(text, name, lines)
    LEDGER_PAGE.write_text(text, encoding="utf-8")


def replaced(text: str, name: str, lines: Iterable[str]) -> str:
    """A page with one of its tables anew: it stands between two comments.

    Args:
        text: the page.
        name: of the table, as in `<!-- table: rules -->`.
        lines: of the table.

    Raises:
        ValueError: the page has no such table.
    """
    start, end = f"<!-- table: {name} -->\n", "<!-- end of table -->"
    before, mark, rest = text.partition(start)
    _, end_mark, after = rest.partition(end)
    if not mark or not end_mark:
        raise ValueError(f"There is no table {name} in the page.")
    return "".join((before, start, "\n", *(f"{line}\n" for line in lines), "\n", end, after))


def _row(name: str, verdicts: tuple[Verdict, Verdict]) -> str:
    cells = [
        " / ".join(f"{100 * part / max(1, whole):.1f} %" for part, whole in sides)
        for sides in (
            [(v.wrong, v.decidable) for v in verdicts],
            [(v.undecidable, v.total) for v in verdicts],
            [(v.merged, v.total) for v in verdicts],
        )
    ]
    return f"| {name} | {' | '.join(cells)} |"

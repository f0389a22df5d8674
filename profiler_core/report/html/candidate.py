"""The chapter of one candidate: where the difference comes from, what fusion did, what to do."""

from collections.abc import Mapping
from typing import Any

from profiler_core.analysis.ledger.folding import FoldedGroup, fold
from profiler_core.analysis.ledger.result import FusionLedger
from profiler_core.analysis.modules import module_tree
from profiler_core.analysis.operators import operator_rows
from profiler_core.analysis.ranks.overlap import Overlap
from profiler_core.analysis.rows.findings import finding_rows
from profiler_core.analysis.rows.modules import (
    how_divided,
    module_table,
    operator_table,
)
from profiler_core.analysis.rows.overlap import MEANING, TITLE, overlap_sentences, overlap_table
from profiler_core.analysis.rows.table import Cell, Change, Table, Tone
from profiler_core.analysis.span import Span
from profiler_core.analysis.waterfall import Waterfall
from profiler_core.analysis.wording.comparison import (
    difference_note,
    fusion_alt,
    fusion_note,
    waterfall_alt,
)
from profiler_core.analysis.wording.findings import amounts_text
from profiler_core.analysis.wording.sentence import clipped
from profiler_core.figures.fusion_layout import fusion_legend
from profiler_core.figures.fusion_map import fusion_map
from profiler_core.figures.theme import LIGHT
from profiler_core.figures.waterfall import waterfall_figure
from profiler_core.report.contents import Contents
from profiler_core.report.html.charts import Charts
from profiler_core.units import format_change_between, format_difference, format_duration

_MAP_PX = 460
_GROUPS = 10  # the biggest changes; --tables has all groups
_MODULES = 12  # rows of the most expensive modules and operators
_LONGEST = 110  # characters of a group's title
_ALIKE = 0.02  # changes within this are no news, and not coloured


def candidate(contents: Contents, number: int, charts: Charts) -> Mapping[str, Any]:
    """What `report/candidate.html` shows.

    Args:
        contents: all of it.
        number: which candidate.
        charts: of the document.
    """
    explanation = contents.explanations[number]
    labels = (contents.labels[0], contents.labels[number + 1])
    fusion = difference = divided = None
    if explanation.ledger is not None:
        divided = _divided(explanation.ledger, labels)
        fusion = _fusion(explanation.ledger, labels, charts, contents.time_word)
    if explanation.waterfall is not None:
        difference = _difference(explanation.waterfall, labels, charts)
    return {
        "number": number,
        "label": labels[1],
        "title": f"{labels[1]} against {labels[0]}",
        "explanation": explanation,
        "findings": finding_rows(explanation.findings),
        "amounts": amounts_text(explanation.findings or ()),
        "fusion": fusion,
        "divided": divided,
        "difference": difference,
        "overlap": explanation.overlap and _overlap(explanation.overlap),
    }


def _overlap(result: Overlap) -> Mapping[str, Any]:
    return {
        "title": TITLE,
        "note": MEANING,
        "table": overlap_table(result),
        "sentences": overlap_sentences(result),
    }


def _difference(result: Waterfall, labels: tuple[str, str], charts: Charts) -> Mapping[str, Any]:
    figure = waterfall_figure(result, labels, LIGHT)
    chart = charts.chart(figure, waterfall_alt(result))
    return {"note": difference_note(result, labels), "chart": chart}


def _fusion(
    ledger: FusionLedger, labels: tuple[str, str], charts: Charts, time: str
) -> Mapping[str, Any] | None:
    """None: no profiled step has any kernel."""
    groups = fold(ledger.groups)
    if not groups:
        return None
    figure = fusion_map(groups, labels, LIGHT, height_px=_MAP_PX, time=time, span=ledger.span)
    return {
        "note": fusion_note(ledger, labels, time),
        "chart": charts.chart(
            figure, fusion_alt(groups, time, ledger.span), fusion_legend(groups, LIGHT)
        ),
        "groups": _groups(groups, labels, ledger.span),
    }


def _divided(ledger: FusionLedger, labels: tuple[str, str]) -> Mapping[str, Any] | None:
    """None: no profiled step has any kernel."""
    tree = module_tree(ledger, (None, None))
    if not any(side.time_ns for side in tree.root.sides):
        return None
    return {
        "how_modules": how_divided(ledger.span, of_modules=True, is_pair=True),
        "modules": module_table(tree.by_class, tree, labels, _MODULES) if tree.is_known else None,
        "how_operators": how_divided(ledger.span, of_modules=False, is_pair=True),
        "operators": operator_table(operator_rows(ledger), tree, labels, _MODULES),
    }


def _groups(groups: tuple[FoldedGroup, ...], labels: tuple[str, str], span: Span) -> Table:
    biggest = sorted(groups, key=lambda group: -abs(group.delta_ns))[:_GROUPS]
    rows = tuple(
        (
            Cell(clipped(group.label, _LONGEST), is_code=True, below=_place(group)),
            Cell(f"{group.n_kernels[0]:.4g} → {group.n_kernels[1]:.4g}"),
            Cell(format_duration(group.baseline_ns)),
            Cell(format_duration(group.candidate_ns)),
            _change(group),
        )
        for group in biggest
    )
    heads = (f"The biggest changes, {span}", "kernels", *labels, "change")
    return Table(heads, rows, len(groups) - len(biggest))


def _place(group: FoldedGroup) -> tuple[str, ...]:
    source = group.first.sources[0][0] if group.first.sources else ""
    kind = "" if group.kind == "matched" else group.kind
    words = " ".join(filter(None, (kind, source, group.occurrence)))
    return (words,) if words else ()


def _change(group: FoldedGroup) -> Cell:
    alike = abs(group.delta_ns) <= _ALIKE * max(group.baseline_ns, group.candidate_ns)
    tone: Tone = "muted" if alike else "better" if group.delta_ns < 0 else "worse"
    percent = format_change_between(group.baseline_ns, group.candidate_ns or None)
    return Cell(format_difference(group.delta_ns), tone, Change(percent))

"""A comparison or a run as a piece of HTML for a notebook: verdict, waterfall, fusion map.

It needs no script and no network, so that it shows wherever a notebook does, and has both looks:
that of the notebook's theme is shown.
"""

from collections.abc import Mapping
from contextlib import suppress
from typing import Any

from profiler_core.analysis.ledger.folding import fold
from profiler_core.analysis.measures import step_bars_of
from profiler_core.analysis.rows.findings import finding_rows
from profiler_core.analysis.run_labels import run_facts
from profiler_core.analysis.wording.comparison import (
    difference_note,
    fusion_alt,
    fusion_note,
    step_bars_alt,
    waterfall_alt,
)
from profiler_core.analysis.wording.verdict import candidate_headline, headline
from profiler_core.errors import FusionscopeError
from profiler_core.figures.fusion_layout import fusion_layout, fusion_legend
from profiler_core.figures.fusion_panel import Panel
from profiler_core.figures.fusion_svg import fusion_svg
from profiler_core.figures.step_bars import step_legend, step_rows
from profiler_core.figures.theme import DARK, LIGHT, Palette
from profiler_core.figures.waterfall import bar_rows
from profiler_core.markup import render
from profiler_core.session.comparison import Comparison
from profiler_core.session.pair import Pair

_MAP_PX = 420
_FINDINGS = 3  # the report has all


def card(comparison: Comparison, pair: Pair | None = None) -> str:
    """What a notebook shows of it.

    Args:
        comparison: of one run or more.
        pair: say the verdict on this candidate alone; else on all, with the leading one's pictures.
    """
    drawn = pair or comparison.leading
    told = headline(comparison.judged) if pair is None else candidate_headline(pair.verdict)
    facts = run_facts(comparison.baseline.record)
    findings = comparison.baseline.alone.findings if not comparison.pairs else None
    if drawn is not None:
        findings = drawn.findings
    return str(
        render(
            "report/card.html",
            facts=facts or [comparison.baseline.path.name],
            title=told.title,
            lines=told.lines,
            is_bad=told.is_bad,
            findings=finding_rows(findings)[:_FINDINGS],
            notes=(*comparison.problems, *_why_no_picture(drawn)),
            looks=[_look(comparison, drawn, palette) for palette in (LIGHT, DARK)],
        )
    )


def _why_no_picture(pair: Pair | None) -> tuple[str, ...]:
    why = None if pair is None else pair.not_explained
    return () if why is None else (why,)


def _look(comparison: Comparison, pair: Pair | None, palette: Palette) -> Mapping[str, Any]:
    """The pictures in the colours of one mode."""
    waterfall = fusion = steps = None
    if pair is not None:
        with suppress(FusionscopeError):  # the notes say why it cannot be
            waterfall = _waterfall(pair, palette)
        with suppress(FusionscopeError):
            fusion = _fusion(pair, palette)
    if waterfall is None:
        steps = _steps(comparison, palette)
    return {"palette": palette, "waterfall": waterfall, "fusion": fusion, "steps": steps}


def _waterfall(pair: Pair, palette: Palette) -> Mapping[str, Any]:
    result = pair.waterfall
    return {
        "note": difference_note(result, pair.labels),
        "alt": waterfall_alt(result),
        "rows": bar_rows(result, pair.labels, palette),
    }


def _fusion(pair: Pair, palette: Palette) -> Mapping[str, Any] | None:
    """None: no profiled step has any kernel."""
    ledger = pair.ledger
    groups = fold(ledger.groups)
    if not groups:
        return None
    time = pair.time_word
    drawing = fusion_layout(
        [Panel(pair.labels[1], groups)],
        pair.labels[0],
        palette,
        height_px=_MAP_PX,
        time=time,
        span=ledger.span,
    )
    return {
        "note": fusion_note(ledger, pair.labels, time),
        "alt": fusion_alt(groups, time, ledger.span),
        "map": fusion_svg(drawing),
        "legend": fusion_legend(groups, palette),
    }


def _steps(comparison: Comparison, palette: Palette) -> Mapping[str, Any] | None:
    """None: no run has a trace."""
    labels, parts = step_bars_of(comparison.sides)
    if not parts:
        return None
    caption, rows = step_rows(labels, parts, palette)
    return {
        "alt": step_bars_alt(labels, parts),
        "caption": caption,
        "rows": rows,
        "legend": step_legend(parts, palette),
    }

"""The chapter of one candidate: where the difference comes from, what fusion did, what to do."""

from html import escape

from profiler_core.analysis.ledger.folding import FoldedGroup, fold
from profiler_core.analysis.ledger.result import FusionLedger
from profiler_core.analysis.waterfall import Waterfall
from profiler_core.figures.fusion_map import fusion_legend, fusion_map
from profiler_core.figures.theme import LIGHT
from profiler_core.figures.waterfall import waterfall_figure
from profiler_core.report.contents import Contents
from profiler_core.report.html.charts import Charts
from profiler_core.report.html.pieces import bullets, chapter, legend, mono, paragraph, short, table
from profiler_core.report.html.summary import finding_html
from profiler_core.units import format_change, format_difference, format_duration, format_share

_MAP_PX = 460
_GROUPS = 10  # the biggest changes; --tables has all groups
_ALIKE = 0.02  # changes within this are no news, and not coloured
_CLOCK = {
    "unprofiled": "timed without the profiler",
    "profiled": "on the profiler's clock",
}


def candidate_chapters(contents: Contents, number: int, charts: Charts) -> str:
    """Difference and fusion of one candidate, then its findings.

    Args:
        contents: all of it.
        number: which candidate.
        charts: of the document.
    """
    explanation = contents.explanations[number]
    labels = (contents.labels[0], contents.labels[number + 1])
    parts = []
    if explanation.ledger is not None:
        parts.append(_fusion(explanation.ledger, labels, charts, contents.time_word))
    if explanation.waterfall is not None:
        parts.append(_difference(explanation.waterfall, labels, charts))
    if explanation.notes:
        parts.append(bullets(explanation.notes))
    html = chapter(
        f"candidate-{number}",
        f"{labels[1]} against {labels[0]}",
        "What each operator became, and where the difference in step time comes from.",
        *parts,
    )
    if explanation.findings:
        html += chapter(
            f"findings-{number}",
            f"What to do next in {labels[1]}",
            "What stands out, by the time at stake in a step. Estimates may overlap and do not "
            "add up; ≤ is an upper bound.",
            *(finding_html(finding) for finding in explanation.findings),
            flow=True,
        )
    return html


def _difference(result: Waterfall, labels: tuple[str, str], charts: Charts) -> str:
    before, after = format_duration(result.baseline_ns), format_duration(result.candidate_ns)
    changes = "; ".join(
        f"{row.label} {format_difference(row.delta_ns)}" for row in result.rows if row.delta_ns
    )
    sentence = (
        f"A step of {labels[0]} takes {before}, one of {labels[1]} {after}, "
        f"{_CLOCK[result.clock]}; the bars between add up to the difference exactly."
    )
    figure = waterfall_figure(result, labels, LIGHT)
    return (
        '<div class="keep"><h3>Where the difference comes from</h3>'
        f"{paragraph(sentence, 'muted')}"
        f"{charts.html(figure, f'From {before} per step: {changes}.')}"
        f"</div>{bullets(result.notes)}"
    )


def _fusion(ledger: FusionLedger, labels: tuple[str, str], charts: Charts, time: str) -> str:
    groups = fold(ledger.groups)
    if not groups:
        return paragraph("No profiled step has any kernel.", "muted")
    sentence = (
        f"{time[0].upper()}{time[1:]} of one step, {labels[0]} left, {labels[1]} right; equal "
        "groups are folded, a ribbon shows what became what. "
        f"{format_share(ledger.coverage_baseline)} of {labels[0]}'s and "
        f"{format_share(ledger.coverage_candidate)} of {labels[1]}'s {time} is placed."
    )
    saved = sum(group.delta_ns for group in groups)
    figure = fusion_map(groups, labels, LIGHT, height_px=_MAP_PX, time=time)
    alt = f"{len(groups)} kinds of groups; {time} of a step {format_difference(saved)}."
    return (
        f'<div class="keep"><h3>What fusion did</h3>{paragraph(sentence, "muted")}'
        f"{charts.html(figure, alt)}{legend(fusion_legend(groups, LIGHT))}</div>"
        f"{_groups(groups, labels)}{bullets(ledger.notes)}"
    )


def _groups(groups: tuple[FoldedGroup, ...], labels: tuple[str, str]) -> str:
    biggest = sorted(groups, key=lambda group: -abs(group.delta_ns))[:_GROUPS]
    rows = [
        [
            mono(short(group.title)) + _place(group),
            f"{group.n_kernels[0]:.4g} → {group.n_kernels[1]:.4g}",
            format_duration(group.baseline_ns),
            format_duration(group.candidate_ns),
            _change(group),
        ]
        for group in biggest
    ]
    n_left_out = len(groups) - len(biggest)
    below = (
        paragraph(f"{n_left_out} smaller groups are left out here.", "muted") if n_left_out else ""
    )
    heads = ["The biggest changes, per step", "kernels", *labels, "change"]
    return f"{table(heads, rows)}{below}"


def _place(group: FoldedGroup) -> str:
    source = group.first.sources[0][0] if group.first.sources else ""
    kind = "" if group.kind == "matched" else group.kind
    words = " ".join(part for part in (kind, source, group.occurrence) if part)
    return f"<br><small>{escape(words)}</small>" if words else ""


def _change(group: FoldedGroup) -> str:
    alike = abs(group.delta_ns) <= _ALIKE * max(group.baseline_ns, group.candidate_ns)
    kind = "muted" if alike else "better" if group.delta_ns < 0 else "worse"
    percent = ""
    if group.baseline_ns and group.candidate_ns:
        percent = f" <small>{format_change(group.candidate_ns / group.baseline_ns)}</small>"
    return f'<span class="{kind}">{format_difference(group.delta_ns)}</span>{percent}'

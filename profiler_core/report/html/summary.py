"""The first page: what was run, is it worth it, the numbers, where the time of a step went."""

from html import escape

from profiler_core.analysis.findings import Finding
from profiler_core.analysis.measures import Judgement, Measure, measures, step_bars_of
from profiler_core.analysis.run_labels import run_facts
from profiler_core.analysis.wording.findings import stake_text
from profiler_core.analysis.wording.measures import change_text, value_text
from profiler_core.analysis.wording.verdict import headline as words
from profiler_core.figures.step_bars import step_bars, step_legend
from profiler_core.figures.theme import LIGHT
from profiler_core.markup import phrase
from profiler_core.report.contents import Contents
from profiler_core.report.html.charts import Charts
from profiler_core.report.html.pieces import legend, paragraph, table
from profiler_core.units import format_duration

_CLASS: dict[Judgement, str] = {"better": "better", "worse": "worse", "same": "", "unjudged": ""}
_FIRST = 3  # findings on the first page; all of them stand in their candidate's chapter


def summary_page(contents: Contents, charts: Charts) -> str:
    """Headline, table, bars, and the first findings of the leading candidate."""
    return (
        f'<section class="summary" id="summary">{headline(contents)}{measure_table(contents)}'
        f"{_bars(contents, charts)}{_first_findings(contents)}</section>"
    )


def headline(contents: Contents) -> str:
    """Facts, the verdict on the leading candidate, one sentence on each other."""
    comparison = contents.comparison
    record = comparison.baseline.run.record
    html = paragraph(" · ".join(run_facts(record)), "eyebrow")
    first = words(comparison)
    bad = ' class="bad"' if first.is_bad else ""
    return html + f"<h1{bad}>{phrase(first.title)}</h1>" + "".join(map(_lead, first.lines))


def measure_table(contents: Contents) -> str:
    """Runs as columns, measures as rows, the change beside the value."""
    rows = [_row(measure) for measure in measures(contents.comparison)]
    checked = [c.numerics for c in contents.comparison.candidates]
    if any(n is not None for n in checked):
        cells = ["Results", "reference"]
        for numerics in checked:
            word = "not checked" if numerics is None else numerics.verdict
            kind = ' class="worse"' if word == "wrong" else ""
            cells.append(f"<span{kind}>{escape(word)}</span><span class=change></span>")
        rows.append(cells)
    return table(["", *contents.labels], rows)


def finding_html(finding: Finding, *, brief: bool = False) -> str:
    """What stands out, what is at stake, what to try; `brief` is the first and second alone."""
    stake, unit = stake_text(finding)
    bad = ' class="bad-text"' if finding.weight in ("first of all", "first") else ""
    title = f"<b{bad}>{escape(finding.title)}</b>"
    if brief:
        amount = f"<b>{escape(stake)}</b> {unit}"
        return f'<div class="finding brief"><div class=stake>{amount}</div><div>{title}</div></div>'
    return (
        f'<div class="finding"><div class=stake><b>{escape(stake)}</b><small>{unit}</small></div>'
        f"<div>{title}"
        f"<p>{escape(finding.evidence)} <span>{escape(finding.advice)}</span></p></div></div>"
    )


def _first_findings(contents: Contents) -> str:
    for number in contents.order[:1]:
        findings = contents.explanations[number].findings
        if findings:
            label = contents.labels[number + 1]
            rows = "".join(finding_html(finding, brief=True) for finding in findings[:_FIRST])
            return f'<div class="keep"><h3>What to do next in {escape(label)}</h3>{rows}</div>'
    return ""


def _bars(contents: Contents, charts: Charts) -> str:
    labels, parts = step_bars_of(contents.sides)
    if not parts:
        return paragraph("No run has a trace, so where the time went is unknown.", "muted")
    alt = "; ".join(
        f"{label}: {format_duration(p.step_ns)} per step, idle {format_duration(p.idle_ns)}"
        for label, p in zip(labels, parts, strict=True)
    )
    return (
        '<div class="keep"><h3>Where the time of a step went</h3>'
        f"{charts.html(step_bars(labels, parts, LIGHT), alt)}{legend(step_legend(parts, LIGHT))}"
        "</div>"
    )


def _row(measure: Measure) -> list[str]:
    cells = [escape(measure.label), f"{escape(value_text(measure, 0))}"]
    for run in range(1, len(measure.values)):
        kind = _CLASS[measure.judgements[run - 1]]
        cells.append(
            f"{escape(value_text(measure, run))}"
            f'<span class="change {kind}">{escape(change_text(measure, run))}</span>'
        )
    return cells


def _lead(text: str) -> str:
    return paragraph(text, "lead")

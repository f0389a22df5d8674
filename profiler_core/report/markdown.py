"""A report as a comment on a pull request: verdict, table, what stands out, below 60 lines.

GitHub-flavoured. Foreign names cannot make links, mentions, references to issues or HTML of it.
"""

from collections.abc import Sequence
from html import escape

from profiler_core import __version__
from profiler_core.analysis.compilation.report import place_text
from profiler_core.analysis.findings import Finding
from profiler_core.analysis.ranks.overlap import Overlap
from profiler_core.analysis.rows.findings import finding_rows
from profiler_core.analysis.rows.measures import measure_rows
from profiler_core.analysis.rows.overlap import TITLE, overlap_sentences, overlap_table
from profiler_core.analysis.rows.table import Cell
from profiler_core.analysis.run_labels import run_facts
from profiler_core.analysis.verdict import verdict
from profiler_core.analysis.wording.compilation import break_line
from profiler_core.analysis.wording.findings import amounts_text
from profiler_core.analysis.wording.sentence import plain as words
from profiler_core.analysis.wording.verdict import details, headline, statement
from profiler_core.markdown_text import plain
from profiler_core.report.contents import Contents
from profiler_core.report.review_lines import review_lines
from profiler_core.units import format_difference

MOST_LINES = 59  # without a review
_BREAKS, _LOCATIONS = 4, 3
_FINDINGS, _CHANGES, _NOTES, _RUNS = 3, 5, 6, 4


def markdown(contents: Contents) -> str:
    """The comment."""
    comparison = contents.comparison
    lines = [f"## {plain(_title(contents))}", ""]
    facts = " · ".join(run_facts(comparison.baseline.run.record))
    if facts:
        lines += [plain(facts), ""]
    for number in contents.order[:_RUNS]:
        of_pair = verdict(comparison.candidates[number])
        mark = {"wrong_numerics": "❌", "slower": "🔻", "faster": "✅"}.get(of_pair.kind, "➖")
        sentences = " ".join(map(plain, (statement(of_pair).sentence, *details(of_pair))))
        lines.append(f"- {mark} {sentences}")
    lines += ["", *_table(contents)]
    for number in contents.order[:1]:
        lines += _why(contents, number)
    if contents.alone is not None:
        lines += _findings(contents.alone.findings, contents.labels[0])
        lines += _breaks(contents, 0)
    lines += review_lines(contents.review, contents.review_url, plain)
    notes = contents.left_out
    if notes:
        more_notes = [f"- and {len(notes) - _NOTES} more."] if len(notes) > _NOTES else []
        lines += [
            "",
            "<details><summary>What these numbers leave out</summary>",
            "",
            *(f"- {plain(note)}" for note in notes[:_NOTES]),
            *more_notes,
            "",
            "</details>",
        ]
    lines += ["", f"<sub>Fusionscope {escape(__version__)}, {contents.made_at[:10]}</sub>", ""]
    return "\n".join(lines)


def _title(contents: Contents) -> str:
    """The title: the workload and the headline of the verdict."""
    if contents.lead is None:
        return contents.title
    return f"{contents.subject}: {words(headline(contents.comparison).title)}"


def _table(contents: Contents) -> list[str]:
    labels = contents.labels[: _RUNS + 1]
    rows = [
        f"| | {' | '.join(plain(label, 60) for label in labels)} |",
        f"|---|{'---:|' * len(labels)}",
    ]
    for name, *cells in measure_rows(contents.comparison):
        shown = " | ".join(_cell(cell) for cell in cells[: len(labels)])
        rows.append(f"| {plain(name.text)} | {shown} |")
    return rows


def _cell(cell: Cell) -> str:
    value = plain(cell.text)
    if cell.change is None or not cell.change.text:
        return value
    change = plain(cell.change.text)
    return f"{value} (**{change}**)" if cell.change.tone else f"{value} ({change})"


def _why(contents: Contents, number: int) -> list[str]:
    explanation, run = contents.explanations[number], number + 1
    lines: list[str] = []
    if explanation.waterfall is not None:
        rows = sorted(explanation.waterfall.rows, key=lambda row: -abs(row.delta_ns))
        changes = [
            f"{plain(row.label)} {'≈ ' if row.estimated else ''}{format_difference(row.delta_ns)}"
            for row in rows
            if row.delta_ns
        ]
        if changes:
            of_run = f" in {plain(contents.labels[run], 60)}" if len(contents.labels) > 2 else ""
            told = "; ".join(changes[:_CHANGES])
            lines += ["", f"**Where the difference comes from{of_run}:** {told}."]
    if explanation.overlap is not None:
        lines += _overlap(explanation.overlap)
    return lines + _findings(explanation.findings, contents.labels[run]) + _breaks(contents, run)


def _findings(findings: Sequence[Finding] | None, label: str) -> list[str]:
    if not findings:
        return []
    first, n_more = findings[:_FINDINGS], len(findings) - _FINDINGS
    lines = [f"{number}. {_finding(finding)}" for number, finding in enumerate(first, start=1)]
    more = [f"{n_more} more in the HTML report."] if n_more > 0 else []
    sums = " ".join(filter(None, [amounts_text(first), *more]))
    head = ["", f"**What to do next in {plain(label, 60)}**", ""]
    return [*head, *lines, "", plain(sums)] if sums else [*head, *lines]


def _breaks(contents: Contents, run: int) -> list[str]:
    report = contents.compilations[run]
    if report is None or not report.breaks:
        return []
    lines = ["", f"**Graph breaks of {plain(contents.labels[run], 60)}**", ""]
    lines += [f"- {plain(break_line(entry))}" for entry in report.breaks[:_BREAKS]]
    n_more = len(report.breaks) - _BREAKS
    return [*lines, f"- and {n_more} more."] if n_more > 0 else lines


def _overlap(result: Overlap) -> list[str]:
    shown = overlap_table(result)
    rows = [" | ".join(plain(cell.text) for cell in row) for row in shown.rows]
    heads = " | ".join(shown.heads)
    lines = ["", f"**{TITLE}**", "", f"| {heads} |", f"|{' --- |' * len(shown.heads)}"]
    return [*lines, *(f"| {row} |" for row in rows), "", " ".join(overlap_sentences(result))]


def _finding(finding: Finding) -> str:
    (row,) = finding_rows([finding])
    stake = ""
    if finding.at_stake_ns is not None:
        interval = f", {row.interval}" if row.interval else ""
        at_stake = " at stake" if finding.at_stake_ns > 0 else ""
        stake = f" ({row.amount} {row.unit}{at_stake}{interval})"
    elif finding.one_off_ns is not None:
        stake = f" ({row.amount} {row.unit})"
    frames = finding.locations[:_LOCATIONS]
    where = "; ".join(place_text(frame.file, frame.line) for frame in frames)
    at = f" At {plain(where)}." if where else ""
    return f"**{plain(row.title)}**{stake} {plain(row.advice)}{at}"

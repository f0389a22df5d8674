"""The explanation part of `compare`: waterfall, fusion ledger and findings of each candidate."""

from collections.abc import Sequence

from profiler_core.analysis.compare import CandidateComparison
from profiler_core.analysis.explanation import Explanation
from profiler_core.analysis.findings import Finding
from profiler_core.analysis.graph_replays.phases import ServerPhase
from profiler_core.analysis.ranks.job_ledger import JobLedger
from profiler_core.analysis.ranks.overlap import Overlap
from profiler_core.analysis.rows.one_rank import one_rank_table
from profiler_core.analysis.rows.overlap import overlap_sentences, overlap_table
from profiler_core.analysis.rows.server import server_sentences, server_table
from profiler_core.analysis.span import PER_STEP, common_span
from profiler_core.analysis.waterfall import Waterfall
from profiler_core.analysis.wording.findings import advice_text, evidence_text, stake_text
from profiler_core.cli.table import clipped, n_more, table
from profiler_core.units import format_difference, format_duration, format_share

_TOP = 5  # findings in the text; --json has all
_WIDTH = 300
_LOCATIONS = 3
_STAKE = 11  # "1.42 s once"
_MARGIN = " " * (_STAKE + 2)


def explanation_text(explanation: Explanation, c: CandidateComparison) -> list[str]:
    """Paragraphs for the terminal: the waterfall, what fusion covers, the first findings."""
    parts = []
    if explanation.waterfall is not None:
        parts.append(_waterfall(explanation.waterfall, c))
    if explanation.overlap is not None:
        parts += _overlap(explanation.overlap)
    if explanation.ledger is not None:
        n_placed = explanation.ledger.n_placed
        parts.append(
            f"Fusion: {n_placed} {'group places' if n_placed == 1 else 'groups place'} "
            f"{format_share(explanation.ledger.coverage_baseline)} of the time of "
            f"{c.baseline_label} and {format_share(explanation.ledger.coverage_candidate)} of that "
            f"of {c.label} (--json has them)."
        )
    if explanation.job_ledger is not None:
        parts.extend(_one_rank(explanation.job_ledger, c))
    parts.extend(findings_text(explanation.findings))
    return parts


def _one_rank(job: JobLedger, c: CandidateComparison) -> list[str]:
    shown = one_rank_table(job, (c.baseline_label, c.label), _TOP)
    if not shown.rows:
        return []
    rows = [[cell.text for cell in row] for row in shown.rows]
    more = n_more(shown.n_left_out)
    return ["\n".join(filter(None, [table(list(shown.heads), rows), more]))]


def _overlap(result: Overlap) -> list[str]:
    shown = overlap_table(result)
    rows = [[cell.text for cell in row] for row in shown.rows]
    first, *heads = shown.heads
    texts = [table([f"overlap: {first.lower()}", *(head.lower() for head in heads)], rows)]
    return [*texts, " ".join(sentences)] if (sentences := overlap_sentences(result)) else texts


def server_text(runs: Sequence[Sequence[ServerPhase]]) -> list[str]:
    """An inference server's steps in one paragraph; none where no run is a server's."""
    if not any(runs):
        return []
    shown = server_table(runs)
    rows = [[cell.text for cell in row] for row in shown.rows]
    for row, texts in zip(shown.rows, rows, strict=True):
        texts.append(", ".join(row[0].below))
    labels = ("baseline", "candidate") if len(runs) > 1 else ("",)
    sentences = [
        text
        for run, label in zip(runs, labels, strict=True)
        for text in server_sentences(run, label)
    ]
    return [
        table([f"server: {shown.heads[0].lower()}", *map(str.lower, shown.heads[1:]), ""], rows),
        *dict.fromkeys(sentences),
    ]


def findings_text(findings: Sequence[Finding] | None) -> list[str]:
    """The first findings in one paragraph; none where nothing stands out."""
    if not findings:
        return []
    lines = []
    for finding in findings[:_TOP]:
        amount, of_what = stake_text(finding)
        stake = f"{amount} once" if of_what == "once" else amount
        lines.append(f"{stake:>{_STAKE}}  {finding.title}")
        shown = [evidence_text(finding), f"→ {advice_text(finding)}"]
        lines += [f"{_MARGIN}{clipped(' '.join(text.split()), _WIDTH)}" for text in shown]
        lines += [f"{_MARGIN}{line}" for line in _locations(finding)]
    if len(findings) > _TOP:
        lines.append(f"{_MARGIN}{n_more(len(findings) - _TOP)}")
    span = common_span(finding.span for finding in findings)
    return ["\n".join([f"at stake {span}, what stands out", *lines])]


def _locations(finding: Finding) -> list[str]:
    """The lines of code that it names, with their whole path."""
    frames = finding.locations
    lines = [f"{frame.file}:{frame.line}" for frame in frames[:_LOCATIONS]]
    more = n_more(len(frames) - _LOCATIONS)
    return [*lines, more] if more else lines


def _waterfall(result: Waterfall, c: CandidateComparison) -> str:
    rows = [
        [
            f"{'≈ ' if row.estimated else ''}{row.label}",
            format_duration(row.baseline_ns),
            format_duration(row.candidate_ns),
            format_difference(row.delta_ns) if row.delta_ns else "",
        ]
        for row in result.rows
    ]
    delta = result.candidate_ns - result.baseline_ns
    total = [
        f"{'step' if result.span == PER_STEP else 'all'}, {result.clock}",
        format_duration(result.baseline_ns),
        format_duration(result.candidate_ns),
        format_difference(delta) if delta else "",
    ]
    what = "a step goes" if result.span == PER_STEP else "the time goes"
    return table([f"where {what}", c.baseline_label, c.label, "change"], [*rows, total])

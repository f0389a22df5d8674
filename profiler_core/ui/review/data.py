"""From chosen runs to what a review keeps of them: names, verdicts and findings of this moment."""

from collections.abc import Sequence

from profiler_core.analysis.findings import Finding
from profiler_core.analysis.rows.findings import finding_rows
from profiler_core.analysis.run_labels import run_facts
from profiler_core.analysis.wording.verdict import details, statement
from profiler_core.model.review import ReviewFinding, ReviewSide
from profiler_core.ui.choice import Choice
from profiler_core.ui.runs.keeping import recorded_ids


def gathered(choice: Choice) -> tuple[tuple[ReviewSide, ...], tuple[ReviewFinding, ...]]:
    """The sides and the findings of a comparison; reads traces, so it may take seconds.

    Raises:
        BadInput: a trace cannot be read, or the history cannot be used.
    """
    comparison = choice.comparison
    recorded = {e.key: e.run.run_id for e in choice.entries if e.origin == "history"}
    own_keys = [entry.key for entry in choice.entries if entry.origin in ("capture", "upload")]
    run_ids = {**recorded, **recorded_ids(own_keys)}
    sides, findings = [], []
    for position, (entry, label) in enumerate(zip(choice.entries, choice.labels, strict=True)):
        headlines = {}
        if position:
            pair = comparison.pairs[position - 1]
            verdict = pair.verdict
            headlines = {
                "verdict": verdict.kind,
                "headline": statement(verdict).sentence,
                "details": " ".join(details(verdict)),
            }
            findings += _findings(position, pair.findings or ())
        sides.append(
            ReviewSide(
                key=entry.key,
                run_id=run_ids.get(entry.key) or None,
                label=label,
                workload=entry.run.workload or entry.run.name or "",
                facts=" · ".join(run_facts(entry.run)),
                **headlines,
            )
        )
    return tuple(sides), tuple(findings)


def _findings(position: int, findings: Sequence[Finding]) -> list[ReviewFinding]:
    return [
        ReviewFinding(
            position, finding.key, row.title, row.evidence, row.advice, row.amount, row.unit,
            finding.page, finding.weight, finding.at_stake_ns, finding.is_bound,
        )
        for finding, row in zip(findings, finding_rows(findings), strict=True)
    ]  # fmt: skip

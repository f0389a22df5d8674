"""From chosen runs to what a review keeps of them: names, verdicts and findings of this moment."""

from collections.abc import Sequence

from profiler_core.analysis.finding_text import stake_text
from profiler_core.analysis.findings import Finding
from profiler_core.analysis.run_labels import run_facts
from profiler_core.model.review import ReviewFinding, ReviewSide
from profiler_core.store import history
from profiler_core.store.library import Entry
from profiler_core.ui.choice import Choice
from profiler_core.ui.runs.keeping import bring_up_to_date


def gathered(choice: Choice) -> tuple[tuple[ReviewSide, ...], tuple[ReviewFinding, ...]]:
    """The sides and the findings of a comparison; reads traces, so it may take seconds.

    Raises:
        BadInput: a trace cannot be read, or the history cannot be used.
    """
    comparison = choice.comparison
    run_ids = _run_ids(choice.entries)
    sides, findings = [], []
    for position, (entry, label) in enumerate(zip(choice.entries, choice.labels, strict=True)):
        said = {}
        if position:
            pair = comparison.pairs[position - 1]
            verdict = pair.verdict
            said = {
                "verdict": verdict.kind,
                "headline": verdict.headline,
                "details": " ".join(verdict.details),
            }
            findings += _findings(position, pair.findings or ())
        sides.append(
            ReviewSide(
                key=entry.key,
                run_id=run_ids.get(entry.key),
                label=label,
                workload=entry.run.workload or entry.run.name or "",
                facts=" · ".join(run_facts(entry.run)),
                **said,
            )
        )
    return tuple(sides), tuple(findings)


def _findings(position: int, found: Sequence[Finding]) -> list[ReviewFinding]:
    made = []
    for one in found:
        stake, unit = stake_text(one)
        made.append(
            ReviewFinding(
                position, one.key, one.title, one.evidence, one.advice, stake, unit, one.page,
                one.weight,
            )
        )  # fmt: skip
    return made


def _run_ids(entries: Sequence[Entry]) -> dict[str, str]:
    """Key -> run_id, after recording what is not in the history yet."""
    found = {e.key: e.run.run_id for e in entries if e.origin == "history" and e.run.run_id}
    ours = [entry.key for entry in entries if entry.origin in ("capture", "upload")]
    known = history.run_ids_of(ours)
    if set(ours) - set(known):
        bring_up_to_date()
        known = history.run_ids_of(ours)
    return {**found, **known}

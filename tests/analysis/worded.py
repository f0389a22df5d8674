"""A verdict as people read it."""

from dataclasses import dataclass

from profiler_core.analysis.compare import CandidateComparison
from profiler_core.analysis.verdict import Claim, verdict
from profiler_core.analysis.verdict_kind import VerdictKind
from profiler_core.analysis.wording.sentence import plain
from profiler_core.analysis.wording.verdict import details, statement


@dataclass(frozen=True)
class Worded:
    """In one sentence (`headline`), and as a heading with what stands below it."""

    kind: VerdictKind
    claim: Claim
    headline: str
    heading: str
    grounds: str
    details: tuple[str, ...]


def worded(comparison: CandidateComparison) -> Worded:
    """The verdict on one candidate."""
    judged = verdict(comparison)
    words = statement(judged)
    return Worded(
        judged.kind,
        judged.claim,
        words.sentence,
        plain(words.heading),
        words.grounds,
        details(judged),
    )

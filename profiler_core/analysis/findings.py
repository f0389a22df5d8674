"""What stands out in a run: each finding with evidence, what is at stake, and what to try.

Order: wrong results, then a loss against the baseline, then by time at stake per step, notes last.
What is simulated counts with what it adds to those before it, on one clock. An upper bound counts
half: anything from 0 to it may be won, so that an estimate of similar size goes before it.
A rule is a function Facts -> Finding | None in `finding_rules`; nothing here reads files.
"""

from collections.abc import Iterable
from dataclasses import replace

from profiler_core.analysis.compilation.report import CompilationReport
from profiler_core.analysis.finding_rules.facts import Facts, Finding, Rule
from profiler_core.analysis.finding_rules.registered import rules
from profiler_core.analysis.ranks.job import Job
from profiler_core.analysis.ranks.rank_compiling import RankCompiling
from profiler_core.analysis.summary import Summary
from profiler_core.analysis.telemetry.run import RunTelemetry
from profiler_core.analysis.what_if.engine import WhatIf
from profiler_core.analysis.what_if.together import in_turn
from profiler_core.model.inductor import InductorLog
from profiler_core.model.run import RunRecord
from profiler_core.model.trace import Trace

__all__ = [
    "GRAVE",
    "RULES",
    "Facts",
    "Finding",
    "by_stake",
    "findings",
    "fired",
    "on_one_clock",
    "ranked",
    "run_findings",
    "told_once",
]

RULES: tuple[Rule, ...] = rules()

GRAVE = ("first of all", "first")  # weights: wrong results, a loss against the baseline
_ORDER = {"first of all": 0, "first": 1, "by time": 2, "note": 3}


def findings(facts: Facts) -> tuple[Finding, ...]:
    """All that fire, most important first; what draws on the same time is one finding."""
    weighed = map(by_stake, fired(facts))
    return ranked(on_one_clock(told_once(ranked(weighed)), facts.what_if))


def by_stake(finding: Finding) -> Finding:
    """The same, as a note where nothing is at stake: it is worth knowing, and nothing to act on."""
    is_idle = finding.prediction is not None and finding.prediction.expected_ns <= 0
    return replace(finding, weight="note") if is_idle and finding.weight == "by time" else finding


def fired(facts: Facts) -> Iterable[Finding]:
    """What each rule says for itself, in the order of the rules."""
    findings = (rule(facts) for rule in RULES)
    return (replace(finding, span=facts.span) for finding in findings if finding is not None)


def told_once(ordered: Iterable[Finding]) -> tuple[Finding, ...]:
    """Findings that draw on the same time as one: the first, with the others as alternatives.

    16 bits, TF32 and another choice of kernels all make the same products faster. Beside each
    other as three findings their bounds look as if they added up, beyond the step even.

    Args:
        ordered: most important first.
    """
    kept: list[Finding] = []
    for finding in ordered:
        first = next((k for k in kept if k.draws_on and k.draws_on == finding.draws_on), None)
        if first is None:
            kept.append(finding)
            continue
        kept[kept.index(first)] = replace(first, alternatives=(*first.alternatives, finding))
    return tuple(kept)


def on_one_clock(ordered: Iterable[Finding], engine: WhatIf) -> tuple[Finding, ...]:
    """The same, with what each adds where those are done that save more.

    Args:
        ordered: findings; those whose gain is not simulated stay as they are.
        engine: replays their run.
    """
    every = tuple(ordered)
    changes = {
        number: finding.change
        for number, finding in enumerate(every)
        if finding.change is not None
        and finding.prediction is not None
        and finding.prediction.basis == "simulated"
        and finding.prediction.expected_ns > 0
    }
    turns = {turn.key: turn for turn in in_turn(changes, engine)}
    return tuple(
        replace(
            finding,
            on_top_ns=max(0.0, turns[number].added_ns),
            on_device_ns=max(0.0, turns[number].on_device_ns),
        )
        if number in turns
        else finding
        for number, finding in enumerate(every)
    )


def ranked(fired: Iterable[Finding]) -> tuple[Finding, ...]:
    """The same, most important first."""
    return tuple(sorted(fired, key=lambda finding: (_ORDER[finding.weight], -finding.expected_ns)))


def run_findings(
    trace: Trace,
    summary: Summary,
    record: RunRecord,
    compilation: CompilationReport | None = None,
    sampled: RunTelemetry | None = None,
    rank_compiling: tuple[RankCompiling, ...] = (),
    code: InductorLog | None = None,
    job: Job | None = None,
) -> tuple[Finding, ...]:
    """What stands out in one run that nothing is compared with, most important first.

    Rules that need a baseline or the ledger say nothing here.

    Args:
        trace: of the run.
        summary: of that trace.
        record: its run.json; empty for a bare trace.
        compilation: from its logs, where it has any.
        sampled: its telemetry, where it has any.
        rank_compiling: what compiling cost each rank of its job.
        code: what Inductor generated, where a log has it.
        job: of its ranks, where it is one of several.
    """
    facts = Facts(
        trace,
        summary,
        record,
        compilation=compilation,
        telemetry=sampled,
        rank_compiling=rank_compiling,
        code=code,
        job=job,
    )
    return findings(facts)

"""Which findings draw on the same time of a step, so that their stakes do not add up.

Two overlap where both are about what the host does while the device waits, where they name the same
kernels or groups as evidence, where the rules say so (`Finding.draws_on`), where one is all idle
time that the host causes and the other takes some of it, and where one is about the whole step.
Where both were simulated the replay decides: what one adds to the other in full overlaps with it in
nothing. What shrinks the work of a job's late rank overlaps with the others' waiting for it.
Findings without a number at stake overlap with nothing.
"""

from collections.abc import Sequence

from profiler_core.analysis.finding_rules.facts import Finding

# About the device's idle time that the host causes: whoever removes it takes it from the others.
_HOST = frozenset(
    (
        "frame_skipped", "graph_breaks", "heavy_guards", "cudagraphs_skipped", "launch_bound",
        "synchronisations", "host_threads", "autotuning_in_steps", "recompiles",
    )
)  # fmt: skip
# Whose bound is all of that idle time.
_ALL_OF_HOST = frozenset(("launch_bound", "host_threads"))
_MORE = 1.02  # times: less is rounding of replays
_WHOLE_STEP = frozenset(("slower", "throttled"))


def overlaps(findings: Sequence[Finding]) -> tuple[tuple[int, ...], ...]:
    """For each finding the places of those that draw on the same time, in their order."""
    return tuple(
        tuple(
            position
            for position, other in enumerate(findings)
            if other is not own
            and (
                _share(own, other)
                or _takes_idle(own, other)
                or _takes_idle(other, own)
                or _shrinks_waiting(own, other)
                or _shrinks_waiting(other, own)
            )
        )
        for own in findings
    )


def together(findings: Sequence[Finding]) -> tuple[float, bool]:
    """(ns per step that can be had together, is it an upper bound): what overlaps counts once.

    What was simulated counts with what it adds on one clock. Of other findings that overlap the one
    that promises most counts. A bound counts in place of what it overlaps with and exceeds: less
    together than at most for one of them would contradict it. Where it is all idle time that the
    host causes, what else was simulated counts with what the device does less. Waiting for a late
    rank counts in full beside what shortens that rank's work: a bound.
    """
    counted = _counted(findings)
    has_idle = any(_is_all_idle(finding) for finding in counted)
    return (
        sum(_busy_ns(finding) if has_idle else _amount_ns(finding) for finding in counted),
        any(
            finding.is_bound or any(_shrinks_waiting(finding, other) for other in counted)
            for finding in counted
        ),
    )


def more_alone(findings: Sequence[Finding]) -> Finding | None:
    """The one that is left out of `together` and promises more than that; None: there is none."""
    counted = _counted(findings)
    ns, _ = together(findings)
    left_out = [
        finding
        for finding in findings
        if (finding.at_stake_ns or 0.0) > ns and not any(finding is other for other in counted)
    ]
    return max(left_out, key=lambda finding: finding.at_stake_ns or 0.0, default=None)


def add_more_together(findings: Sequence[Finding]) -> bool:
    """Do those that were simulated save more together than the sum of what each saves alone?"""
    counted = _counted(findings)
    if together(findings)[1]:
        return False  # a bound, which is what counts then
    simulated = [finding for finding in counted if finding.on_top_ns is not None]
    alone_ns = sum(finding.at_stake_ns or 0.0 for finding in simulated)
    return sum(finding.on_top_ns or 0.0 for finding in simulated) > _MORE * alone_ns


def add_up(findings: Sequence[Finding]) -> bool:
    """Do they save together the sum of what each saves alone, none drawing on another's time?"""
    ns, _ = together(findings)
    gaining = [finding for finding in findings if _gains(finding)]
    alone_ns = sum(finding.at_stake_ns or 0.0 for finding in gaining)
    return (
        not any(overlaps(findings))
        and ns <= _MORE * alone_ns
        and all((each.at_stake_ns or 0.0) <= _MORE * _amount_ns(each) for each in gaining)
    )


def _counted(findings: Sequence[Finding]) -> list[Finding]:
    counted = [finding for finding in findings if finding.on_top_ns is not None]
    for finding in sorted(findings, key=_amount_ns, reverse=True):
        if finding.on_top_ns is not None or not _gains(finding):
            continue
        others = [other for other in counted if _share(finding, other)]
        if not others:
            counted.append(finding)
        elif finding.is_bound and _amount_ns(finding) > sum(map(_amount_ns, others)):
            kept = [other for other in counted if not any(other is rival for rival in others)]
            counted = [*kept, finding]
    return counted


def _gains(finding: Finding) -> bool:
    return (finding.at_stake_ns or 0.0) > 0


def _amount_ns(finding: Finding) -> float:
    return finding.at_stake_ns or 0.0 if finding.on_top_ns is None else finding.on_top_ns


def _busy_ns(finding: Finding) -> float:
    amount_ns = _amount_ns(finding)
    return amount_ns if finding.on_device_ns is None else min(amount_ns, finding.on_device_ns)


def _is_all_idle(finding: Finding) -> bool:
    return finding.is_bound and finding.key in _ALL_OF_HOST


def _takes_idle(finding: Finding, other: Finding) -> bool:
    return _is_all_idle(other) and _busy_ns(finding) < _amount_ns(finding)


def _shrinks_waiting(finding: Finding, other: Finding) -> bool:
    """Does one make the late rank's work shorter, for which the others wait?"""
    prediction = finding.prediction
    return other.key == "late_rank" and prediction is not None and prediction.late_work_ns > 0


def _share(first: Finding, second: Finding) -> bool:
    if not _gains(first) or not _gains(second) or _were_added_in_full(first, second):
        return False
    keys = {first.key, second.key}
    return bool(
        keys <= _HOST
        or keys & _WHOLE_STEP
        or (first.draws_on and first.draws_on == second.draws_on)
        or set(first.items) & set(second.items)
    )


def _were_added_in_full(first: Finding, second: Finding) -> bool:
    """Does the one of two simulated ones that was done after the other add all that it saves alone?

    What adds most is done first (`what_if.together.in_turn`).
    """
    if first.on_top_ns is None or second.on_top_ns is None:
        return False
    later = min(first, second, key=_amount_ns)
    return _MORE * _amount_ns(later) >= (later.at_stake_ns or 0.0)

"""What findings say that a choice wins, and which levers a finding calls for."""

from collections.abc import Iterable, Iterator, Sequence

from profiler_core.analysis.experiment.choice import Choice
from profiler_core.analysis.findings import Finding
from profiler_core.experiments.levers import BY_NAME, CALLS, is_argument
from profiler_core.experiments.machine import what_it_asks
from profiler_core.model.experiment import Gain


def levers_for(finding: Finding, *, is_left_alone: bool = False) -> tuple[str, ...]:
    """The levers that a finding and its alternatives call for, without those expected to lose.

    () where only other code helps.

    Args:
        finding: in question.
        is_left_alone: of a run in which the script alone compiles: without those that reach no call
            of its own.
    """
    calls = [
        lever
        for entry in _all([finding])
        if entry.prediction is None or not entry.prediction.is_loss
        for what in what_it_asks(entry)
        for lever, word in CALLS.get(what, ())
        if not is_left_alone or _reaches_own_calls(lever, word)
    ]
    return tuple(dict.fromkeys(calls))


def _reaches_own_calls(lever: str, word: str) -> bool:
    words = [word] if word else BY_NAME[lever].words
    return not words or not all(map(is_argument, words))  # no words: of the machine, as threads


def gains(findings: Iterable[Finding], choices: Sequence[Choice]) -> tuple[Gain, ...]:
    """What each choice is said to win, ns per step; of several findings the largest.

    A finding predicts what its first lever does. Of the others, which may do a part of it, its
    number is the most.

    Args:
        findings: of the run that the choices would change.
        choices: what may be tried.
    """
    best: dict[tuple[str, str], Gain] = {}
    for finding in _all(findings):
        for lever, word, is_part in _calls(finding):
            for choice in choices:
                if choice.lever == lever and word in ("", choice.word):
                    gain = _gain(finding, choice, is_most=is_part)
                    key = (choice.lever, choice.word)
                    if gain is not None and (key not in best or best[key].gain_ns < gain.gain_ns):
                        best[key] = gain
    return tuple(sorted(best.values(), key=lambda gain: -gain.gain_ns))


def _calls(finding: Finding) -> Iterator[tuple[str, str, bool]]:
    """Each lever that a finding calls for, its word ("": any), and whether it does a part of it."""
    asked = what_it_asks(finding)
    for what in asked:
        for number, (lever, word) in enumerate(CALLS.get(what, ())):
            yield lever, word, number > 0 or len(asked) > 1


def _gain(finding: Finding, choice: Choice, *, is_most: bool) -> Gain | None:
    predicted = finding.prediction
    if predicted is None:
        return None
    return Gain(
        finding=finding.key,
        title=finding.title,
        lever=choice.lever,
        word=choice.word,
        gain_ns=predicted.expected_ns,
        low_ns=None if is_most else predicted.low_ns,
        high_ns=predicted.high_ns,
        at_most=is_most or predicted.is_bound,
    )


def _all(findings: Iterable[Finding]) -> Iterator[Finding]:
    for finding in findings:
        yield finding
        yield from finding.alternatives

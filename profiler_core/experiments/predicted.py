"""What findings say that a lever wins: the one place that maps a finding to levers."""

from collections.abc import Iterable, Iterator, Sequence

from profiler_core.analysis.experiment.choice import Choice
from profiler_core.analysis.findings import Finding
from profiler_core.experiments.levers import LEVERS
from profiler_core.model.experiment import Gain

# Of a finding whose lever has several words, the one that it is about; others are not predicted.
_WORD = {
    "launch_bound": "reduce-overhead",
    "max_autotune": "max-autotune",
    "half_precision": "bf16-autocast",
    "tf32_off": "tf32",
    "unfused_optimizer": "optimizer=fused",
}


def levers_for(finding: str) -> tuple[str, ...]:
    """The levers that a finding calls for; () where only other code helps."""
    return tuple(lever.name for lever in LEVERS if finding in lever.findings)


def gains(findings: Iterable[Finding], choices: Sequence[Choice]) -> tuple[Gain, ...]:
    """What each choice is said to win, ns per step; of several findings the largest.

    Args:
        findings: of the run that the choices would change.
        choices: what may be tried.
    """
    best: dict[tuple[str, str], Gain] = {}
    for finding in _with_alternatives(findings):
        if finding.at_stake_ns is None:
            continue
        for choice in choices:
            if choice.lever not in levers_for(finding.key):
                continue
            word = _WORD.get(finding.key)
            if word is not None and choice.word != word and choice.lever in _LEVERS_OF_WORDS:
                continue
            gain = Gain(
                finding=finding.key,
                title=finding.title,
                lever=choice.lever,
                word=choice.word,
                gain_ns=finding.expected_ns,
                low_ns=0.0 if finding.at_most else None,
                high_ns=finding.at_stake_ns if finding.at_most else None,
                at_most=finding.at_most,
            )
            key = (choice.lever, choice.word)
            if key not in best or best[key].gain_ns < gain.gain_ns:
                best[key] = gain
    return tuple(sorted(best.values(), key=lambda gain: -gain.gain_ns))


_LEVERS_OF_WORDS = frozenset(
    lever.name for lever in LEVERS if set(lever.words).intersection(_WORD.values())
)


def _with_alternatives(findings: Iterable[Finding]) -> Iterator[Finding]:
    for finding in findings:
        yield finding
        yield from finding.alternatives

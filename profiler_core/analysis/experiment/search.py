"""What an experiment does next: a pure function of what it has measured, so it can be taken up.

1. The setting that it starts from, beside the baseline: its findings say what is worth trying. A
   quick budget may hold no second capture: what everybody tries goes along in the first one.
2. One lever at a time on the setting that leads, in this order: what findings predict most for;
   what a setting that was given itself has, left out; the settings that everybody knows; the rest.
   Several are timed in turns in one capture, where `halving` ends what is slower.
3. Levers that won, and do not lead, together and then by themselves. At the end those that may have
   won, but could not be told from noise, all together.
4. Each lever of the setting that leads, left out: what it is responsible for.

The budget is time. A capture is begun only where what earlier ones took says that it fits.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass

from profiler_core.analysis.experiment.choice import (
    Choice,
    combined,
    difference,
    is_slow_to_compile,
    same,
    with_choice,
    without,
)
from profiler_core.analysis.experiment.effects import effects, effects_on
from profiler_core.analysis.experiment.leading import Leader, leader_after
from profiler_core.model.experiment import (
    Batch,
    EndedBy,
    Experiment,
    Phase,
    Setting,
    Trial,
)

PER_CAPTURE = 3  # settings beside the baseline and the one that leads
# Seconds up to which the first capture is not the start's alone: it takes 40 to 80 s on an H200.
QUICK_BUDGET_S = 300.0
_MAY_HAVE_WON = 1.005  # times faster by the medians, though not beyond the noise
# What a plain comparison would try. Each is tried as it is, whatever leads by then.
KNOWN: tuple[tuple[str, ...], ...] = (
    ("bf16-autocast", "channels_last"),
    ("reduce-overhead",),
    ("max-autotune",),
)
# Of a quick budget: what changes no answer first, and nothing that compiles for minutes.
_QUICK: tuple[tuple[str, ...], ...] = (("reduce-overhead",), ("bf16-autocast", "channels_last"))


@dataclass(frozen=True)
class Plan:
    """The next capture: its settings beside the baseline and beside `reference`."""

    phase: Phase
    settings: tuple[Setting, ...]
    reference: Setting | None = None  # None: the baseline alone


@dataclass(frozen=True)
class End:
    """There is no next capture."""

    by: EndedBy


def next_plan(
    experiment: Experiment,
    choices: Sequence[Choice],
    is_possible: Callable[[Setting], bool] = lambda _: True,
) -> Plan | End:
    """What to capture now.

    Args:
        experiment: as far as it is.
        choices: what may be tried, those that fit the workload and the machine.
        is_possible: whether the words of a setting go together.
    """
    if any(batch.is_cut_off for batch in experiment.batches):
        return End("budget")
    if not experiment.batches:
        return _first(experiment, choices, is_possible)
    leader = leader_after(experiment.start, experiment.batches)
    open_effects = () if leader.trial is None else _not_left_out(experiment, leader)
    n = _affordable(experiment, leader, PER_CAPTURE + len(open_effects))
    if n < 1:
        return End("budget")
    if leader.trial is None:
        rescue = filter(is_possible, (with_choice(experiment.start, c) for c in choices))
        settings = _untried(experiment, rescue)[: min(n, PER_CAPTURE)]
        return Plan("one lever", settings) if settings else End("nothing to compare")
    if open_effects and n < PER_CAPTURE + len(open_effects):
        return Plan("without one lever", open_effects[: min(n, PER_CAPTURE)], leader.setting)
    groups = list(_candidates(experiment, leader, choices))
    for number, (phase, candidates) in enumerate(groups):
        if not _untried(experiment, filter(is_possible, candidates)):
            continue
        # Half of a capture goes by whatever it holds: what comes next fills it up.
        later = [s for other, more in groups[number + 1 :] if other != "combination" for s in more]
        filled = candidates if phase == "combination" else [*candidates, *later]
        untried = _untried(experiment, filter(is_possible, filled))
        return Plan(phase, _next_settings(experiment, leader, untried, n), leader.setting)
    if open_effects:
        return Plan("without one lever", open_effects[: min(n, PER_CAPTURE)], leader.setting)
    return End("nothing left")


def _first(
    experiment: Experiment, choices: Sequence[Choice], is_possible: Callable[[Setting], bool]
) -> Plan:
    beside = [setting for setting in _quick(experiment, choices) if is_possible(setting)]
    if beside and experiment.budget_s <= QUICK_BUDGET_S:
        return Plan("start", _slow_last(beside[:PER_CAPTURE]), experiment.start)
    return Plan("start", (experiment.start,))


def _candidates(
    experiment: Experiment, leader: Leader, choices: Sequence[Choice]
) -> Iterator[tuple[Phase, list[Setting]]]:
    setting = leader.setting
    won = _won(experiment, setting)
    if won:
        yield "combination", [combined(setting, won), *(with_choice(setting, c) for c in won)]
    tried = _tried_alone(experiment)
    left = [c for c in choices if (c.lever, c.word) not in tried and c.word not in _words(setting)]
    gains = {(gain.lever, gain.word): gain.gain_ns for gain in experiment.gains}
    predicted = [c for c in left if (c.lever, c.word) in gains]
    predicted.sort(key=lambda c: -gains[c.lever, c.word])
    rest = sorted((c for c in left if c not in predicted), key=lambda c: -c.worth)
    # One capture may hold some of each: they are all timed in turns with the same setting.
    yield (
        "one lever",
        [
            *(with_choice(setting, choice) for choice in predicted),
            *(without(experiment.start, lever) for lever, _ in experiment.start),
        ],
    )
    yield "known settings", _known(choices)
    yield "one lever", [with_choice(setting, choice) for choice in rest]
    maybe = _may_have_won(experiment, setting)
    if maybe:
        yield "combination", [combined(setting, maybe)]


def _quick(experiment: Experiment, choices: Sequence[Choice]) -> tuple[Setting, ...]:
    """What the first capture of a quick budget holds beside the start, the most telling first.

    What the start was given, left out; what everybody tries; of levers that were asked for, each.
    """
    start = experiment.start
    asked = [choice for choice in choices if experiment.levers]
    asked.sort(key=lambda c: (is_slow_to_compile(((c.lever, c.word),)), -c.worth))
    settings = (
        *(without(start, lever) for lever, _ in start),
        *_known(choices, _QUICK),
        *(with_choice(start, choice) for choice in asked),
    )
    distinct = {same(setting): setting for setting in reversed(settings)}
    distinct.pop(same(start), None)
    return tuple(reversed(distinct.values()))


def _next_settings(
    experiment: Experiment, leader: Leader, untried: Sequence[Setting], n: int
) -> tuple[Setting, ...]:
    """What of these the next capture holds, at most `n`, in the order in which they are compiled.

    One setting that compiles for minutes is the last of a capture, and the only one of its kind in
    it, unless all others would compile as long. A quick budget has them where nothing else is left,
    and so has any once one of them was not compiled in its time.
    """
    n = min(n, PER_CAPTURE)
    quick = [setting for setting in untried if not is_slow_to_compile(setting)]
    slow = [setting for setting in untried if is_slow_to_compile(setting)]
    if is_slow_to_compile(leader.setting):
        return _slow_last(untried[:n])
    comes_early = experiment.budget_s > QUICK_BUDGET_S and n > 1
    if comes_early and not any(batch.left_out for batch in experiment.batches):
        quick = quick[: n - len(slow[:1])]
    return tuple([*quick, *slow[:1]][:n])


def _slow_last(settings: Iterable[Setting]) -> tuple[Setting, ...]:
    """In the order in which they are compiled: where the budget ends, it ends the slow ones."""
    return tuple(sorted(settings, key=is_slow_to_compile))


def _known(choices: Sequence[Choice], known: Sequence[tuple[str, ...]] = KNOWN) -> list[Setting]:
    by_word = {choice.word: choice for choice in choices}
    plain: list[Setting] = [()]
    for words in known:
        fitting = [by_word[word] for word in words if word in by_word]
        if fitting:
            plain.append(combined((), fitting))
    return plain


def _untried(experiment: Experiment, settings: Iterable[Setting]) -> tuple[Setting, ...]:
    """Those that were not captured yet, each once."""
    tried = {same(trial.setting) for trial in experiment.trials}
    tried |= {same(left.setting) for batch in experiment.batches for left in batch.left_out}
    kept: dict[frozenset[tuple[str, str]], Setting] = {}
    for setting in settings:
        if same(setting) not in tried:
            kept.setdefault(same(setting), setting)
    return tuple(kept.values())


def _tried_alone(experiment: Experiment) -> set[tuple[str, str]]:
    """Choices that were the only difference from what they were held against."""
    return {choice for _, _, choice in _singles(experiment)}


def _singles(experiment: Experiment) -> Iterator[tuple[Batch, Trial, tuple[str, str]]]:
    for batch in experiment.batches:
        for trial in batch.trials:
            reference = experiment.start if batch.reference is None else batch.reference
            levers = difference(reference, trial.setting)
            word = dict(trial.setting).get(levers[0]) if len(levers) == 1 else None
            if word is not None:
                yield batch, trial, (levers[0], word)


def _won(experiment: Experiment, setting: Setting) -> list[Choice]:
    """Levers that made some setting faster, and are not in this one."""
    return _by_ratio(experiment, setting, is_told=True)


def _may_have_won(experiment: Experiment, setting: Setting) -> list[Choice]:
    return _by_ratio(experiment, setting, is_told=False)


def _by_ratio(experiment: Experiment, setting: Setting, *, is_told: bool) -> list[Choice]:
    ratios: dict[Choice, float] = {}
    for _, trial, (lever, word) in _singles(experiment):
        ratio = trial.against
        # Of another value of a lever that the leader has, the leader's won already.
        if ratio is None or not trial.may_win or lever in dict(setting):
            continue
        is_it = ratio.is_faster if is_told else ratio.low <= 1 and ratio.ratio >= _MAY_HAVE_WON
        if is_it:
            ratios[Choice(lever, word)] = ratio.ratio
    return sorted(ratios, key=lambda choice: -ratios[choice])


def _not_left_out(experiment: Experiment, leader: Leader) -> tuple[Setting, ...]:
    """The leader without each of its levers, where that was not timed beside it yet."""
    measured = {effect.lever for effect in effects_on(leader.setting, effects(experiment))}
    asked = {
        same(trial.setting)
        for batch in experiment.batches
        if batch.reference is not None and same(batch.reference) == same(leader.setting)
        for trial in batch.trials
    }
    return tuple(
        rest
        for lever, _ in leader.setting
        if lever not in measured and same(rest := without(leader.setting, lever)) not in asked
    )


def _words(setting: Setting) -> set[str]:
    return {word for _, word in setting}


def _affordable(experiment: Experiment, leader: Leader, most: int) -> int:
    """How many settings the next capture may hold, beside those that it times again.

    Each compiles as long as the slowest so far, and the one that leads, whose code is kept, half as
    long. Of what else a capture takes, one half goes for the capture, the other for its variants.

    Args:
        experiment: so far.
        leader: what leads it.
        most: settings that are asked for; no more are counted.
    """
    is_slow = is_slow_to_compile(leader.setting)
    alike = [t for t in experiment.trials if is_slow or not is_slow_to_compile(t.setting)]
    compile_s = max((t.first_call_s or 0.0 for t in alike or experiment.trials), default=0.0)
    left_s = experiment.budget_s - experiment.seconds

    def seconds(batch: Batch, n: int) -> float:
        n_variants = len(batch.trials) + (2 if batch.reference_trial is not None else 1)
        compiling_s = sum(trial.first_call_s or 0.0 for trial in batch.trials)
        compiling_s += sum(left.seconds for left in batch.left_out)
        beside_s = batch.seconds - compiling_s
        more = max(1.0, (n + 2) / n_variants)
        return (n + 0.5) * compile_s + max(0.0, beside_s) * (1 + more) / 2

    n = 0
    while n < most and all(seconds(b, n + 1) <= left_s for b in experiment.batches):
        n += 1
    return n

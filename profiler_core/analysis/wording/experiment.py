"""What an experiment says, in sentences: page, command line and agents say the same."""

from profiler_core.analysis.experiment.choice import EAGER, same, variant_of, without
from profiler_core.analysis.experiment.effects import Effect, effects, effects_on, worst
from profiler_core.analysis.experiment.leading import Leader, leader_of
from profiler_core.analysis.noise import MIN_ROUNDS
from profiler_core.analysis.wording.sentence import Phrase, Strong, counted
from profiler_core.model.experiment import Experiment, Gain, Ratio, Setting, Trial
from profiler_core.units import format_difference, format_duration, format_ratio, format_wait

_ENDS = {
    "nothing left": "Everything that fits was tried.",
    "budget": "The budget is spent; what was not tried by then was left out.",
    "cancelled": "It was cancelled; what was measured by then is kept.",
    "nothing to compare": "Nothing that was compiled ran.",
    "": "",
}

# Where no setting was timed: an end by hand or by the budget says nothing of the settings.
_UNMEASURED = {
    "": "Nothing is measured yet.",
    "nothing to compare": "Nothing that was compiled ran.",
}


def headline(experiment: Experiment) -> Phrase:
    """Which setting is the fastest, and by how much."""
    leader = leader_of(experiment)
    trial = leader.trial
    if trial is None:
        return (_UNMEASURED.get(experiment.ended_by, "Nothing was measured."),)
    so_far = "" if experiment.state == "finished" else " so far"
    speedup = trial.speedup
    # Only on a busy host do the fastest steps decide.
    is_busy = speedup is not None and speedup.is_by_fastest_steps
    host = ("On a busy host, ",) if is_busy else ()
    if leader.is_slower and speedup is not None:
        longer = speedup.inverse
        return (
            *host,
            Strong("eager"),
            f" is the fastest{so_far}: {trial.variant}, the fastest that is compiled, takes "
            f"{format_ratio(longer.ratio)} as long ({interval(longer)}).",
        )
    if leader.is_untold:
        rounds = counted(trial.n_rounds, "round")
        too_few = (
            f" cannot be told: {rounds} of each are too few for an interval, which takes "
            f"{MIN_ROUNDS} or more."
        )
        return ("Whether anything is faster than ", Strong("eager"), too_few)
    if leader.is_baseline:
        tried = f"Nothing that was tried{so_far} is faster than "
        return (tried, Strong("eager"), " beyond the noise.")
    if speedup is None:
        return (Strong(trial.variant), f" is the fastest{so_far}.")
    return (
        *host,
        Strong(trial.variant),
        f" is the fastest{so_far}: {format_ratio(speedup.ratio)} as fast as eager "
        f"({interval(speedup)}).",
    )


def evidence(experiment: Experiment) -> str:
    """How much was tried, and why it ended."""
    # What the best setting has is timed once more without each lever: one setting, two trials.
    n = len({same(trial.setting) for trial in experiment.trials})
    captures = len(experiment.batches)
    budget = format_wait(experiment.budget_s)
    tried = (
        f"{n} setting{'s' if n != 1 else ''} in {captures} capture{'s' if captures != 1 else ''}, "
        f"{format_wait(experiment.seconds)} of {budget}."
        if n
        else f"The budget is {budget}."
    )
    wrong = sum(trial.numerics == "wrong" for trial in experiment.trials)
    gave = f"{wrong} gave wrong answers and could not win." if wrong else ""
    left_out = (
        f"{left.variant} was not compiled after {format_wait(left.seconds)} and was left out; "
        "a larger budget tries it again."
        for batch in experiment.batches
        for left in batch.left_out
    )
    end = _ENDS[experiment.ended_by]
    is_beyond = experiment.seconds > experiment.budget_s
    if experiment.ended_by == "budget" and captures == 1 and is_beyond:
        end = (
            "The first capture took longer than the budget: without eager and the setting that it "
            "starts from there is no answer. A larger budget tries more."
        )
    if not n and experiment.ended_by == "cancelled":
        end = "It was cancelled."
    return " ".join(filter(None, (tried, gave, *left_out, end)))


def responsible(experiment: Experiment) -> tuple[str, ...]:
    """What each lever of the fastest setting is responsible for, and the one that does harm."""
    measured = effects(experiment)
    leader = leader_of(experiment)
    sentences = [] if leader.is_baseline else [
        effect_sentence(effect, experiment) for effect in effects_on(leader.setting, measured)
    ]  # fmt: skip
    harmful = worst(measured)
    if harmful is not None:
        sentences.append(effect_sentence(harmful, experiment))
    return tuple(dict.fromkeys(sentences))


def effect_sentence(effect: Effect, experiment: Experiment) -> str:
    """What one lever does to one setting, with the interval."""
    ratio = effect.ratio
    rest = setting_name(without(effect.setting, effect.lever), experiment)
    beside = rest if effect.instead is None else f"{effect.instead} in its place"
    if ratio.is_slower:
        slower = ratio.inverse
        return (
            f"{effect.word} alone makes it {format_ratio(slower.ratio)} slower than {beside} "
            f"({interval(slower)}, {format_difference(-effect.gain_ns)} per step)."
        )
    if ratio.is_faster:
        return (
            f"{effect.word} alone makes it {format_ratio(ratio.ratio)} faster than {beside} "
            f"({interval(ratio)}, {format_difference(-effect.gain_ns)} per step)."
        )
    return (
        f"{effect.word} makes no difference that can be told beside {beside} ({interval(ratio)})."
    )


def interval(ratio: Ratio) -> str:
    """`1.71× to 1.92×`; with what decided where it reaches from the ratio to one side alone."""
    return ", ".join(interval_lines(ratio))


def interval_lines(ratio: Ratio) -> tuple[str, ...]:
    """The interval, and what decided it where that is to be said."""
    ends = f"{format_ratio(ratio.low)} to {format_ratio(ratio.high)}"
    return (ends, "by the fastest steps") if ratio.is_by_fastest_steps else (ends,)


def gain_text(gain: Gain) -> str:
    """What a finding predicts: `≤ 1.2 ms`, or `1.1 ms (900 µs to 1.3 ms)`."""
    expected, *between = gain_lines(gain)
    return f"{expected} ({between[0]})" if between else expected


def gain_lines(gain: Gain) -> tuple[str, ...]:
    """What a finding predicts, and from where to where, if both ends are given."""
    if gain.at_most:
        return (f"≤ {format_duration(gain.high_ns, 'up')}",)
    expected = format_duration(gain.gain_ns)
    if gain.low_ns is None or gain.high_ns is None:
        return (expected,)
    return expected, f"{format_duration(gain.low_ns)} to {format_duration(gain.high_ns)}"


def outcome(trial: Trial, leader: Leader, other: str) -> str:
    """What became of one trial, in a few words.

    Args:
        trial: in question.
        leader: of its experiment.
        other: name of the setting that it was held against.
    """
    if trial.status == "failed":
        return f"failed: {trial.error}"
    if trial.numerics == "wrong":
        return f"wrong answers: {trial.numerics_reason}"
    if trial.status == "stopped early":
        return f"stopped after {trial.n_rounds} rounds: another is faster"
    if leader.trial is not None and trial.setting == leader.setting:
        return _of_leader(leader, trial)
    against = trial.against
    if against is None:  # too few rounds, or the other was not timed
        return "" if trial.realised_ns is None else f"cannot be told from {other}"
    if against.is_faster:
        return f"faster than {other}"
    return f"slower than {other}" if against.is_slower else f"cannot be told from {other}"


def breaks_lines(trial: Trial, held_against: Setting | None, experiment: Experiment) -> list[str]:
    """Graph breaks of the setting that it was held against and its own, and whether they went.

    Args:
        trial: in question.
        held_against: the setting that it was held against; None: eager.
        experiment: of the trial.

    Returns:
        `["1 → 0", "gone"]`, its own number alone where the other's is not known; [] without any.
    """
    after = trial.n_breaks
    other = None if held_against is None else _trial_of(held_against, experiment)
    before = None if other is None else other.n_breaks
    if after is None:
        return []
    if before is None or not (before or after):
        return [str(after)]
    if after == before:
        return [f"{before} → {after}", "stayed"]
    if after < before:
        return [f"{before} → {after}", f"{before - after} gone" if after else "gone"]
    return [f"{before} → {after}", f"{after - before} more"]


def setting_name(setting: Setting | None, experiment: Experiment) -> str:
    """A setting as its trials are called; None: the baseline, eager.

    The words of a variant have an order of their own, which is not that of the search.
    """
    if setting is None:
        return EAGER
    trial = _trial_of(setting, experiment)
    return variant_of(setting) if trial is None else trial.variant


def _trial_of(setting: Setting, experiment: Experiment) -> Trial | None:
    """The first trial of a setting, in whatever order its words are."""
    return next((t for t in experiment.trials if same(t.setting) == same(setting)), None)


def _of_leader(leader: Leader, trial: Trial) -> str:
    if not leader.is_baseline:
        # The best of each capture is timed again in the next one; the headline has its last time.
        ratios = [
            None if timed is None or timed.speedup is None else format_ratio(timed.speedup.ratio)
            for timed in (trial, leader.trial)
        ]
        is_told = ratios[1] is None or ratios[0] == ratios[1]
        return "the fastest" if is_told else f"the fastest, {ratios[1]} when last timed"
    is_slower = trial.speedup is not None and trial.speedup.is_slower
    return "the fastest compiled, slower than eager" if is_slower else "cannot be told from eager"

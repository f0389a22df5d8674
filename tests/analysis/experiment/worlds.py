"""Made-up workloads whose step time follows from the setting, and experiments on them."""

import msgspec

from profiler_core.analysis.experiment.choice import Choice, variant_of
from profiler_core.analysis.experiment.search import End, next_plan
from profiler_core.model.experiment import Batch, Experiment, Ratio, Trial

NOISE = 0.01  # half of an interval, as a fraction
EAGER_NS = 2_000_000.0


def ratio(of_ns, over_ns):
    value = of_ns / over_ns
    return Ratio(ratio=value, low=value / (1 + NOISE), high=value * (1 + NOISE))


class World:
    """`step_ns` of a setting is the product of what each word does; `together` of several words."""

    def __init__(self, factors, together=None, start_ns=1_000_000.0, failing=(), seconds=10.0):
        self.factors, self.together = factors, together or {}
        self.start_ns, self.failing, self.seconds = start_ns, frozenset(failing), seconds

    def step_ns(self, setting):
        words = {word for _, word in setting}
        time = self.start_ns
        for word in words:
            time *= self.factors.get(word, 1.0)
        for both, factor in self.together.items():
            if words.issuperset(both):
                time *= factor
        return time

    def trial(self, setting, reference):
        words = {word for _, word in setting} or {"default"}
        if words & self.failing:
            return Trial(setting=setting, variant=variant_of(setting), status="failed", error="no")
        step_ns = self.step_ns(setting)
        against_ns = EAGER_NS if reference is None else self.step_ns(reference)
        return Trial(
            setting=setting,
            variant=variant_of(setting),
            status="measured",
            step_ns=step_ns,
            speedup=ratio(EAGER_NS, step_ns),
            against=ratio(against_ns, step_ns),
            realised_ns=against_ns - step_ns,
            numerics="wrong" if "wrong" in words else "right",
        )

    def captured(self, plan, n, budget_s=float("inf")):
        """Of the first capture, what is not compiled within the budget is left out."""
        settings = plan.settings
        if n == 0 and plan.reference is not None:
            settings = settings[: max(0, int(budget_s / self.seconds) - 2)]
        trials = [self.trial(setting, plan.reference) for setting in settings]
        leading = None if plan.reference is None else self.trial(plan.reference, None)
        if n == 0 and leading is not None:
            trials, leading = [leading, *trials], None
        return Batch(
            phase=plan.phase,
            capture_id=f"capture-{n}",
            seconds=self.seconds * (len(trials) + 1),
            trials=tuple(trials),
            reference=plan.reference,
            reference_trial=leading,
            baseline_ns=EAGER_NS,
            is_cut_off=len(settings) < len(plan.settings),
        )


def asked(budget_s=100_000.0, start=(), gains=(), batches=()):
    return Experiment(
        experiment_id="20261123-000000-try-made-up-0000",
        title="made up",
        workload="made-up",
        words=("made-up",),
        start=start,
        levers=(),
        budget_s=budget_s,
        created_at="2026-11-23T00:00:00Z",
        gains=gains,
        batches=batches,
    )


def choices_of(*levers):
    """`mode:reduce-overhead` or a word that is its own lever; earlier ones are worth more."""
    made = []
    for n, text in enumerate(levers):
        lever, _, word = text.rpartition(":")
        made.append(Choice(lever or word.partition("=")[0], word, 1 - n / 100))
    return tuple(made)


def searched(world, choices, experiment):
    """The experiment at its end, and each plan with the experiment that it was made for."""
    made = []
    for _ in range(200):
        plan = next_plan(experiment, choices)
        made.append((experiment, plan))
        if isinstance(plan, End):
            return experiment, made
        batch = world.captured(plan, len(experiment.batches), budget_s=experiment.budget_s)
        experiment = msgspec.structs.replace(experiment, batches=(*experiment.batches, batch))
    raise AssertionError("it does not end")


def with_few_rounds(experiment):
    """The same experiment, timed in too few rounds for an interval."""
    batches = tuple(
        msgspec.structs.replace(
            batch,
            trials=tuple(map(_of_few_rounds, batch.trials)),
            reference_trial=batch.reference_trial and _of_few_rounds(batch.reference_trial),
        )
        for batch in experiment.batches
    )
    return msgspec.structs.replace(experiment, batches=batches)


def _of_few_rounds(trial):
    return msgspec.structs.replace(trial, speedup=None, against=None, n_rounds=4)

"""An experiment as its folder keeps it: what was asked for, each trial, and how it ended.

A *setting* is what a workload runs under, as pairs of a lever and the word of a variant that it has
there; a lever that is left alone is not in it. `()` is torch.compile as it is by itself.
"""

import math
from typing import Literal

import msgspec

Setting = tuple[tuple[str, str], ...]  # (lever, word), in the order of the variant's words
Phase = Literal["start", "known settings", "one lever", "combination", "without one lever"]
TrialStatus = Literal["measured", "stopped early", "failed"]
# "interrupted" stands in no file: it is "running" where no process runs it any more.
State = Literal["running", "finished", "cancelled", "interrupted"]
EndedBy = Literal["nothing left", "budget", "cancelled", "nothing to compare", ""]


class Ratio(msgspec.Struct, frozen=True, kw_only=True):
    """Step time of one over that of another, and its 95 % interval; above 1 the other is faster."""

    ratio: float
    low: float
    high: float

    @property
    def is_faster(self) -> bool:
        """Is the other one faster, beyond the noise?"""
        return self.low > 1

    @property
    def is_slower(self) -> bool:
        """Is it slower, beyond the noise?"""
        return self.high < 1

    @property
    def is_by_fastest_steps(self) -> bool:
        """Did the fastest steps decide, on a busy host? Its interval ends at it only there."""
        return any(math.isclose(self.ratio, end, rel_tol=1e-9) for end in (self.low, self.high))

    @property
    def inverse(self) -> "Ratio":
        """The same with the two exchanged."""
        return Ratio(ratio=1 / self.ratio, low=1 / self.high, high=1 / self.low)


class Gain(msgspec.Struct, frozen=True, kw_only=True):
    """What a finding says that a lever wins, in ns per step.

    low, high: ends of its interval; None: it has none. at_most: `gain_ns` is an upper bound.
    """

    finding: str  # its key
    title: str
    lever: str
    word: str
    gain_ns: float
    low_ns: float | None = None
    high_ns: float | None = None
    at_most: bool = False


class Moved(msgspec.Struct, frozen=True, kw_only=True):
    """A group of the ledger whose time changed; ns per step, below 0 is faster."""

    title: str
    delta_ns: float


class Trial(msgspec.Struct, frozen=True, kw_only=True):
    """One setting, timed in turns with the baseline and with the best one so far."""

    setting: Setting
    variant: str  # as `capture` takes it
    status: TrialStatus
    error: str | None = None
    folder: str = ""  # of the run, in that of the capture
    n_rounds: int = 0
    step_ns: float | None = None  # median over the rounds
    step_low_ns: float | None = None  # where it would lie if it were started once more
    step_high_ns: float | None = None
    speedup: Ratio | None = None  # baseline / this
    against: Ratio | None = None  # the setting that it was held against / this
    first_call_s: float | None = None  # compiling and the first step, with empty caches
    peak_bytes: int | None = None
    n_breaks: int | None = None  # graph breaks in its logs; None: it has none, or an older trial
    numerics: str | None = None  # "right", "wrong", "not comparable"; None: not checked
    numerics_reason: str = ""
    predicted: tuple[Gain, ...] = ()
    realised_ns: float | None = None  # per step, against the setting that it was held against
    moved: tuple[Moved, ...] = ()  # the groups that changed most against that setting
    modules: tuple[str, ...] = ()  # paths of those that were compiled; empty: the whole model
    regions: tuple[str, ...] = ()  # one module of each class that was a nested compile region
    # As `model.run.Compiled` has them; "" and None: an experiment of before they were kept.
    where: str = ""
    calls: str = "model"
    is_handed: bool = False
    trains: bool | None = None

    @property
    def may_win(self) -> bool:
        """Was it measured to its end, with answers that are not wrong?"""
        return self.status == "measured" and self.step_ns is not None and self.numerics != "wrong"


class LeftOut(msgspec.Struct, frozen=True, kw_only=True):
    """A setting that was not compiled in its time. seconds: spent on compiling it."""

    setting: Setting
    variant: str
    seconds: float


class Batch(msgspec.Struct, frozen=True, kw_only=True):
    """One capture of an experiment: the baseline, the best setting so far, and further ones.

    reference: what the trials were held against; None: the baseline. In the first capture it is the
    setting that the experiment starts from, a trial itself.
    """

    phase: Phase
    capture_id: str
    seconds: float
    trials: tuple[Trial, ...]
    reference: Setting | None = None
    reference_trial: Trial | None = None  # the best so far, timed once more
    baseline_ns: float | None = None
    is_cut_off: bool = False  # the budget ended before it did
    left_out: tuple[LeftOut, ...] = ()

    def held_against(self, trial: Trial) -> Setting | None:
        """The setting that a trial of it was held against; None: the baseline."""
        return None if trial.setting == self.reference else self.reference


class Unfit(msgspec.Struct, frozen=True, kw_only=True):
    """A lever that was not tried, and why."""

    lever: str
    why: str


class Experiment(msgspec.Struct, frozen=True, kw_only=True):
    """All of it. `words` are those of a capture of the workload, without its variants."""

    experiment_id: str
    title: str
    workload: str
    words: tuple[str, ...]
    start: Setting
    levers: tuple[str, ...]  # those that were asked for; empty: all
    budget_s: float
    created_at: str  # ISO 8601, UTC
    finding: str = ""  # the key of the finding that it was started from
    source: tuple[str, ...] = ()  # keys of the runs of that finding
    gains: tuple[Gain, ...] = ()
    unfit: tuple[Unfit, ...] = ()
    batches: tuple[Batch, ...] = ()
    state: State = "running"
    ended_by: EndedBy = ""
    device: str = ""  # name of the GPU, or of the CPU
    on_gpu: bool = False
    torch: str = ""

    @property
    def trials(self) -> tuple[Trial, ...]:
        """Every trial, in the order in which they were made."""
        return tuple(trial for batch in self.batches for trial in batch.trials)

    @property
    def seconds(self) -> float:
        """Spent so far."""
        return sum(batch.seconds for batch in self.batches)

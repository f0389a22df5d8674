"""A patch of the user's code, judged by the two versions that were timed in turns."""

from collections import defaultdict
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

from profiler_core.analysis.experiment.halving import ratio_of
from profiler_core.analysis.findings import Finding
from profiler_core.analysis.gate.judgement import Gate
from profiler_core.analysis.gate.limits import limits_of
from profiler_core.analysis.step_time import step_time_ns
from profiler_core.analysis.wording.patch import Outcome, patch_sentence
from profiler_core.errors import FusionscopeError
from profiler_core.model.experiment import Moved, Ratio
from profiler_core.model.run import Numerics, RunRecord
from profiler_core.session.comparison import Comparison
from profiler_core.session.folder import versions_in
from profiler_core.session.pair import Pair

NO_SLOWER = {"step_time": "+0%"}  # the limit of the gate
_MOST_GROUPS = 5
_LEAST_MOVED = 0.005  # of a step: below it a group did not move


@dataclass(frozen=True)
class Judged:
    """The file as it is, and the patched copy. Times are ns per step, without the profiler.

    labels: what the two are called. solved, new: findings that only the one and only the other has.
    """

    labels: tuple[str, str]
    before: RunRecord
    after: RunRecord
    gate: Gate
    speedup: Ratio | None
    moved: tuple[Moved, ...]
    solved: tuple[Finding, ...]
    new: tuple[Finding, ...]

    @cached_property
    def times_ns(self) -> tuple[float | None, float | None]:
        """Of a step, before and after; None: it was not timed."""
        return step_time_ns(self.before.measurement), step_time_ns(self.after.measurement)

    @property
    def saved_ns(self) -> float | None:
        """Per step; below 0 it became slower."""
        before_ns, after_ns = self.times_ns
        return None if before_ns is None or after_ns is None else before_ns - after_ns

    @property
    def numerics(self) -> Numerics | None:
        """The patched copy's answers, against those of the file as it is; None: not checked."""
        return self.after.numerics

    @property
    def outcome(self) -> Outcome:
        """What came of it; "faster" and "slower" are beyond the noise."""
        if self.gate.outcome == "not compiled":
            return "does not compile"
        if self.after.status == "failed":
            return "does not run"
        if self.numerics is not None and self.numerics.verdict == "wrong":
            return "wrong answers"
        if self.speedup is not None and self.speedup.is_faster:
            return "faster"
        if self.speedup is not None and self.speedup.is_slower:
            return "slower"
        return "cannot be told"

    @property
    def sentence(self) -> str:
        """The outcome with its numbers."""
        return patch_sentence(
            self.outcome, self.labels[1], self.times_ns, self.speedup, self.numerics,
            self.after.error,
        )  # fmt: skip


def judged(folder: Path) -> Judged:
    """What a capture of `--against patch:FILE` says.

    Args:
        folder: of the capture, with one variant.

    Raises:
        NotARun: it holds no two versions of one variant.
        BadInput: a run cannot be read.
    """
    pair = Comparison.open(versions_in(folder)).pairs[0]
    before, after = (run.record for run in pair.runs)
    speedup = None
    if before.measurement is not None and after.measurement is not None:
        on_gpu = "gpu" in pair.numbers.device_kinds
        speedup = ratio_of(before.measurement, after.measurement, on_gpu=on_gpu)
    was, is_now = (run.alone.findings or () for run in pair.runs)
    kept = {finding.key for finding in was} & {finding.key for finding in is_now}
    return Judged(
        labels=pair.labels,
        before=before,
        after=after,
        gate=pair.gate(limits_of(NO_SLOWER), []),
        speedup=speedup,
        moved=moved_groups(pair, step_time_ns(before.measurement)),
        solved=tuple(finding for finding in was if finding.key not in kept),
        new=tuple(finding for finding in is_now if finding.key not in kept),
    )


def moved_groups(pair: Pair, step_ns: float | None) -> tuple[Moved, ...]:
    """The groups of the ledger that changed most, those of one name together; () if none is there.

    Args:
        pair: of what they changed from, and to.
        step_ns: of the former; None: it was not timed.
    """
    if step_ns is None:
        return ()
    try:
        groups = pair.ledger.groups
    except FusionscopeError:  # no trace, or the two cannot be matched
        return ()
    changes: defaultdict[str, float] = defaultdict(float)
    for group in groups:
        changes[group.title] += group.delta_ns
    moved = sorted(
        (entry for entry in changes.items() if abs(entry[1]) >= _LEAST_MOVED * step_ns),
        key=lambda entry: -abs(entry[1]),
    )
    return tuple(Moved(title=title, delta_ns=ns) for title, ns in moved[:_MOST_GROUPS])

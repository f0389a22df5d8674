"""Pass, regression, or cannot judge: one answer for each limit, then one for all.

Counts, memory and shares are held against their limit as they are. Step time is judged by the
interval of the comparison (`analysis/noise.py`), with further runs of the baseline's code where
there are any. It is a regression when the whole interval lies beyond the limit; it passes when the
change keeps the limit and the interval does not reach beyond twice of it; all else cannot be judged
from these rounds.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import PureWindowsPath
from typing import Literal

from profiler_core.analysis.compare import CandidateComparison, compared_step_time
from profiler_core.analysis.compilation.report import BreakReport
from profiler_core.analysis.explainable import unrelated_sentence
from profiler_core.analysis.gate.evidence import Evidence
from profiler_core.analysis.gate.limits import QUANTITIES, Limit, Quantity, value_text
from profiler_core.analysis.noise import MIN_ROUNDS, Noise
from profiler_core.analysis.side import Side
from profiler_core.analysis.step_time import StepTime
from profiler_core.analysis.wording.script_compilation import not_compiled, not_eager
from profiler_core.model.run import Measurement

Outcome = Literal["pass", "regression", "cannot judge", "not compiled"]

# Properties of run.json that make it another question, so that no number may be held against
# another one. Other software (torch, the driver) is what a gate is there to judge.
_SAME_QUESTION = ("gpu", "gpu_memory_bytes", "power_limit_w", "workload")
_CANNOT: Outcome = "cannot judge"
_NOT_COMPILED: Outcome = "not compiled"
_RESULTS = Quantity("results", "Results", "count", "")
_COMPILES = Quantity("compiles", "Compiles", "count", "")
CHECKED: Mapping[str, Quantity] = {q.key: q for q in (*QUANTITIES, _RESULTS, _COMPILES)}
_EXIT_STATUS: Mapping[Outcome, int] = {
    "pass": 0, "regression": 1, _CANNOT: 3, _NOT_COMPILED: 4
}  # fmt: skip


@dataclass(frozen=True)
class Check:
    """One limit, or the check of the results."""

    quantity: Quantity
    outcome: Outcome
    baseline: float | None
    candidate: float | None
    limit: str  # as written; "" for the results
    sentence: str  # why

    @property
    def change(self) -> float | None:
        """Candidate / baseline − 1; of a share the difference; None: not known."""
        if self.baseline is None or self.candidate is None:
            return None
        if self.quantity.kind == "share":
            return self.candidate - self.baseline
        return self.candidate / self.baseline - 1 if self.baseline else None


@dataclass(frozen=True)
class Gate:
    """The answer. What does not compile outweighs a regression, that what cannot be judged."""

    checks: tuple[Check, ...]
    noise: Noise | None
    interleaved: bool
    notes: tuple[str, ...]
    breaks: tuple[BreakReport, ...] = ()  # the candidate's, where it does not keep their limit

    @property
    def outcome(self) -> Outcome:
        """Of all checks together."""
        outcomes = {check.outcome for check in self.checks}
        worst_first: tuple[Outcome, ...] = (_NOT_COMPILED, "regression", _CANNOT)
        worst = next((outcome for outcome in worst_first if outcome in outcomes), None)
        return worst or ("pass" if outcomes else _CANNOT)

    @property
    def exit_status(self) -> int:
        """Of the command `gate`, for CI."""
        return _EXIT_STATUS[self.outcome]


def gate(
    comparison: CandidateComparison,
    sides: tuple[Side, Side],
    numbers: tuple[Evidence, Evidence],
    limits: Sequence[Limit],
    *,
    repeats: Sequence[Measurement] = (),
) -> Gate:
    """Hold a candidate against its limits.

    Args:
        comparison: of the two, which knows whether they look like different programs.
        sides: baseline and candidate.
        numbers: of both.
        limits: at least one.
        repeats: further runs of the baseline's code, for the noise floor.
    """
    measurements = [side.run.record.measurement for side in sides]
    time = compared_step_time(*sides, repeats=repeats) if repeats else comparison.step_time
    obstacle = _obstacle(comparison, sides)
    checks = _compiles(sides[1])
    for limit in limits:
        key = limit.quantity.key
        values = (numbers[0].values[key], numbers[1].values[key])
        if obstacle is not None:
            outcome, sentence = _CANNOT, obstacle
        elif key == "step_time":
            outcome, sentence = _step_time(limit, comparison, measurements, time)
        else:
            outcome, sentence = _plain(limit, values, numbers)
        checks.append(Check(limit.quantity, outcome, *values, limit.text, sentence))
    if comparison.numerics is not None and comparison.numerics.verdict == "wrong":
        checks.append(
            Check(_RESULTS, "regression", None, None, "", "The candidate's results are wrong.")
        )
    return Gate(tuple(checks), time.noise, bool(comparison.interleaved), _notes(comparison))


def _compiles(candidate: Side) -> list[Check]:
    """A check that failed where the candidate's compilation did; none where it did not."""
    record = candidate.run.record
    if record.status != "failed" or record.error_kind != "compile":
        return []
    return [Check(_COMPILES, _NOT_COMPILED, None, None, "", record.error or "It does not compile.")]


def _obstacle(comparison: CandidateComparison, sides: tuple[Side, Side]) -> str | None:
    """Why nothing can be judged; None: it can."""
    for side in sides:
        record = side.run.record
        if record.status != "finished":
            return f"The run of {side.label} is {record.status}{_because(record.error)}"
    differs = [
        d
        for d in comparison.environment_differs
        if (d.key in _SAME_QUESTION or d.key.startswith("spec."))
        and not (d.key == "workload" and _in_checkouts(str(d.baseline), str(d.candidate)))
    ]
    if set(comparison.device_kinds) == {"gpu", "cpu"}:
        return "One run is on a GPU, the other on a CPU."
    if not differs and None not in comparison.device_kinds and "gpu" not in comparison.device_kinds:
        differs = [d for d in comparison.environment_differs if d.key == "cpu"]
    if differs:
        first = differs[0]
        return (
            f"The runs do not ask the same question: {first.key} is {first.baseline} in the "
            f"baseline and {first.candidate} in the candidate."
        )
    if comparison.unrelated:
        labels = comparison.baseline_label, comparison.label
        return unrelated_sentence(labels, comparison.unrelated)
    return None


def _in_checkouts(baseline: str, candidate: str) -> bool:
    """The same function of the same file, in two checkouts: `before/model.py:build`."""
    names = [PureWindowsPath(side).name for side in (baseline, candidate)]  # which knows both
    return ".py:" in baseline and names[0] == names[1]


def _because(error: str | None) -> str:
    return f": {error}" if error else "."


def _step_time(
    limit: Limit,
    comparison: CandidateComparison,
    measurements: Sequence[Measurement | None],
    time: StepTime,
) -> tuple[Outcome, str]:
    before, after = (m.n_compilations_while_timed if m else None for m in measurements)
    return judge_step_time(
        limit, time, in_turns=bool(comparison.interleaved), n_compilations=(before, after)
    )


def judge_step_time(
    limit: Limit, time: StepTime, *, in_turns: bool, n_compilations: tuple[int | None, int | None]
) -> tuple[Outcome, str]:
    """Whether the step time keeps its limit, and why.

    Args:
        limit: of the step time.
        time: of both, with its interval.
        in_turns: the two were timed in turns.
        n_compilations: that the timed rounds of both hold; None: not known.
    """
    if time.clock != "unprofiled" or time.baseline_ns is None or time.candidate_ns is None:
        return "cannot judge", "At least one run was not timed without the profiler."
    for role, n in zip(("baseline", "candidate"), n_compilations, strict=True):
        if n:
            return "cannot judge", (
                f"The timed rounds of the {role} hold {n} compilation{'s' if n > 1 else ''}."
            )
    if time.interval is None:
        return "cannot judge", (
            f"There are {min(time.n_rounds)} rounds, and at least {MIN_ROUNDS} are needed."
        )
    change = time.candidate_ns / time.baseline_ns - 1
    low, high = 1 / time.interval[1] - 1, 1 / time.interval[0] - 1
    largest_change = (limit.bound(time.baseline_ns) or 0.0) / time.baseline_ns - 1
    about = f"{_percent(change)} (between {_percent(low)} and {_percent(high)} with its noise)"
    if low > largest_change:
        return "regression", f"The change is {about}, the limit {limit.text}."
    if change > largest_change:
        return "cannot judge", (
            f"The change is {about}: above the limit {limit.text}, but not by more than the noise. "
            f"{_more_rounds(in_turns)}"
        )
    # A bound on the candidate itself has no size of change that must be seen.
    if limit.is_change and high > largest_change + abs(largest_change):
        return "cannot judge", (
            f"The change is {about}: twice the limit {limit.text} would not have been seen. "
            f"{_more_rounds(in_turns)}"
        )
    return "pass", f"The change is {about}, the limit {limit.text}."


def _more_rounds(in_turns: bool) -> str:
    if in_turns:
        return "Time more rounds, or on a quieter machine."
    return "Time both in turns in one capture, more rounds, or on a quieter machine."


def _plain(
    limit: Limit, values: tuple[float | None, float | None], numbers: tuple[Evidence, Evidence]
) -> tuple[Outcome, str]:
    quantity = limit.quantity
    baseline, candidate = values
    for role, value, run_numbers in zip(("baseline", "candidate"), values, numbers, strict=True):
        if value is None and (role == "candidate" or limit.is_change):
            return (
                "cannot judge",
                f"The {role} has no such number. {run_numbers.missing[quantity.key]}",
            )
    bound = limit.bound(baseline)
    if bound is None or candidate is None:
        return "cannot judge", "The baseline has no such number."
    # Averages over steps carry rounding errors; a limit that is met exactly is met.
    slack = 1e-9 * max(abs(bound), 1.0)
    is_beyond = candidate > bound + slack if quantity.lower_is_better else candidate < bound - slack
    before, after = value_text(quantity.kind, baseline), value_text(quantity.kind, candidate)
    worst = value_text(quantity.kind, bound) if bound else "0"
    sentence = f"{before} → {after}, the limit {limit.text}" + (
        f" is {worst}." if limit.is_change else "."
    )
    if is_beyond:
        return "regression", sentence
    # Breaks that the baseline's log hides alone would only raise what is allowed.
    hidden = [b for b in numbers[1].break_bounds if b not in numbers[0].break_bounds]
    if quantity.key == "graph_breaks" and hidden:
        return "cannot judge", f"{sentence} The candidate's log may not show all: {hidden[0]}"
    return "pass", sentence


def _notes(comparison: CandidateComparison) -> tuple[str, ...]:
    notes = []
    if comparison.compiled_nothing:
        notes.append(not_compiled(comparison.label))
    if comparison.baseline_compiled is not None:
        notes.append(not_eager(comparison.baseline_label, comparison.baseline_compiled))
    if comparison.interleaved is False:
        notes.append(
            "The runs were not timed in turns, so the noise holds what two sessions of one code "
            "usually differ by, and the drift within each run."
        )
    notes += [
        f"{d.key} differs: {d.baseline} in the baseline, {d.candidate} in the candidate."
        for d in comparison.environment_differs
    ]
    return tuple(notes)


def _percent(fraction: float) -> str:
    return f"{fraction * 100:+.1f} %".replace("-", "−")

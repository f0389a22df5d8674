"""The handful of numbers that matter, of every run of a comparison, each with its definition."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Literal

from profiler_core.analysis.compare import CandidateComparison, ComparedNumbers, replays_graphs
from profiler_core.analysis.compilation.cost import CompileCost, baseline_cost
from profiler_core.analysis.per_step import PerStep
from profiler_core.analysis.side import Side, compared_span, has_whole_memory, is_empty
from profiler_core.analysis.span import PER_STEP, profiled_time, spanned
from profiler_core.analysis.step_parts import StepParts, step_parts
from profiler_core.analysis.step_time import Clock, step_time_ns
from profiler_core.analysis.throughput import Counted
from profiler_core.analysis.verdict_kind import VerdictKind, judge
from profiler_core.analysis.wording.sentence import capitalised

Unit = Literal["ns", "bytes", "count", "share", "ratio", "rate"]
Judgement = Literal["better", "worse", "same", "unjudged"]

# Counts and peaks repeat exactly from run to run, times nearly; below this a change is no news.
_SAME_WITHIN = 0.02
_COUNTED: dict[Counted, str] = {
    "tokens": "What one step decodes over its whole batch, over the unprofiled step time.",
    "samples": "Batch size, times the batches of one step, over the unprofiled step time.",
}


@dataclass(frozen=True)
class Measure:
    """One number for each run, the baseline first; None: not available."""

    label: str
    definition: str
    unit: Unit
    values: tuple[float | None, ...]
    judgements: tuple[Judgement, ...]  # of the candidates, so one fewer than values
    comparable: tuple[bool, ...] = ()  # of the runs: with the baseline; empty: all are
    words: tuple[str | None, ...] = ()  # what stands in the place of a value, where no number can
    least: tuple[bool, ...] = ()  # of the runs: its own is at least the value; empty: of none

    @property
    def is_known(self) -> bool:
        """At least one run has it, or has a word for it."""
        return any(value is not None for value in (*self.values, *self.words))

    def word(self, run: int) -> str | None:
        """What to say of this run instead of a number."""
        return self.words[run] if self.words else None

    def is_least(self, run: int) -> bool:
        """Is the value one that the run's own is at least?"""
        return bool(self.least) and self.least[run]

    def change(self, run: int) -> float | None:
        """values[run] / values[0]; None: one is missing or counts otherwise, or the base is 0."""
        if self.comparable and not self.comparable[run]:
            return None
        value, base = self.values[run], self.values[0]
        return None if value is None or not base else value / base


def common_clock(sides: Sequence[Side]) -> Clock | None:
    """The clock on which all runs that have a step time can be compared.

    Unprofiled only where every one of them was timed without the profiler; None: none has one.
    """
    timed = [side for side in sides if side.step_time_ns is not None]
    if not timed:
        return None
    unprofiled = all(step_time_ns(side.run.record.measurement) is not None for side in timed)
    return "unprofiled" if unprofiled else "profiled"


def step_ns(side: Side, clock: Clock | None) -> float | None:
    """The run's step time on this clock; None: it has none there."""
    if clock == "unprofiled":
        return step_time_ns(side.run.record.measurement)
    return side.per_step.window_ns if side.per_step and clock else None


def divided_clock(sides: Sequence[Side]) -> Clock | None:
    """The clock on which what the traces hold is divided: theirs, where one of them marks no steps.

    A step that was timed is no whole for all that such a trace holds.
    """
    return common_clock(sides) if compared_span(sides) == PER_STEP else "profiled"


def step_bars_of(sides: Sequence[Side]) -> tuple[tuple[str, ...], tuple[StepParts, ...]]:
    """(labels, steps) of the runs that have a whole trace, their steps divided on one clock.

    What a cut trace lacks would be drawn as time in which the device is idle, and all of one that
    holds nothing to measure.
    """
    clock = divided_clock(sides)
    labels, parts = [], []
    for side in sides:
        summary = side.summary
        if summary is not None and side.has_whole_steps and not is_empty(summary):
            labels.append(side.label)
            parts.append(step_parts(summary, step_ns(side, clock), clock or "profiled"))
    return tuple(labels), tuple(parts)


def measures(comparison: ComparedNumbers) -> tuple[Measure, ...]:
    """Every measure that at least one run has, the most important first."""
    sides = (comparison.baseline, *comparison.sides)
    clock = common_clock(sides)
    on_gpu = any(s.summary is not None and s.summary.device_kind == "gpu" for s in sides)
    whole = tuple(side.has_whole_steps for side in sides)
    counted = tuple(side.has_whole_steps and not _lacks_kernels(side) for side in sides)
    times = _times(comparison, sides, clock)
    divided = [_counted_alike(side, on_gpu=on_gpu) for side in sides]
    device = _device(divided, divided_clock(sides), on_gpu=on_gpu)
    rows = (
        *(times if clock == "unprofiled" else _of_whole(times, whole)),
        *_of_whole(device, counted),
        *_cost(comparison, sides),
    )
    return tuple(_judged_alike(row, comparison) for row in rows if row.is_known)


def _lacks_kernels(side: Side) -> bool:
    return side.summary is not None and side.summary.has_unnamed_code


def _of_whole(rows: Iterable[Measure], whole: tuple[bool, ...]) -> Iterator[Measure]:
    """Rows of what the traces hold: a cut one has no value, as what is left is no whole step."""
    for row in rows:
        if all(whole):
            yield row
            continue
        compares = tuple(whole[0] and is_whole for is_whole in whole)
        judged = (
            judgement if is_whole else "unjudged"
            for judgement, is_whole in zip(row.judgements, compares[1:], strict=True)
        )
        values = (
            value if is_whole else None for value, is_whole in zip(row.values, whole, strict=True)
        )
        yield replace(row, values=tuple(values), judgements=tuple(judged), comparable=compares)


def _judged_alike(row: Measure, comparison: ComparedNumbers) -> Measure:
    """A different workload is no better or worse in anything."""
    judged = tuple(
        "unjudged" if candidate.workloads_differ else judgement
        for candidate, judgement in zip(comparison.candidates, row.judgements, strict=True)
    )
    return replace(row, judgements=judged)


def _counted_alike(side: Side, *, on_gpu: bool) -> Side:
    """Operators on the host are no kernels: beside a GPU's they are not available."""
    of_the_host = side.summary is not None and side.summary.device_kind == "cpu"
    return replace(side, per_step=None) if on_gpu and of_the_host else side


def _times(
    comparison: ComparedNumbers, sides: Sequence[Side], clock: Clock | None
) -> tuple[Measure, ...]:
    span = compared_span(sides)
    is_whole = clock != "unprofiled" and span != PER_STEP
    if clock == "unprofiled":
        definition = (
            "Wall time of a timed round over its steps, without the profiler; the median over "
            "the rounds."
        )
    elif not is_whole:
        definition = (
            "The profiled window over its steps. The profiler slows the host, so a step that "
            "waits for the host is shorter in truth."
        )
    else:
        definition = (
            "From the first to the last event of the trace, without work that had been launched "
            "before the profiler began. The profiler slows the host, so what waits for the host "
            "is shorter in truth."
        )
    judged = tuple(_by_verdict(c) for c in comparison.candidates)
    speed = tuple(c.step_time.ratio for c in comparison.candidates)
    return (
        Measure(
            "Step time" if clock == "unprofiled" else capitalised(profiled_time(span)),
            definition,
            "ns",
            tuple(step_ns(side, clock) for side in sides),
            judged,
        ),
        Measure(
            "Speed",
            f"{'Time' if is_whole else 'Step time'} of the baseline over that of the candidate: "
            "above 1 the candidate is faster. Coloured only where its 95 % interval leaves 1 out.",
            "ratio",
            (1.0 if any(speed) else None, *speed),
            judged,
        ),
        *(
            Measure(
                f"{counted.capitalize()} per second",
                definition,
                "rate",
                tuple(
                    side.throughput.per_second
                    if side.throughput is not None and side.throughput.counted == counted
                    else None
                    for side in sides
                ),
                judged,
            )
            for counted, definition in _COUNTED.items()
        ),
    )


def _device(sides: Sequence[Side], clock: Clock | None, *, on_gpu: bool) -> tuple[Measure, ...]:
    processor = "GPU" if on_gpu else "CPU"
    span = compared_span(sides)
    kernels = (
        f"Kernels launched {span}. Copies and memsets are not kernels."
        if on_gpu
        else "Outermost operators below the wrappers of compiled regions."
    )
    rows = [
        _row(
            f"GPU time {span}" if on_gpu else f"Profiled CPU time {span}",
            f"Durations of all kernels, copies and memsets {span}, summed over streams."
            if on_gpu
            else f"Durations of all operators of a profiled {spanned(span)}, summed over threads; "
            "what the profiler takes at each is in them.",
            "ns",
            "lower",
            _of_steps(sides, lambda p: p.device_time_ns),
        ),
        _row(
            f"{processor} busy",
            f"Share of the {spanned(span)} in which the GPU worked: the union of its intervals in "
            f"the trace over {'the step time' if span == PER_STEP else 'its length'}. Of a job of "
            "ranks, what the critical rank does not work more than the others; waiting in "
            "collectives is no work."
            if on_gpu
            else f"Share of the profiled {spanned(span)} in which an operator ran, on any thread: "
            "the profiler slows operators as much as what is between them.",
            "share",
            "higher",
            tuple(_busy(side, clock) for side in sides),
        ),
        _row(f"Kernels {span}", kernels, "count", "lower", _of_steps(sides, lambda p: p.n_kernels)),
        _row(
            f"Launches {span}",
            "Calls of the host that started at least one kernel, copy or memset; the launch of a "
            "CUDA graph is one.",
            "count",
            "lower",
            _of_steps(sides, lambda p: p.n_launches),
        ),
    ]
    return tuple(rows)


def _cost(comparison: ComparedNumbers, sides: Sequence[Side]) -> tuple[Measure, ...]:
    baseline = comparison.baseline
    costs = [
        baseline_cost(baseline.run.record, baseline.compile) or CompileCost(),
        *(c.compile for c in comparison.candidates),
    ]
    unjudged: tuple[Judgement, ...] = tuple("unjudged" for _ in comparison.candidates)
    least = tuple(side.memory.is_least for side in sides)
    return (
        _row(
            "Peak memory",
            "Reserved: the most that the caching allocator held from the device, the pools of CUDA "
            "graphs included.",
            "bytes",
            "lower",
            tuple(side.memory.peak_reserved_bytes for side in sides),
            comparable=tuple(has_whole_memory(side, baseline) for side in sides),
            least=least,
        ),
        _row(
            "Peak allocated",
            "The most that tensors held at once. Leaves out what a CUDA graph's private pool "
            "holds, so compare the reserved peak.",
            "bytes",
            "lower",
            tuple(side.memory.peak_allocated_bytes for side in sides),
            comparable=tuple(
                replays_graphs(s) == replays_graphs(baseline) and has_whole_memory(s, baseline)
                for s in sides
            ),
            least=least,
        ),
        Measure(
            "Compile time",
            "The outermost compilations in the logs, forward and backward, with the compiler's "
            "cache empty; without logs, how much longer the first call takes than a later step.",
            "ns",
            tuple(_ns(c.seconds) for c in costs),
            unjudged,
        ),
        Measure(
            "First call, cold",
            "How much longer the first call takes than a later step, with the compiler's cache "
            "empty; importing the compiler and the start of the device are in it.",
            "ns",
            tuple(_ns(c.first_call_seconds) for c in costs),
            unjudged,
        ),
        Measure(
            "First call, warm",
            "The same in a new process with the compiler's cache filled.",
            "ns",
            tuple(_ns(c.warm_seconds) for c in costs),
            unjudged,
        ),
        Measure(
            "Break-even steps",
            "Compile time, with autotuning at the first calls, over the time saved per step: after "
            "so many steps compiling has paid for itself. Beside a compiled baseline only what it "
            "costs more counts.",
            "count",
            tuple(c.break_even_steps for c in costs),
            unjudged,
            words=tuple(c.no_break_even for c in costs),
        ),
    )


def _ns(seconds: float | None) -> float | None:
    return None if seconds is None else seconds * 1e9


def _of_steps(
    sides: Sequence[Side], number: Callable[[PerStep], float | None]
) -> tuple[float | None, ...]:
    return tuple(number(side.per_step) if side.per_step else None for side in sides)


def _busy(side: Side, clock: Clock | None) -> float | None:
    step = step_ns(side, clock)
    if side.summary is None or not step:
        return None
    working_ns = side.summary.unprofiled_scale(step) * side.summary.working_ns
    return min(1.0, side.summary.per_step(working_ns) / step)


def _row(
    label: str,
    definition: str,
    unit: Unit,
    better: Literal["lower", "higher"],
    values: tuple[float | None, ...],
    comparable: tuple[bool, ...] = (),
    least: tuple[bool, ...] = (),
) -> Measure:
    """A measure judged by its size, between runs that are comparable in it."""
    judged = tuple(
        _judge(values[0], value, better) if is_alike else "unjudged"
        for value, is_alike in zip(
            values[1:], (comparable or (True,) * len(values))[1:], strict=True
        )
    )
    return Measure(label, definition, unit, values, judged, comparable, least=least)


def _judge(
    base: float | None, value: float | None, better: Literal["lower", "higher"]
) -> Judgement:
    if base is None or value is None:
        return "unjudged"
    if abs(value - base) <= _SAME_WITHIN * abs(base):
        return "same"
    return "better" if (value < base) == (better == "lower") else "worse"


def _by_verdict(candidate: CandidateComparison) -> Judgement:
    """Times are coloured by the interval alone, never by their size; wrong results have one too."""
    kind = judge(candidate.step_time, None, workloads_differ=candidate.workloads_differ)
    judgements: dict[VerdictKind, Judgement] = {
        "faster": "better", "slower": "worse", "no_difference": "same",
    }  # fmt: skip
    return judgements.get(kind, "unjudged")

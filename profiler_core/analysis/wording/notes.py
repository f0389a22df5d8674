"""What the numbers of a pair leave out, one sentence for each thing."""

from profiler_core.analysis.categories import CATEGORIES, PRODUCT_CATEGORIES
from profiler_core.analysis.compare import (
    CandidateComparison,
    ComparedNumbers,
    on_different_devices,
)
from profiler_core.analysis.compilation.cost import is_compiled
from profiler_core.analysis.noise import alone_ns
from profiler_core.analysis.product_precision import unrecorded_bits
from profiler_core.analysis.side import Side, is_empty
from profiler_core.analysis.span import PER_STEP, common_span
from profiler_core.analysis.step_time import StepTime, step_time_ns
from profiler_core.analysis.wording.sentence import listed, of_run
from profiler_core.model.run import Measurement, RunRecord
from profiler_core.units import format_count, format_duration, format_share

_LEAST_ALONE = 0.02  # of the step time: what a GPU's rounds differ by without any cause
_LEAST_REFILED = 0.01  # of the largest change of a category: a smaller one is rounding


def pair_notes(comparison: ComparedNumbers, number: int) -> tuple[str, ...]:
    """Of the baseline and one candidate.

    Args:
        comparison: of both.
        number: which candidate.
    """
    baseline, candidate = comparison.baseline, comparison.sides[number]
    pair = comparison.candidates[number]
    of_both = _notes_of(baseline) & _notes_of(candidate)
    notes = [
        f"{note} The same holds for {candidate.label}." if own in of_both else note
        for own, note in _side(baseline)
    ]
    notes += [note for own, note in _side(candidate) if own not in of_both]
    if on_different_devices(baseline, candidate):
        notes.append(
            "One trace has the kernels of a GPU, the other only operators on the host: what they "
            "count as kernels is not the same."
        )
    if baseline.summary and candidate.summary:
        notes += mixed_notes(baseline.summary.recorded_by, candidate.summary.recorded_by)
    notes += precision_notes(baseline, candidate, pair)
    notes += [*_step_time(pair), *_cost(candidate.run.record, pair)]
    if candidate.run.record.numerics is None:
        notes.append("Whether the results are right was not checked.")
    for place, side in enumerate((baseline, candidate)):
        notes += _refiled(side, pair, place)
    return tuple(notes)


def _refiled(side: Side, pair: CandidateComparison, place: int) -> list[str]:
    """Why replayed kernels count elsewhere here than where the run stands alone.

    Args:
        side: as its own trace says.
        pair: whose categories follow the operators that other runs show.
        place: of the side in it: 0 or 1.
    """
    n, own = pair.n_refiled_kernels[place], side.per_step
    if not n or own is None:
        return []
    of_pair_ns = {key: both.time_ns[place] or 0.0 for key, both in pair.by_category.items()}
    change_ns = {
        key: of_pair_ns.get(key, 0.0) - own.category_time_ns.get(key, 0.0) for key in CATEGORIES
    }
    least_ns = _LEAST_REFILED * max(map(abs, change_ns.values()), default=0.0)
    gained, lost = (
        listed([CATEGORIES[key] for key, ns in change_ns.items() if sign * ns > least_ns])
        for sign in (1, -1)
    )
    moved = format_duration(sum(ns for ns in change_ns.values() if ns > 0))
    per_step = format_count(n / own.n_steps)
    return [
        f"{side.label}: {per_step} kernels {side.span} that CUDA graphs replay ({moved}) count as "
        f"{gained}, as their operators in the other runs say; without those runs their names put "
        f"them under {lost}."
    ]


def mixed_notes(baseline: str, candidate: str) -> list[str]:
    """What two sides cannot share where one tool recorded each; empty for one tool.

    Args:
        baseline: who recorded it, as `recorded_by` says.
        candidate: who recorded it.
    """
    if baseline == candidate:
        return []
    return [
        f"One side was recorded by {baseline}, the other by {candidate}: times of kernels and "
        "copies compare; host times do not, because each slows the host in its own way, and names "
        "of kernels are written differently, so groups match by kind and order more than by name."
    ]


def precision_notes(baseline: Side, candidate: Side, pair: CandidateComparison) -> list[str]:
    """That the products of both are of different precisions, where no record says it; else empty.

    Args:
        baseline: of the pair.
        candidate: of the pair.
        pair: both in numbers.
    """
    bits = unrecorded_bits(baseline, candidate)
    if bits is None or not (baseline.has_whole_steps and candidate.has_whole_steps):
        return []
    before, after = (
        sum(pair.by_category[key].time_ns[place] or 0.0 for key in _products(pair))
        for place in (0, 1)
    )
    less = "less" if after < before else "more"
    return [
        f"{baseline.label} computes its products and convolutions in {bits[0]} bits and "
        f"{candidate.label} in {bits[1]}, by the names of their kernels: they take "
        f"{format_duration(abs(after - before))} {common_span((baseline.span, candidate.span))} "
        f"{less} ({format_duration(before)} → {format_duration(after)}), which fusion "
        "alone does not explain."
    ]


def _products(pair: CandidateComparison) -> list[str]:
    return [key for key in PRODUCT_CATEGORIES if key in pair.by_category]


def _notes_of(side: Side) -> set[str]:
    return set(side.summary.notes) if side.summary is not None else set()


def _side(side: Side) -> list[tuple[str, str]]:
    """(as its trace says it, else ""; the note): what is missing from one run."""
    record, notes = side.run.record, []
    if record.status != "finished":
        error = f": {record.error}" if record.error else "."
        notes.append(f"The run of {side.label} is {record.status}{error}")
    if record.measurement is not None:
        notes += [of_run(side.label, note) for note in record.measurement.notes]
        notes += _alone(side.label, record.measurement)
    if side.summary is None:
        notes.append(f"{side.label} has no trace: its kernels and launches are not known.")
    elif is_empty(side.summary):
        notes.append(
            f"The trace of {side.label} holds neither steps nor work of a device, so there is "
            "no number to show for it."
        )
    of_trace = () if side.summary is None else side.summary.notes
    return [("", note) for note in notes] + [(own, of_run(side.label, own)) for own in of_trace]


def _alone(label: str, measurement: Measurement) -> list[str]:
    """What a step takes where no other process had run on the GPU, unless it is the step time."""
    alone, in_turns = alone_ns(measurement), step_time_ns(measurement)
    if alone is None or in_turns is None or abs(alone / in_turns - 1) < _LEAST_ALONE:
        return []
    change = format_share(abs(alone / in_turns - 1))
    more = "more" if alone > in_turns else "less"
    return [
        f"{label}: alone on the GPU, before another variant's process had run there, a step took "
        f"{format_duration(alone)}, {change} {more} than in turns with them."
    ]


def _step_time(pair: CandidateComparison) -> list[str]:
    """What the clock and the number of rounds say of the ratio of the step times."""
    time = pair.step_time
    if time.clock == "profiled":
        return [
            f"{'Step times' if pair.span == PER_STEP else 'Times'} are on the profiler's clock, "
            "which slows the host: at least one of the runs was not timed without it."
        ]
    of_traces = (pair.cut_traces, pair.unmarked_traces, pair.graph_captures, pair.unnamed_code)
    if time.clock is None and any(of_traces):
        return []  # the verdict says it
    if time.clock is None and set(pair.device_kinds) == {"gpu", "cpu"}:
        return [
            "Step times cannot be compared: one trace has the kernels of a GPU, the other has none."
        ]
    if time.clock is None:
        return ["Step times cannot be compared: at least one run has neither rounds nor steps."]
    if time.candidate_ns is None:  # its run failed, which the verdict says
        return []
    if time.interval is None:
        return [
            "There are too few rounds for a 95 % interval of the ratio, so it carries no verdict."
        ]
    return [] if pair.interleaved else [not_in_turns("The two runs", time)]


def not_in_turns(subject: str, time: StepTime) -> str:
    """What it means for the interval that runs were timed one after the other.

    Args:
        subject: what they are called.
        time: of both, with its interval.
    """
    sentence = f"{subject} were not timed in turns"
    noise = time.noise
    if noise is None:
        return f"{sentence}."
    parts = [f"what two sessions of one code differ by (±{format_share(noise.of_processes)})"]
    if noise.drift:
        parts.append(f"the drift within each (±{format_share(noise.drift)})")
    if noise.of_load:
        most = format_share(noise.of_load, "up")
        parts.append(f"steps that other work made longer (up to {most})")
    return f"{sentence}, so the 95 % interval of the ratio allows for {listed(parts)}."


def _cost(record: RunRecord, pair: CandidateComparison) -> list[str]:
    """What is not known of the cost of compiling, and what is counted with it."""
    if is_compiled(record) is not False and pair.compile.seconds is None:
        return [
            "What compiling costs is not known: there is no log of it and the first call was not "
            "timed."
        ]
    if pair.compile.source == "first call":
        return [
            "Compile time is what the first call takes beyond a step; what any first call costs is "
            "part of it."
        ]
    return []

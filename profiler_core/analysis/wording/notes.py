"""What the numbers of a pair leave out, one sentence for each thing."""

from profiler_core.analysis.compare import (
    CandidateComparison,
    ComparedNumbers,
    Side,
    is_empty,
    on_different_devices,
)
from profiler_core.analysis.compilation.cost import is_compiled
from profiler_core.analysis.step_time import StepTime
from profiler_core.analysis.wording.sentence import listed
from profiler_core.model.run import RunRecord
from profiler_core.units import format_share


def pair_notes(comparison: ComparedNumbers, number: int) -> tuple[str, ...]:
    """Of the baseline and one candidate.

    Args:
        comparison: of both.
        number: which candidate.
    """
    baseline, candidate = comparison.baseline, comparison.sides[number]
    pair = comparison.candidates[number]
    notes = [*_side(baseline), *_side(candidate)]
    if on_different_devices(baseline, candidate):
        notes.append(
            "One trace has the kernels of a GPU, the other only operators on the host: what they "
            "count as kernels is not the same."
        )
    if baseline.summary and candidate.summary:
        notes += mixed_notes(baseline.summary.recorded_by, candidate.summary.recorded_by)
    notes += [*_step_time(pair), *_cost(candidate.run.record, pair)]
    if candidate.run.record.numerics is None:
        notes.append("Whether the results are right was not checked.")
    notes += [
        f"{label}: {n} kernels replayed by CUDA graphs are in the category that their operators "
        "have in the other runs."
        for label, n in zip((baseline.label, candidate.label), pair.n_refiled_kernels, strict=True)
        if n
    ]
    return tuple(notes)


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


def _side(side: Side) -> list[str]:
    """What is missing from one run, and what it says of itself."""
    record, notes = side.run.record, []
    if record.status != "finished":
        error = f": {record.error}" if record.error else "."
        notes.append(f"The run of {side.label} is {record.status}{error}")
    if record.measurement is not None:
        notes += [f"{side.label}: {note}" for note in record.measurement.notes]
    if side.summary is None:
        notes.append(f"{side.label} has no trace: its kernels and launches are not known.")
    elif is_empty(side.summary):
        notes.append(
            f"The trace of {side.label} holds neither steps nor work of a device, so there is "
            "no number to show for it."
        )
    else:
        notes += [f"{side.label}: {note}" for note in side.summary.notes]
    return notes


def _step_time(pair: CandidateComparison) -> list[str]:
    """What the clock and the number of rounds say of the ratio of the step times."""
    time = pair.step_time
    if time.clock == "profiled":
        return [
            "Step times are on the profiler's clock, which slows the host: "
            "at least one of the runs was not timed without it."
        ]
    if time.clock is None and pair.cut_traces:
        return []  # the verdict says it
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
        parts.append(f"steps that other work made longer (up to {format_share(noise.of_load)})")
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

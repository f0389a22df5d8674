"""What the page about telemetry looks at: the chosen runs that were sampled."""

from dataclasses import dataclass

from profiler_core.analysis.telemetry.fairness import Fairness, fairness
from profiler_core.analysis.telemetry.run import RunTelemetry, without_samples
from profiler_core.analysis.telemetry.series import Sampled
from profiler_core.errors import FusionscopeError
from profiler_core.ingest.telemetry.reader import RunSamples
from profiler_core.model.run import RunFiles
from profiler_core.store.library import Entry
from profiler_core.ui.choice import Choice
from profiler_core.ui.reading import read_run, read_trace
from profiler_core.ui.telemetry.reading import samples_of, telemetry_of


@dataclass(frozen=True)
class SampledRun:
    """One run with its samples and what they say. number: its place among the chosen runs."""

    number: int
    label: str
    entry: Entry
    run: RunFiles
    samples: RunSamples
    found: RunTelemetry


@dataclass(frozen=True)
class Recorded:
    """The chosen runs: those that were sampled, and why the others were not."""

    runs: tuple[SampledRun, ...]
    without: tuple[str, ...]  # a sentence for each run without samples
    pairs: tuple[tuple[str, Fairness], ...]  # (label of the candidate, judgement)


def recorded(choice: Choice) -> Recorded:
    """Read the samples of all chosen runs."""
    runs, without = [], []
    for number, (label, entry) in enumerate(zip(choice.labels, choice.entries, strict=True)):
        run = read_run(entry)
        samples, found = samples_of(run), telemetry_of(run)
        if found is None or (samples.gpus is None and samples.hosts is None):
            without.append(f"{label}: {_why(run, samples)}")
        else:
            runs.append(SampledRun(number, label, entry, run, samples, found))
    first = next((one for one in runs if one.number == 0), None)
    pairs = []
    for one in runs:
        judged = None
        if one.number and first is not None:
            judged = fairness(first.found, one.found, (first.label, one.label))
        if judged is not None:
            pairs.append((one.label, judged))
    return Recorded(tuple(runs), tuple(without), tuple(pairs))


def with_traces(runs: tuple[SampledRun, ...]) -> tuple[Sampled, ...]:
    """Samples with the zero of each run's trace; reads a trace that nobody looked at yet."""
    return tuple(_sampled(one, _zero(one)) for one in runs)


def without_traces(runs: tuple[SampledRun, ...]) -> tuple[Sampled, ...]:
    """Samples alone."""
    return tuple(_sampled(one, None) for one in runs)


def _sampled(one: SampledRun, zero_ns: int | None) -> Sampled:
    return Sampled(
        one.number,
        one.run.record,
        one.samples.gpus,
        one.found.gpu_index,
        one.samples.hosts,
        zero_ns,
    )


def _zero(one: SampledRun) -> int | None:
    try:
        return read_trace(one.entry).origin_ns if one.run.trace else None
    except FusionscopeError:
        return None  # its own pages say what is wrong with it


def _why(run: RunFiles, samples: RunSamples) -> str:
    if samples.problems:
        return " ".join(samples.problems.values())
    return without_samples(run.record) or "nothing was sampled while it ran."

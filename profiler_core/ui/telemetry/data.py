"""What the page about telemetry looks at: the chosen runs that were sampled."""

from dataclasses import dataclass

from profiler_core.analysis.telemetry.fairness import Fairness
from profiler_core.analysis.telemetry.metrics import Metrics
from profiler_core.analysis.telemetry.run import RunTelemetry, without_samples
from profiler_core.analysis.telemetry.series import Sampled
from profiler_core.analysis.wording.sentence import listed, of_run
from profiler_core.ingest.telemetry.reader import RunSamples
from profiler_core.session.run import Run
from profiler_core.store.library import Entry
from profiler_core.ui.choice import Choice


@dataclass(frozen=True)
class SampledRun:
    """One run with its samples and what they say. number: its place among the chosen runs."""

    number: int
    label: str
    entry: Entry
    run: Run
    samples: RunSamples
    telemetry: RunTelemetry


@dataclass(frozen=True)
class Recorded:
    """The chosen runs: those that were sampled, and why the others were not."""

    runs: tuple[SampledRun, ...]
    without: tuple[str, ...]  # why runs have no samples: a sentence for each reason
    metrics: tuple[tuple[int, str, Metrics], ...]  # (number, label, what the profiler sampled)
    pairs: tuple[tuple[str, Fairness], ...]  # (label of the candidate, judgement)


def recorded(choice: Choice) -> Recorded:
    """Read the samples of all chosen runs."""
    runs: list[SampledRun] = []
    without: dict[str, list[str]] = {}  # reason -> labels: often it is the same for all
    for number, (label, entry) in enumerate(zip(choice.labels, choice.entries, strict=True)):
        run = choice.comparison.runs[number]
        samples, telemetry = run.samples, run.telemetry
        if telemetry is None or (samples.gpus is None and samples.hosts is None):
            without.setdefault(_why(run, samples), []).append(label)
        else:
            runs.append(SampledRun(number, label, entry, run, samples, telemetry))
    metrics = [
        (number, label, run.metrics)
        for number, (label, run) in enumerate(
            zip(choice.labels, choice.comparison.runs, strict=True)
        )
        if run.metrics.metrics
    ]
    pairs = [
        (pair.labels[1], judged)
        for pair in choice.comparison.pairs
        if (judged := pair.numbers.fairness) is not None
    ]
    sentences = tuple(of_run(listed(labels), reason) for reason, labels in without.items())
    return Recorded(tuple(runs), sentences, tuple(metrics), tuple(pairs))


def with_traces(runs: tuple[SampledRun, ...]) -> tuple[Sampled, ...]:
    """Samples with the zero of each run's trace; reads a trace that nobody looked at yet."""
    return tuple(_sampled(run, _zero(run)) for run in runs)


def without_traces(runs: tuple[SampledRun, ...]) -> tuple[Sampled, ...]:
    """Samples alone."""
    return tuple(_sampled(run, None) for run in runs)


def _sampled(run: SampledRun, zero_ns: int | None) -> Sampled:
    return Sampled(
        run.number,
        run.run.record,
        run.samples.gpus,
        run.telemetry.gpu_index,
        run.samples.hosts,
        zero_ns,
    )


def _zero(run: SampledRun) -> int | None:
    trace = run.run.trace  # where it cannot be read, its own pages say what is wrong with it
    return None if trace is None else trace.origin_ns


def _why(run: Run, samples: RunSamples) -> str:
    if samples.problems:
        return " ".join(samples.problems.values())
    return without_samples(run.record) or "there is no file of samples."

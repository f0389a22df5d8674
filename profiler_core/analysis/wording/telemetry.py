"""Telemetry in words: readings, where they come from, and whether a comparison is a fair one."""

from collections.abc import Sequence
from dataclasses import dataclass

from profiler_core.analysis.telemetry.clock_events import ClockEvent
from profiler_core.analysis.telemetry.fairness import MOST_APART, Fairness
from profiler_core.analysis.telemetry.jitter import SamplerJitter
from profiler_core.analysis.telemetry.metrics import Metrics
from profiler_core.analysis.telemetry.run import RunTelemetry
from profiler_core.analysis.wording.sentence import Phrase, Statement, Strong, counted, listed
from profiler_core.units import (
    format_bytes,
    format_count,
    format_duration,
    format_energy,
    format_share,
)


@dataclass(frozen=True)
class Reading:
    """One number as people read it. value is None where there is none, and `note` says why."""

    label: str
    value: str | None
    note: str
    definition: str


def readings(sampled: RunTelemetry) -> tuple[Reading, ...]:
    """The numbers of one run, always the same ones in the same order."""
    error = sampled.energy_error_fraction
    spread = "" if error is None else f"± {error * 100:.1f} %"
    host, gpu = sampled.host, sampled.reasons
    absent = {} if host is None else host.reasons
    no_host = sampled.reasons.get("host", "The process was not sampled.")

    def of_gpu(label: str, key: str, value: str | None, definition: str, note: str = "") -> Reading:
        reason = gpu.get(key) or gpu.get("phase") or gpu.get("gpu") or "No GPU was sampled."
        return Reading(label, value, note if value else reason, definition)

    def of_host(label: str, key: str, value: str | None, definition: str) -> Reading:
        return Reading(label, value, "" if value else absent.get(key, no_host), definition)

    return (
        of_gpu(
            "GPU busy (NVML)",
            "utilization_gpu_pct",
            _number(sampled.utilization_gpu_pct, "%"),
            "Share of time in which at least one kernel ran, as the driver averages it. 100 % does "
            "not mean that the GPU could do no more.",
            "Collectives that wait for another rank count: *Ranks* says for how long they do."
            if sampled.ranks
            else "",
        ),
        of_gpu(
            "Power",
            "power_w",
            _number(sampled.power_w, "W"),
            "Difference of the GPU's energy counter over time, between two of its ticks.",
            spread,
        ),
        of_gpu(
            "Energy per step",
            "energy_per_step_j",
            _energy(sampled.energy_per_step_j),
            "Power times the length of the phase over its steps; what an idle GPU draws is in it.",
            spread,
        ),
        of_gpu(
            "Energy per sample",
            "energy_per_sample_j",
            _energy(sampled.energy_per_sample_j),
            "Energy per step over the batch size.",
            spread,
        ),
        of_gpu(
            "SM clock",
            "sm_clock_mhz",
            _number(sampled.sm_clock_mhz, "MHz"),
            "Median over the phase.",
        ),
        of_gpu(
            "Memory clock",
            "memory_clock_mhz",
            _number(sampled.memory_clock_mhz, "MHz"),
            "Median over the phase.",
        ),
        of_gpu(
            "Temperature",
            "temperature_c",
            _number(sampled.temperature_c, "°C"),
            "Median over the phase.",
        ),
        of_gpu(
            "Device memory of the process",
            "process_memory_bytes",
            _bytes(sampled.process_memory_bytes),
            "The most that the process's own entry held: the allocator's memory, the CUDA context "
            "and the loaded kernels.",
        ),
        of_host(
            "CPU of the process",
            "cpu_pct",
            None if host is None else _number(host.cpu_pct, "%"),
            "CPU time of the process and all that it started; 100 % is one core.",
        ),
        of_host(
            "Busiest thread",
            "busiest_thread_pct",
            None if host is None else _number(host.busiest_thread_pct, "%"),
            "Of the thread that ran most. Near 100 % beside a GPU that is not busy, the host is "
            "the limit.",
        ),
        of_host(
            "Host memory of the process",
            "rss_bytes",
            None if host is None else _bytes(host.rss_bytes),
            "The most that was resident (RSS).",
        ),
        of_host(
            "Threads",
            "n_threads",
            None if host is None or host.n_threads is None else format_count(host.n_threads),
            "The most at once, of the process and all that it started.",
        ),
    )


def readings_head(runs: Sequence[tuple[str, RunTelemetry]]) -> tuple[str, str]:
    """What the readings of these runs are of: a heading, and a sentence where runs differ."""
    others = [label for label, sampled in runs if not sampled.is_steady]
    if len(others) == len(runs):
        return "Over all samples", ""
    return "In steady state", f"Of {listed(others)} over all samples." if others else ""


def phase_sentence(sampled: RunTelemetry) -> str:
    """Where the numbers come from."""
    if sampled.phase is None:
        return sampled.reasons.get("phase", "This variant never ran alone.")
    steps = f", {format_count(sampled.n_steps)} steps" if sampled.n_steps else ""
    n = (
        sampled.n_samples
        if sampled.gpu_index is not None or not sampled.host
        else sampled.host.n_samples
    )
    return (
        f"From the {sampled.phase}: {format_duration(sampled.phase_ns)}{steps}, "
        f"{counted(n, 'sample')}."
    )


def clock_sentence(sampled: RunTelemetry) -> str:
    """What held the clocks back, in words; "" where no GPU was sampled."""
    if sampled.gpu_index is None:
        return ""
    if sampled.clock_events is None:
        reason = sampled.reasons.get("clock_events", "")
        return f"What held the clocks back is not known{f': {reason}' if reason else '.'}"
    if not sampled.clock_events:
        return "Nothing held the clocks back."
    return f"The clocks: {'; '.join(map(clock_event, sampled.clock_events))}."


def clock_event(event: ClockEvent) -> str:
    """One reason with its name and share: "held back … (SwPowerCap, 12 % of the samples)"."""
    whose = "" if event.rank is None else f" of rank {event.rank}'s GPU"
    return f"{event.words} ({event.name}, {format_share(event.share)} of the samples{whose})"


def jitter_sentence(sampler: SamplerJitter | None) -> str:
    """How well the sampler kept its deadlines; "" with too few samples."""
    if sampler is None:
        return ""
    missed = (
        "none was missed"
        if not sampler.n_missed
        else f"{format_count(sampler.n_missed)} were missed"
    )
    return (
        f"Sampled every {format_duration(sampler.period_ns)}: {format_count(sampler.n)} samples "
        f"lie {format_duration(sampler.median_ns)} from their deadline in the median, "
        f"{format_duration(sampler.max_ns, 'up')} at most; {missed}."
    )


def state_of_gpu(
    pairs: tuple[Fairness, ...], *, other_workloads: bool, alone: tuple[str, RunTelemetry]
) -> Phrase:
    """A sentence: was the GPU in the same state for all runs; without pairs what a run alone took.

    Args:
        pairs: of all candidates that were judged.
        other_workloads: one of them ran another workload, so that nothing is a fair comparison.
        alone: label and telemetry of the first run.
    """
    if any(judged.fair is False for judged in pairs):
        unfair = Strong("Not a fair comparison")
        return (unfair, ": the GPU was not in the same state for all runs.")
    if any(judged.fair is None for judged in pairs):
        return ("Whether the GPU was in the same state for all runs is ", Strong("not known"), ".")
    if pairs and other_workloads:
        return ("The GPU ran in ", Strong("the same state"), " for all runs.")
    if pairs:
        same = Strong("the same state")
        return ("A fair comparison: the GPU ran in ", same, " for all runs.")
    return _alone(*alone)


def rank_rows(telemetry: RunTelemetry) -> tuple[tuple[str, ...], ...]:
    """Of each rank of a job a row below `RANK_HEADS`.

    Empty for a run of one process.
    """
    return tuple(
        (
            f"rank {of_rank.rank}, GPU {of_rank.gpu_index}",
            "–" if of_rank.power_w is None else f"{of_rank.power_w:.0f} W",
            format_energy(of_rank.energy_per_step_j),
            "–" if of_rank.sm_clock_mhz is None else f"{of_rank.sm_clock_mhz:.0f} MHz",
            "–" if of_rank.temperature_max_c is None else f"{of_rank.temperature_max_c:.0f} °C",
            format_bytes(of_rank.memory_used_bytes),
            held_back(of_rank.clock_events),
        )
        for of_rank in telemetry.ranks
    )


METRICS_NOTE = (
    "Performance metrics of the GPU during the profiled steps, on the trace's axis (torch 2.15 and "
    "later). The GPU's clocks are locked while metrics are sampled, so kernels may take longer or "
    "shorter than without."
)
METRIC_HEADS = ("sampled by the profiler", "GPU", "median", "lowest", "highest", "samples")


def metric_rows(sampled: Metrics) -> list[tuple[str, ...]]:
    """A row below METRIC_HEADS for each metric that the profiler sampled."""
    return [
        (
            metric.name,
            "–" if metric.device is None else str(metric.device),
            *(f"{value:.4g}" for value in (metric.median, metric.lowest, metric.highest)),
            f"{format_count(metric.n_samples)}"
            + (f", every {format_duration(metric.period_ns)}" if metric.period_ns else ""),
        )
        for metric in sampled.metrics
    ]


RANK_HEADS = (
    "", "power", "energy per step", "SM clock", "highest temperature", "memory in use",
    "clocks held back by",
)  # fmt: skip


def held_back(events: Sequence[ClockEvent] | None) -> str:
    """The names of what held clocks back, for a table."""
    if events is None:
        return "not known"
    return ", ".join(event.name for event in events) or "nothing"


def _alone(label: str, telemetry: RunTelemetry) -> Phrase:
    energy, power = telemetry.energy_per_step_j, telemetry.power_w
    if energy is not None:
        at = "" if power is None or telemetry.ranks else f" at {power:.0f} W"
        at += f" on {len(telemetry.ranks)} GPUs" if telemetry.ranks else ""
        return (f"A step of {label} takes ", Strong(format_energy(energy)), f"{at}.")
    if power is not None:
        return ("The GPU drew ", Strong(f"{power:.0f} W"), ".")
    if telemetry.gpu_index is None and telemetry.host is not None:
        return ("The process was sampled, ", Strong("no GPU was"), ".")
    return ("Sampled for ", Strong("too short a time"), " to say how much power it took.")


def fairness_statement(judged: Fairness) -> Statement:
    """Was the GPU in the same state for both, and by what that is judged."""
    labels = judged.labels
    if judged.fair is None:
        return Statement(
            ("Whether the GPU was in the same state for both is not known",),
            f"the clocks of {listed(judged.without_clocks)} were not sampled for long enough.",
        )
    if judged.fair:
        is_known = None not in judged.throttled
        return Statement(
            (f"{labels[0]} and {labels[1]}",),
            f"SM clock {_both_clocks(judged.sm_clock_mhz)}"
            + (
                ", neither was throttled."
                if is_known
                else "; whether it was throttled is not known."
            ),
        )
    reasons = [
        f"the {apart.clock} was {apart.mhz[0]:.0f} MHz for {labels[0]} and {apart.mhz[1]:.0f} MHz "
        f"for {labels[1]}, {apart.apart * 100:.1f} % apart (at most {MOST_APART * 100:.0f} % is "
        "fair)"
        for apart in judged.clocks_apart
    ]
    reasons += [
        f"the clocks of {label} were {clock_event(event)}" for label, event in judged.throttling
    ]
    return Statement(("Not a fair comparison",), f"{'; '.join(reasons)}.")


def judged_lines(pairs: Sequence[Fairness]) -> list[str]:
    """What each judgement rests on, below `state_of_gpu`, which says the claim of all but the fair.

    Of a fair pair the claim is its names, and stays.
    """
    statements = [(judged, fairness_statement(judged)) for judged in pairs]
    return [
        statement.sentence if judged.fair else statement.grounds for judged, statement in statements
    ]


def _both_clocks(mhz: Sequence[float | None]) -> str:
    first, second = (f"{clock:.0f}" for clock in mhz)
    return f"{first} MHz for both" if first == second else f"{first} and {second} MHz"


def _number(value: float | None, unit: str) -> str | None:
    return None if value is None else f"{value:.0f} {unit}"


def _energy(value: float | None) -> str | None:
    return None if value is None else format_energy(value)


def _bytes(value: int | None) -> str | None:
    return None if value is None else format_bytes(value)

"""What was sampled as lines over time, all chosen runs on one axis, with the phases marked."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Literal

from profiler_core.analysis.telemetry.phases import Phase, PhaseKind, phases, steady_phase
from profiler_core.model.run import RunRecord
from profiler_core.model.telemetry import GpuSample, GpuSamples, HostSample, HostSamples

Axis = Literal["steady", "capture", "trace"]
Key = Literal["sm_clock", "power", "utilization", "temperature", "memory", "cpu"]

# (key, title with its unit) in the order in which they are drawn.
TITLES: dict[str, str] = {
    "sm_clock": "SM clock, MHz",
    "power": "Power, W",
    "utilization": "GPU busy (NVML), %",
    "temperature": "Temperature, °C",
    "memory": "Device memory in use, GB",
    "cpu": "CPU of the process, % of one core",
}
MOST_RANKS = 8  # of a job, whose GPUs are drawn
MOST_POINTS = 1000  # a line; more cannot be told apart on a screen
_CPU_WINDOW_NS = 500_000_000  # the kernel counts CPU time in 10 ms: half a second is good to 2 %

Point = tuple[float, float]  # (s on the axis, value)


@dataclass(frozen=True)
class Line:
    """One quantity of one run.

    rank: of a job whose GPU it is; None for a run of one process, and for the process itself.
    """

    run: int
    key: str  # a Key, or the name of a metric that the profiler sampled
    points: tuple[Point, ...]
    rank: int | None = None


@dataclass(frozen=True)
class Span:
    """A phase on the axis, s. Rounds that follow each other closely are one span."""

    run: int
    kind: PhaseKind
    start_s: float
    end_s: float


@dataclass(frozen=True)
class Lines:
    """All lines; `title` says what the axis is."""

    axis: Axis
    title: str
    lines: tuple[Line, ...]
    spans: tuple[Span, ...]

    @property
    def keys(self) -> tuple[str, ...]:
        """Those that any run has, in the order of TITLES; then those that it does not have."""
        present = dict.fromkeys(line.key for line in self.lines)
        own = [key for key in TITLES if key in present]
        return (*own, *(key for key in present if key not in own))


@dataclass(frozen=True)
class Sampled:
    """One run's samples.

    number: its place among the chosen runs, 0 is the baseline. trace_zero_ns: epoch ns of its
    trace's zero, None without a trace.
    """

    number: int
    record: RunRecord
    gpus: GpuSamples | None
    gpu_index: int | None
    hosts: HostSamples | None
    trace_zero_ns: int | None = None


_AXES: dict[Axis, str] = {
    "steady": "seconds since the steady state began",
    "capture": "seconds since the first sample",
    "trace": "seconds on the trace's axis",
}


def lines(runs: Sequence[Sampled], axis: Axis) -> Lines:
    """Lines and phases of all runs on one axis.

    Args:
        runs: the baseline first.
        axis: `steady` lays the runs' steady phases over each other and shows nothing else,
            `capture` is the host's clock, `trace` the axis of each run's own trace.
    """
    drawn: list[Line] = []
    spans: list[Span] = []
    first_ns = min((t for run in runs for t in _times(run)), default=0)
    for run in runs:
        times = _times(run)
        steady = steady_phase(run.record.measurement, times)
        zero, within = first_ns, None
        if axis == "steady":
            if steady is None:
                continue
            zero, within = steady.start_ns, steady
        elif axis == "trace":
            if run.trace_zero_ns is None:
                continue
            zero = run.trace_zero_ns
        drawn += _lines(run, zero, within)
        if axis != "steady":
            spans += _spans(run.number, phases(run.record.measurement), zero)
    return Lines(axis, _AXES[axis], tuple(line for line in drawn if line.points), tuple(spans))


def _times(run: Sampled) -> list[int]:
    times = [s.t_ns for s in _gpu(run)]
    return times or ([s.t_ns for s in run.hosts.samples] if run.hosts else [])


def _gpu(run: Sampled) -> tuple[GpuSample, ...]:
    return run.gpus.of(run.gpu_index) if run.gpus and run.gpu_index is not None else ()


def _gpus(run: Sampled, within: Phase | None) -> list[tuple[int | None, list[GpuSample]]]:
    """The samples of each rank's GPU; of a run of one process those of its own, without a rank.

    Args:
        run: whose.
        within: those of this phase; None: all.
    """
    of_ranks = run.record.measurement.rank_gpus if run.record.measurement else ()
    by_rank: list[tuple[int | None, tuple[GpuSample, ...]]] = [(None, _gpu(run))]
    if run.gpus is not None and of_ranks:
        by_rank = [(rank, run.gpus.of(index)) for rank, index in enumerate(of_ranks[:MOST_RANKS])]
    return [
        (rank, [s for s in samples if within is None or within.holds(s.t_ns)])
        for rank, samples in by_rank
    ]


def _lines(run: Sampled, zero: int, within: Phase | None) -> list[Line]:
    host = run.hosts.samples if run.hosts else ()
    if within is not None:
        host = tuple(s for s in host if within.holds(s.t_ns))
    of_gpu: dict[Key, Callable[[GpuSample], float | None]] = {
        "sm_clock": lambda s: s.sm_clock_mhz,
        "power": lambda s: s.power_w,
        "utilization": lambda s: s.utilization_gpu_pct,
        "temperature": lambda s: s.temperature_c,
        "memory": lambda s: None if s.memory_used_bytes is None else s.memory_used_bytes / 1e9,
    }
    gpu_lines = [
        Line(run.number, key, thinned(_points(samples, value, zero), MOST_POINTS), rank)
        for rank, samples in _gpus(run, within)
        for key, value in of_gpu.items()
    ]
    return [*gpu_lines, Line(run.number, "cpu", thinned(_cpu(host, zero), MOST_POINTS))]


def _points(
    samples: Sequence[GpuSample], value: Callable[[GpuSample], float | None], zero: int
) -> list[Point]:
    return [((s.t_ns - zero) / 1e9, reading) for s in samples if (reading := value(s)) is not None]


def _cpu(samples: Sequence[HostSample], zero: int) -> list[Point]:
    """CPU time over the half second before each sample."""
    points, before = [], 0
    for now, sample in enumerate(samples):
        while before + 1 < now and sample.t_ns - samples[before + 1].t_ns >= _CPU_WINDOW_NS:
            before += 1
        first = samples[before]
        if sample.t_ns - first.t_ns >= _CPU_WINDOW_NS:
            share = (sample.cpu_ns - first.cpu_ns) / (sample.t_ns - first.t_ns)
            points.append(((sample.t_ns - zero) / 1e9, share * 100))
    return points


def thinned(points: Sequence[Point], most: int) -> tuple[Point, ...]:
    """At most about so many points; the lowest and the highest of each stretch are kept."""
    if len(points) <= most:
        return tuple(points)
    width = -(-len(points) // (most // 2))
    thin: list[Point] = []
    for start in range(0, len(points), width):
        stretch = points[start : start + width]
        low = min(stretch, key=lambda point: point[1])
        high = max(stretch, key=lambda point: point[1])
        thin += sorted({low, high})
    return tuple(thin)


def _spans(number: int, run_phases: Sequence[Phase], zero: int) -> list[Span]:
    """Rounds of one run with less than two seconds between them are drawn as one."""
    spans: list[Span] = []
    for phase in run_phases:
        start, end = (phase.start_ns - zero) / 1e9, (phase.end_ns - zero) / 1e9
        last = spans[-1] if spans else None
        if last and last.kind == phase.kind == "timing" and start - last.end_s < 2.0:
            spans[-1] = Span(number, "timing", last.start_s, end)
        else:
            spans.append(Span(number, phase.kind, start, end))
    return spans

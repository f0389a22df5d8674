"""Each analysis of HTA on our frames; the functions return figures and raise what HTA raises."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

import pandas as pd

from profiler_core.analysis.ranks.job import Job
from profiler_core.ranks.hta.answer import Figure
from profiler_core.ranks.hta.counted import Counted, counter_figures, own_counter_figures
from profiler_core.ranks.hta.frames import STREAM_ZERO, Frames, hta_trace
from profiler_core.ranks.hta.own import OwnNumbers

# HTA's default is 30, called ns, compared with µs: what it means in effect.
_CONSECUTIVE_NS = 30_000


@dataclass(frozen=True)
class Material:
    """The input of the analyses."""

    frames: Frames
    own: Mapping[int, OwnNumbers]  # by rank
    job: Job
    baseline: Frames | None = None  # of the job to compare with
    counter_frames: Frames = field(default_factory=Frames)  # of ranks with hardware counters
    counted: Mapping[int, Counted] = field(default_factory=dict)  # by rank

    @property
    def ranks(self) -> list[int]:
        """Those that were handed over."""
        return sorted(self.frames.traces)


def temporal_breakdown(material: Material) -> list[Figure]:
    """Idle, compute and the rest of the span from the first to the last device event."""
    from hta.analyzers.breakdown_analysis import BreakdownAnalysis

    table = BreakdownAnalysis.get_temporal_breakdown(hta_trace(material.frames), visualize=False)
    figures = []
    for row in table.to_dict("records"):
        numbers = material.own[int(row["rank"])]
        of = f"rank {int(row['rank'])}"
        figures += [
            Figure(f"{of}: idle", "ns", row["idle_time(us)"], numbers.span_ns - numbers.busy_ns),
            Figure(f"{of}: compute", "ns", row["compute_time(us)"], numbers.compute_ns),
            Figure(
                f"{of}: other than compute", "ns",
                row["non_compute_time(us)"], numbers.busy_ns - numbers.compute_ns,
            ),
        ]  # fmt: skip
    return figures


def idle_time(material: Material) -> list[Figure]:
    """Gaps on each stream, by whether the host or the device was late."""
    from hta.analyzers.breakdown_analysis import BreakdownAnalysis

    trace, figures = hta_trace(material.frames), []
    for rank in material.ranks:
        table, _ = BreakdownAnalysis.get_idle_time_breakdown(
            trace, _CONSECUTIVE_NS, rank=rank, visualize=False
        )
        numbers = material.own[rank]
        for hta_stream, part in table.groupby("stream"):
            stream = 0 if hta_stream == STREAM_ZERO else int(hta_stream)
            host = part.loc[part["idle_category"] == "host_wait", "idle_time"].sum()
            of = f"rank {rank}, stream {stream}"
            figures += [
                Figure(f"{of}: gaps", "ns", part["idle_time"].sum(), numbers.gap_ns.get(stream)),
                Figure(f"{of}: host late", "ns", host, numbers.late_gap_ns.get(stream, 0)),
            ]
    return figures


def overlap(material: Material) -> list[Figure]:
    """Share of the communication that ran beside compute."""
    from hta.analyzers.communication_analysis import CommunicationAnalysis

    table = CommunicationAnalysis.get_comm_comp_overlap(hta_trace(material.frames), visualize=False)
    figures = []
    for row in table.to_dict("records"):
        numbers = material.own[int(row["rank"])]
        share = numbers.overlap_ns / numbers.communication_ns if numbers.communication_ns else None
        value = row["comp_comm_overlap_pctg"]
        hta_share = None if pd.isna(value) else value / 100
        figures.append(Figure(f"rank {int(row['rank'])}", "share", hta_share, share))
    return [figure for figure in figures if figure.hta is not None or figure.own is not None]


def kernel_breakdown(material: Material) -> list[Figure]:
    """Time of each kind of kernel, and of kinds that overlap, over all ranks."""
    from hta.analyzers.breakdown_analysis import BreakdownAnalysis

    kinds, _ = BreakdownAnalysis.get_gpu_kernel_breakdown(
        hta_trace(material.frames), visualize=False, include_memory_kernels=True
    )
    own_times: dict[str, int] = {}
    for numbers in material.own.values():
        for kind, ns in numbers.kinds_ns.items():
            own_times[kind] = own_times.get(kind, 0) + ns
    hta_times = dict(zip(kinds["kernel_type"], kinds["sum"], strict=True))
    return [
        Figure(kind.lower(), "ns", hta_times.get(kind, 0), own_times.get(kind, 0))
        for kind in sorted({*hta_times, *own_times}, key=lambda kind: -own_times.get(kind, 0))
    ]


def queue_length(material: Material) -> list[Figure]:
    """The most device events of a stream that were launched and had not started."""
    from hta.analyzers.trace_counters import TraceCounters

    table = TraceCounters.get_queue_length_summary(hta_trace(material.frames), material.ranks)
    if table is None:
        return []
    figures = []
    for (rank, hta_stream), row in table.iterrows():
        stream = 0 if hta_stream == STREAM_ZERO else int(hta_stream)
        longest = material.own[int(rank)].longest_queue.get(stream)
        most = row[("queue_length", "max")]
        figures.append(Figure(f"rank {rank}, stream {stream}", "count", most, longest))
    return figures


def memory_bandwidth(material: Material) -> list[Figure]:
    """The highest bandwidth of copies and memsets of one kind at one time."""
    from hta.analyzers.trace_counters import TraceCounters

    table = TraceCounters.get_memory_bw_summary(hta_trace(material.frames), material.ranks)
    if table is None:
        return []
    return [
        Figure(
            f"rank {rank}: {kind}", "GB/s",
            row[("memory_bw_gbps", "max")], material.own[int(rank)].bandwidth.get(kind),
        )
        for (rank, kind), row in table.iterrows()
    ]  # fmt: skip


def critical_path(material: Material) -> list[Figure]:
    """The longest chain of dependent work in the first step of the first rank."""
    from hta.analyzers.critical_path_analysis import CriticalPathAnalysis

    rank = material.ranks[0]
    result = CriticalPathAnalysis.critical_path_analysis(
        hta_trace(material.frames), rank, "ProfilerStep", 0
    )
    if result is None or not result[1]:
        return []
    edges = result[0].get_critical_path_breakdown()
    by = edges.groupby("bound_by")["duration"].sum().sort_values(ascending=False)
    name = f"rank {rank}, first step"
    figures = [Figure(f"{name}: {kind.replace('_', ' ')}", "ns", ns, None)
               for kind, ns in by.items() if ns]  # fmt: skip
    return [Figure(f"{name}: whole path", "ns", by.sum(), None), *figures]


def straggler(material: Material) -> list[Figure]:
    """The rank whose last long collective starts latest, in most steps."""
    from hta.analyzers.straggler_analysis import StragglerAnalysis

    if len(material.ranks) < 2:
        return []
    (late_rank, *_) = StragglerAnalysis.get_potential_stragglers(
        hta_trace(material.frames), num_candidates=1
    )
    own_straggler = material.job.straggler
    return [Figure("late rank", "rank", late_rank, own_straggler.rank if own_straggler else None)]


def trace_diff(material: Material) -> list[Figure]:
    """Kernels of one step of the first rank, against the baseline, by their names."""
    if material.baseline is None:
        return []
    from hta.trace_diff import DeviceType, LabeledTrace, TraceDiff

    sides = (material.baseline, material.frames)
    shared = set(sides[0].traces) & set(sides[1].traces)
    if not shared:
        return []
    rank = min(shared)
    steps = set(sides[0].traces[rank]["iteration"]) & set(sides[1].traces[rank]["iteration"])
    step = max(steps, default=-1)
    if step < 0:
        return []
    labelled = [
        LabeledTrace(t=hta_trace(side), label=label)
        for side, label in zip(sides, ("baseline", "candidate"), strict=True)
    ]
    table = TraceDiff.compare_traces(
        *labelled, control_rank=rank, test_rank=rank, control_iteration=int(step),
        test_iteration=int(step), device_type=DeviceType.GPU,
    )  # fmt: skip
    figures = []
    for side, label in zip(sides, ("baseline", "candidate"), strict=True):
        frame = side.traces[rank]
        events = frame[(frame["iteration"] == step) & (frame["stream"] != -1)]
        of = f"{label}, rank {rank}, step {step}"
        counts = table[f"{label}_counts"].sum()
        figures += [
            Figure(f"{of}: device events", "count", counts, len(events)),
            Figure(
                f"{of}: their time", "ns",
                table[f"{label}_total_duration"].sum(), int(events["dur"].sum()),
            ),
        ]  # fmt: skip
    gone = int(((table["baseline_counts"] > 0) & (table["candidate_counts"] == 0)).sum())
    new = int(((table["baseline_counts"] == 0) & (table["candidate_counts"] > 0)).sum())
    return [
        *figures,
        Figure("names only in the baseline", "count", gone, None),
        Figure("names only in the candidate", "count", new, None),
    ]


def cupti_counters(material: Material) -> list[Figure]:
    """Hardware counters of kernels, where the profiler was asked for them."""
    if not material.counted:
        return []
    return counter_figures(material.counter_frames, material.counted)


@dataclass(frozen=True)
class Analysis:
    """One question to HTA.

    meaning: the question and the assumptions of HTA. absent: the sentence where there is no answer.
    """

    key: str
    title: str
    call: str  # HTA's function
    meaning: str
    ask: Callable[[Material], list[Figure]]
    absent: str = "The traces hold nothing for it."


ANALYSES: tuple[Analysis, ...] = (
    Analysis(
        "temporal_breakdown", "Temporal breakdown", "get_temporal_breakdown",
        "From the first to the last device event: idle, in compute kernels, in anything else.",
        temporal_breakdown,
    ),
    Analysis(
        "overlap", "Communication beside compute", "get_comm_comp_overlap",
        "Share of the communication during which a compute kernel ran too.", overlap,
    ),
    Analysis(
        "kernel_breakdown", "Kernel breakdown", "get_gpu_kernel_breakdown",
        "Time with kernels of one kind alone, and of kinds together; the ranks added up.",
        kernel_breakdown,
    ),
    Analysis(
        "idle_time", "Idle time of streams", "get_idle_time_breakdown",
        "Gaps between neighbours on each stream, and those in which the launch came late.",
        idle_time,
    ),
    Analysis(
        "queue_length", "Longest queue", "get_queue_length_summary",
        "Most device events of a stream that were launched and had not started.", queue_length,
    ),
    Analysis(
        "memory_bandwidth", "Bandwidth of copies", "get_memory_bw_summary",
        "Highest bandwidth of all copies of one kind at one time.", memory_bandwidth,
    ),
    Analysis(
        "critical_path", "Critical path", "critical_path_analysis",
        "The longest chain of dependent work in the first step of the first rank. It is as good "
        "as the trace's links: waiting between streams is known to HTA only where the profiler "
        "recorded synchronisations.",
        critical_path,
    ),
    Analysis(
        "straggler", "Straggler", "get_potential_stragglers",
        "HTA names the rank whose last long collective (1 % of a step or more, of the stream and "
        "kernel that differ most) starts latest in most steps. It always names one, and takes for "
        "granted that the clocks of all ranks agree and that the collective ends everywhere at "
        "once; where a late rank's own collective is below 1 % (it waits for nobody), HTA has none "
        "to hold against the others and fails. Ours compares durations of all collectives, needs "
        "no common clock, and names none where ranks are even.",
        straggler,
    ),
    Analysis(
        "trace_diff", "Trace diff", "TraceDiff.compare_traces",
        "Device events of one step of the first rank, by name, against the baseline.", trace_diff,
    ),
    Analysis(
        "cupti_counters", "CUPTI counters", "get_cupti_counter_data_with_operators",
        "Hardware counters of each kernel (events of the category cuda_profiler_range), with the "
        "operator that launched it.",
        cupti_counters,
        "torch.profiler records them only where it is asked for metrics (profiler_metrics of its "
        "_ExperimentalConfig), and then no times of kernels; these traces hold none.",
    ),
)  # fmt: skip


def own_figures(key: str, material: Material) -> list[Figure]:
    """Our own figures of an analysis for which HTA gives no answer."""
    own = material.own
    if key == "cupti_counters":
        return own_counter_figures(material.counted)
    if key == "straggler" and material.job.straggler is not None:
        return [Figure("late rank", "rank", None, material.job.straggler.rank)]
    figures: list[Figure] = []
    for rank, numbers in own.items():
        of = f"rank {rank}"
        if key == "temporal_breakdown":
            figures += [
                Figure(f"{of}: idle", "ns", None, numbers.span_ns - numbers.busy_ns),
                Figure(f"{of}: compute", "ns", None, numbers.compute_ns),
                Figure(
                    f"{of}: other than compute", "ns", None, numbers.busy_ns - numbers.compute_ns
                ),
            ]
        elif key == "overlap" and numbers.communication_ns:
            share = numbers.overlap_ns / numbers.communication_ns
            figures.append(Figure(of, "share", None, share))
        elif key == "kernel_breakdown":
            figures += [Figure(f"{of}: {k.lower()}", "ns", None, v)
                      for k, v in numbers.kinds_ns.items()]  # fmt: skip
        elif key == "idle_time":
            figures += [Figure(f"{of}, stream {s}: gaps", "ns", None, v)
                      for s, v in numbers.gap_ns.items()]  # fmt: skip
        elif key == "queue_length":
            figures += [Figure(f"{of}, stream {s}", "count", None, v)
                      for s, v in numbers.longest_queue.items()]  # fmt: skip
        elif key == "memory_bandwidth":
            figures += [Figure(f"{of}: {k}", "GB/s", None, v)
                      for k, v in numbers.bandwidth.items()]  # fmt: skip
    return figures

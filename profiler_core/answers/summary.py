"""One run or trace in numbers: totals over its window."""

from collections.abc import Mapping
from typing import Annotated

from profiler_core.analysis.compilation.by_script import ScriptCompilation
from profiler_core.analysis.device import Device
from profiler_core.analysis.gpu_time import GpuTime
from profiler_core.analysis.graph_replays.join import ReplayJoin
from profiler_core.analysis.graph_replays.phases import ServerPhase
from profiler_core.analysis.kernels import CategoryTotal, KernelTotal
from profiler_core.analysis.launches import Launches
from profiler_core.analysis.memory.peak import PeakMemory
from profiler_core.analysis.step_division import DividedStep, divided_steps
from profiler_core.analysis.step_time import step_time_ns
from profiler_core.analysis.steps import Step
from profiler_core.analysis.telemetry.run import RunTelemetry
from profiler_core.answers.explanation import FindingAnswer, finding_answer
from profiler_core.answers.record import COMPILED_BY_SCRIPT, Answer, means
from profiler_core.session.run import Run


class RunFacts(Answer, frozen=True):
    """What run.json says of a run first."""

    name: str
    workload: str
    variant: str
    status: str
    error: str | None


class WindowAnswer(Answer, frozen=True):
    """What the totals are over."""

    start_ns: int
    end_ns: int
    annotated: bool
    n_left_over: int
    n_launched_after: int


class SummaryNumbers(Answer, frozen=True):
    """The totals over the window, and what they mean."""

    run: Annotated[RunFacts, means("{keys} of run.json; empty for a single trace")]
    compiled_by_script: Annotated[ScriptCompilation | None, COMPILED_BY_SCRIPT]
    source: Annotated[str, means("name of the trace file")]
    recorded_by: Annotated[str, means("`torch.profiler` or `Nsight Systems`")]
    device_kind: Annotated[str, means("`gpu`, or `cpu` for a trace without device events")]
    n_events: Annotated[int, means("events in the file", "count")]
    n_skipped: Annotated[int, means("events that could not be used", "count")]
    step_time_ns: Annotated[
        float | None,
        means("of the step as it was timed without the profiler; null where it was not", "ns"),
    ]
    divided_step: Annotated[
        DividedStep | None,
        means(
            "*GPU busy* and idle as pages, `summary` and `compare` show them, of one step: {keys}; "
            "busy_ns + waiting_ns + idle_ns = step_ns, of a job that waits beyond_ns more; null "
            "for a cut trace",
            clock="`unprofiled`: of the timed step; `profiled`: of the profiled one, or of all of "
            "a trace without steps",
            busy_ns="at most step_ns",
            waiting_ns="for the late rank of a job, which works more",
            beyond_ns="by what the device is busy for longer in the trace than the timed step "
            "takes",
            idle_by_cause_ns="of the timed step by what remains of the profiled causes; "
            "`between_kernels` with the device's own pause for each gap that ended with a late "
            "launch; sums to idle_ns; null where the trace tells none",
        ),
    ]
    window: Annotated[WindowAnswer, means("{keys}")]
    window_ns: Annotated[int, means("length of the window", "ns")]
    busy_ns: Annotated[int, means("union of the device's intervals; of the busiest device", "ns")]
    late_work_ns: Annotated[
        float,
        means(
            "of busy_ns, what the late rank of a job works more than the others, which wait "
            "meanwhile: *GPU busy* of the pages leaves it out; 0 where none is late",
            "ns",
        ),
    ]
    idle_ns: Annotated[
        int | None,
        means(
            "window_ns − busy_ns; null for a cut trace, of which what is missing would count", "ns"
        ),
    ]
    compute_ns: Annotated[int, means("union of the kernels that are no communication", "ns")]
    exposed_communication_ns: Annotated[int, means("communication that no compute covers", "ns")]
    exposed_copy_ns: Annotated[
        int, means("memcpy and memset that neither compute nor communication covers", "ns")
    ]
    n_kernels: Annotated[int, means("kernels alone", "count")]
    n_memcpy: Annotated[int | None, means("copies; null on a CPU", "count")]
    n_memset: Annotated[int | None, means("memsets; null on a CPU", "count")]
    n_launches: Annotated[
        int | None,
        means(
            "calls that started at least one device event; null on a CPU or without calls in the "
            "trace",
            "count",
        ),
    ]
    n_graph_launches: Annotated[int | None, means("those of them that launched a graph", "count")]
    kernel_time_ns: Annotated[int, means("sum of kernel durations", "ns")]
    device_time_ns: Annotated[int, means("sum of durations of kernels, copies and memsets", "ns")]
    by_category: Annotated[
        Mapping[str, CategoryTotal], means("category → {keys}; only categories that occur")
    ]
    idle_by_cause_ns: Annotated[
        Mapping[str, int] | None,
        means(
            "cause → time; sums to idle_ns; null where that is, on a CPU, and without calls in the "
            "trace",
            "ns",
        ),
    ]
    launch: Annotated[Launches | None, means("{keys}")]
    replays: Annotated[
        ReplayJoin | None,
        means(
            "kernels that CUDA graphs replay, over the whole trace, and how many have their "
            "operator from the capture of their graph: {keys}; null where none is replayed",
            missing_ns="reason → time",
        ),
    ]
    memory: Annotated[
        PeakMemory,
        means(
            "{keys}",
            "bytes",
            source="`measured`, `trace`, or `profiled`: by the allocator over the profiled steps",
            is_least="they are of what is left of a cut trace, and the run's own at least these",
        ),
    ]
    notes: Annotated[tuple[str, ...], means("one sentence for each thing that limits the numbers")]


class SummaryAnswer(SummaryNumbers, frozen=True):
    """`summary`."""

    steps: Annotated[
        tuple[Step, ...],
        means(
            "{keys}",
            dur_ns="as cut by the device's work",
            host_dur_ns="with `host_ts_ns` the annotation itself",
        ),
    ]
    kernels: Annotated[tuple[KernelTotal, ...], means("{keys}; longest first")]
    device: Annotated[Device, means("{keys}")]
    devices: Annotated[
        tuple[GpuTime, ...], means("one entry for each device, the busiest first: {keys}")
    ]
    findings: Annotated[
        tuple[FindingAnswer, ...] | None,
        means(
            "what stands out in this run alone, most important first, as in "
            "[compare](#compare); null where it cannot be computed, and `notes` say why"
        ),
    ]
    server: Annotated[
        tuple[ServerPhase, ...],
        means(
            "steps of an inference server by phase and batch size, per step: {keys}; empty for a "
            "trace of no server",
            step_ns="median, until the next one begins",
            batch="the size that a replayed graph is padded to: tokens, of SGLang's and ATOM's "
            "decoding requests",
            by_kind_ns="kernel_ns by `products`, `moe`, `attention`, `communication`, `sampling`, "
            "`rest`",
            gaps_ns="between the first and the last kernel of a step: none of its kernels runs",
            before_ns="the device finishes a step that began before the trace",
            started_as="`replayed`: each step is one graph; `piecewise`: several; `eager`: none; "
            "`differs`: not all steps alike",
            n_graph_launches="1: the step is one graph; more: piecewise; 0: eager",
            n_launched="kernels and copies that the host launches one by one",
            between_ns="median of the host's time from the end of a step to the begin of the next; "
            "null where none follows at once",
            n_tokens="that requests asked for",
            padding="share of the batch that nobody asked for",
        ),
    ]
    telemetry: Annotated[
        RunTelemetry | None,
        means(
            "what was sampled of GPU and process, as in [telemetry](#telemetry); null where "
            "nothing was"
        ),
    ]


def summary_answer(opened: Run) -> SummaryAnswer:
    """Of one run.

    Raises:
        NothingToAnalyse: the run has no trace.
        BadInput: it cannot be read.
    """
    summary, alone = opened.required_summary(), opened.alone
    findings = alone.findings
    idle = {"idle_ns": None, "idle_by_cause_ns": None} if summary.is_cut else {}
    return SummaryAnswer.of(
        summary,
        **idle,
        run=RunFacts.of(opened.record),
        step_time_ns=step_time_ns(opened.record.measurement),
        divided_step=divided_steps([opened.side])[0],
        compiled_by_script=opened.compiled_by_script,
        window=WindowAnswer.of(summary.window),
        notes=(*summary.notes, *alone.notes),
        findings=None if findings is None else tuple(map(finding_answer, findings)),
        server=opened.server_phases,
        telemetry=opened.telemetry,
    )

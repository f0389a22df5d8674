"""run.json as records (docs/run_directory.md). Raw values only; statistics are made on reading."""

from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any, Literal

import msgspec

from profiler_core.typed import ready

Role = Literal["baseline", "candidate"]
Status = Literal["running", "finished", "failed", "cancelled", "lost"]


class Round(msgspec.Struct, frozen=True, kw_only=True):
    """One timed round of one variant: n_steps steps between two synchronisations."""

    index: int  # which turn of the interleaving
    order: int  # place within the turn
    n_steps: int
    wall_ns: int
    started_ns: int | None = None  # epoch
    cpu: int | None = None  # that the thread that launches was held to; None: to none


class Telemetry(msgspec.Struct, frozen=True, kw_only=True):
    """Steps on end: steady state of the variant alone, or the profiled pass."""

    started_ns: int  # epoch, as t_ns of the samples
    wall_ns: int
    n_steps: int


class CountersPass(msgspec.Struct, frozen=True, kw_only=True):
    """The pass under Nsight Compute; what it measured lies in counters.csv."""

    tool: str  # with its version
    n_kernels: int
    n_steps: int
    seconds: float | None = None
    problem: str | None = None  # why there are no counters, a sentence with its remedy


class Engine(msgspec.Struct, frozen=True, kw_only=True):
    """What a backend of another package did; its label is true only where its engine ran."""

    backend: str
    version: str | None = None  # of its package
    options: dict[str, str] = {}  # what it was given, as Python writes it
    n_graphs: int = 0  # that it was handed
    n_calls: int = 0  # of its engine, in the first step
    n_fell_back: int = 0  # graphs or parts that PyTorch or Inductor ran instead
    reasons: tuple[str, ...] = ()
    precision: str | None = None  # what it computed in, where it says so


class CompiledByScript(msgspec.Struct, frozen=True, kw_only=True):
    """What the script itself compiled in a variant that the capture does not compile."""

    n_frames: int  # that Dynamo had compiled by the end of the warm-up, with recompilations
    n_modules: int = 0  # compiled modules of the model, the outermost ones
    modules: tuple[str, ...] = ()  # the names of the first of them; "" is the model itself
    is_whole: bool = False  # the model, or the step, as a whole


class TracedFunction(msgspec.Struct, frozen=True, kw_only=True):
    """Dynamo's visits of one function until the end of the warm-up; "": all that are not listed."""

    function: str
    file: str
    line: int  # the first of the function
    n: int  # visits
    own_ns: int  # without the functions that it calls
    total_ns: int  # with these


class CompileDiagnosis(msgspec.Struct, frozen=True, kw_only=True):
    """Why torch.compile failed, by its own error; None: that does not say it."""

    error: str  # its class
    reason: str  # torch's words, one line
    hints: tuple[str, ...] = ()  # torch's own
    file: str | None = None  # the innermost line of the user's code
    line: int | None = None
    function: str | None = None
    code: str = ""
    remedy: str = ""
    defined_in_file: str | None = None  # of a custom operator that lacks something
    defined_in_line: int | None = None


class Compiled(msgspec.Struct, frozen=True, kw_only=True):
    """What of the model the variant compiled, as it was found there."""

    target: tuple[str, ...] = ()  # as it was asked for; empty: nobody asked
    where: str = "whole"  # "modules", "loss" (forward and loss), "step" (a callable), "as-is"
    modules: tuple[str, ...] = ()  # their paths, where `where` says so
    classes: dict[str, int] = {}  # of these modules
    optimizer: bool = False  # its step too
    # Paths of modules, one of each class that is marked as a nested compile region.
    regions: tuple[str, ...] = ()
    # What of the user's one step calls: "model", with inputs; "step", a callable that makes it
    # whole; "training_step"; of what decodes "generate", "model.generate" or "decode step".
    calls: str = "model"
    is_handed: bool = False  # the workload's function compiles by its argument `compile`

    @property
    def is_left_alone(self) -> bool:
        """Did the script alone compile, by calls that get no arguments of a variant?"""
        return self.where == "as-is" and not self.is_handed


class HostLoad(msgspec.Struct, frozen=True, kw_only=True):
    """What else ran on the host while the rounds were timed; None: not known there."""

    n_cpus: int | None = None
    others_cpus: float | None = None  # that processes of nobody here kept busy, on average
    waited_share: float | None = None  # of the time the run's threads could have run
    load_average: float | None = None  # of the last minute, when the rounds ended


class Measurement(msgspec.Struct, frozen=True, kw_only=True):
    """What the capture timed, without the profiler."""

    first_call_ns: int | None = None  # cold: compilation included
    warm_first_call_ns: int | None = None  # a new process with the compiler's cache filled
    warmup_step_ns: tuple[int, ...] = ()
    warmup_ended_by: str | None = None  # "steady" or "ceiling"
    # The history keeps them, and each list of runs reads them; a capture times for two minutes.
    rounds: Annotated[tuple[Round, ...], msgspec.Meta(max_length=10_000)] = ()
    step_event_ns: tuple[int, ...] = ()  # CUDA events (CPU: perf_counter) of single steps
    step_shapes: tuple[str, ...] | None = None
    interleaved: bool | None = None  # False: the variants did not fit on the device together
    peak_allocated_bytes: int | None = None
    peak_reserved_bytes: int | None = None
    # Of the profiled steps, by the allocator itself: what the [memory] events must show.
    profiled_peak_allocated_bytes: int | None = None
    profiled_peak_reserved_bytes: int | None = None
    pid: int | None = None
    host: str | None = None
    process_started_at: float | None = None
    child_pid: int | None = None  # who computed: its own entry in process_memory_bytes
    n_compilations_while_timed: int | None = None  # above 0: the rounds hold compile time
    host_load: HostLoad | None = None  # while the rounds were timed
    # Right after its warm-up, before another variant's process ran on the GPU.
    alone: Telemetry | None = None
    telemetry: Telemetry | None = None
    profiled: Telemetry | None = None  # all steps of the profiled pass; n_steps: the active ones
    telemetry_source: str | None = None  # "nvml" or "amdsmi"
    rank_gpus: tuple[int, ...] = ()  # of a job: the gpu_index of each rank's samples
    rank_gpu_uuids: tuple[str | None, ...] = ()  # likewise
    telemetry_missing: str | None = None  # why no GPU was sampled, a sentence
    host_missing: str | None = None  # why the process was not sampled, a sentence
    compiled_by_script: CompiledByScript | None = None  # None: nothing, or it was not looked for
    tracing: tuple[TracedFunction, ...] = ()  # by torch 2.15 on; longest first
    engine: Engine | None = None  # None: eager, TorchScript, or a backend of torch itself
    counters: CountersPass | None = None  # None: not asked for
    notes: tuple[str, ...] = ()  # what a reader has to know, sentences
    compiled: Compiled | None = None  # None: eager, TorchScript, or a run of an older capture
    mode: str | None = None  # training, inference, unknown; None: an older capture, see the spec
    tokens_per_step: int | None = None  # that a decoding step makes, over its whole batch
    batches_per_step: int = 1  # above 1: gradients are accumulated over so many
    phase_seconds: dict[str, float] = {}  # how long each phase of the capture took


class Numerics(msgspec.Struct, frozen=True, kw_only=True):
    """Correctness of the candidate: RMS errors against an eager fp64 (or fp32) reference."""

    verdict: Literal["right", "wrong", "not comparable"]
    reason: str = ""
    reference: str | None = None  # "fp64" or "fp32"
    rms_error: float | None = None
    baseline_rms_error: float | None = None
    tolerance: float | None = None
    compared: str | None = None  # "outputs", "loss and gradients", "returned tensors"
    n_ranks: int | None = None  # that were checked, each against its own reference; None: no job
    rank: int | None = None  # of these, whose errors the numbers are: the one furthest off


class SweepPlace(msgspec.Struct, frozen=True, kw_only=True):
    """Which point of a sweep a run belongs to. Whoever wrote it gave at least a name and a value.

    All points of a sweep share the id. `series` names the variant in all of its points.
    """

    name: str  # of the option: "batch-size"
    value: int | float | str
    id: str = ""
    label: str = ""  # of the option, for people: "batch size"
    index: int = 0  # in the order in which they were captured
    values: tuple[int | float | str, ...] = ()  # all that were asked for
    series: str = ""


_MOST_BYTES_OF_WORDS = 100_000  # of spec, environment and sweep: some 2 000
_Name = Annotated[str, msgspec.Meta(max_length=10_000)]


class RunRecord(msgspec.Struct, frozen=True, kw_only=True):
    """run.json. Unknown keys are ignored, so that newer writers stay readable."""

    schema_version: int = 1
    run_id: _Name = ""
    capture_id: _Name = ""
    role: Role | None = None
    baseline_run_id: _Name | None = None
    created_at: _Name | None = None
    name: _Name = ""
    workload: _Name = ""
    variant: _Name = ""
    status: Status = "finished"
    error: str | None = None
    error_kind: str | None = None  # "memory", "compile", "user", "stated", "killed"
    compile_failure: CompileDiagnosis | None = None  # of the kind "compile"
    rank: int = 0
    world_size: int = 1
    sweep: SweepPlace | None = None
    spec: dict[str, Any] = {}
    environment: dict[str, Any] = {}
    measurement: Measurement | None = None
    numerics: Numerics | None = None


def decoded_record(content: bytes) -> RunRecord:
    """run.json as anybody may have written it; lists of runs hold its names and words.

    Raises:
        msgspec.MsgspecError: it is no JSON, no record, or its words have no end.
    """
    record = msgspec.json.decode(content, type=ready(RunRecord))
    if len(content) > _MOST_BYTES_OF_WORDS:
        words = msgspec.json.decode(content, type=ready(_Words))
        n_bytes = sum(len(bytes(part)) for part in (words.spec, words.environment, words.sweep))
        if n_bytes > _MOST_BYTES_OF_WORDS:
            raise msgspec.ValidationError(
                f"its spec, environment and sweep have {n_bytes:,} bytes, "
                f"more than {_MOST_BYTES_OF_WORDS:,}"
            )
    return record


def measurement_of(recorded: Mapping[str, object]) -> Measurement | None:
    """`measurement` of run.json, while it is made too; None where it cannot be read."""
    try:
        return msgspec.convert(dict(recorded), ready(Measurement))
    except msgspec.ValidationError:
        return None


class _Words(msgspec.Struct, frozen=True):
    spec: msgspec.Raw = msgspec.Raw()
    environment: msgspec.Raw = msgspec.Raw()
    sweep: msgspec.Raw = msgspec.Raw()


class RunFiles(msgspec.Struct, frozen=True, kw_only=True):
    """A run as opened: the record, where it lies, and which files it has (None: absent).

    What is in these files, `session.run.Run` tells. A single uploaded trace has a record too, with
    only a name.
    """

    record: RunRecord
    path: Path  # the run directory, or the single file
    trace: Path | None = None
    trace_stacks: Path | None = None
    graph_captures: tuple[Path, ...] = ()  # traces of the captures of graphs that it replays
    torch_logs: tuple[Path, ...] = ()
    torch_trace: tuple[Path, ...] = ()
    nvml: Path | None = None
    host: Path | None = None  # samples of the process beside nvml
    memory_snapshot: Path | None = None
    counters: Path | None = None
    sources: Path | None = None
    stdout: Path | None = None

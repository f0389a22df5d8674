"""A baseline and its candidates, every number per step."""

from collections.abc import Mapping
from typing import Annotated, Any

from profiler_core.analysis.compare import CategoryPair, MemoryPair, TwoNumbers
from profiler_core.analysis.compilation.by_script import ScriptCompilation
from profiler_core.analysis.compilation.cost import CompileCost
from profiler_core.analysis.environment import Difference
from profiler_core.analysis.side import Side
from profiler_core.analysis.step_time import Jitter, StepTime
from profiler_core.analysis.telemetry.fairness import Fairness
from profiler_core.analysis.telemetry.run import RunTelemetry
from profiler_core.analysis.throughput import Throughput
from profiler_core.analysis.wording.telemetry import fairness_statement
from profiler_core.analysis.wording.verdict import details, statement
from profiler_core.answers.explanation import (
    BarAnswer,
    FindingAnswer,
    FusionAnswer,
    finding_answer,
    fusion_answer,
    waterfall_answer,
)
from profiler_core.answers.modules import DividedAnswer, divided_answer
from profiler_core.answers.overlap import OverlapAnswer, overlap_answer
from profiler_core.answers.record import COMPILE_FAILURE, COMPILED_BY_SCRIPT, Answer, means
from profiler_core.model.run import CompileDiagnosis, HostLoad, Numerics
from profiler_core.session.comparison import Comparison
from profiler_core.session.pair import Pair

_OF_RECORD = means("of run.json")
_COUNTS = means("pairs, per step", "count")
_TIMES = means("pairs, per profiled step", "ns")


_PATH = means("as it was opened")
_STEP_TIME = means("on its own best clock", "ns")
_CLOCK = means("`unprofiled` (rounds) or `profiled` (window of the trace over its steps)")
_JITTER = means("{keys} of single steps; null where they were not timed", "ns")
_STEPS = means("profiled steps", "count")
_TELEMETRY = means(
    "of this run: the keys of [telemetry](#telemetry); null where nothing was sampled"
)


class SideAnswer(Answer, frozen=True):
    """One run of a comparison."""

    label: Annotated[str, means("what tables call it")]
    path: Annotated[str, _PATH]
    name: Annotated[str, _OF_RECORD]
    workload: Annotated[str, _OF_RECORD]
    variant: Annotated[str, _OF_RECORD]
    status: Annotated[str, _OF_RECORD]
    error: Annotated[str | None, _OF_RECORD]
    step_time_ns: Annotated[float | None, _STEP_TIME]
    clock: Annotated[str | None, _CLOCK]
    jitter: Annotated[Jitter | None, _JITTER]
    n_steps: Annotated[int | None, _STEPS]
    environment: Annotated[Mapping[str, Any], _OF_RECORD]
    telemetry: Annotated[RunTelemetry | None, _TELEMETRY]
    compiled_by_script: Annotated[ScriptCompilation | None, COMPILED_BY_SCRIPT]
    compile_failure: Annotated[CompileDiagnosis | None, COMPILE_FAILURE]


class VerdictAnswer(Answer, frozen=True):
    """Is the candidate worth it, in words."""

    kind: Annotated[
        str,
        means(
            "`wrong_numerics`, `slower`, `no_difference`, `cannot_be_told`, `faster`, `no_verdict`"
        ),
    ]
    headline: str
    details: tuple[str, ...]


class FairnessAnswer(Answer, frozen=True):
    """Did the GPU run in the same state for both."""

    fair: Annotated[bool | None, means("null: not known")]
    sentences: tuple[str, ...]
    sm_clock_mhz: TwoNumbers
    memory_clock_mhz: TwoNumbers
    sm_clock_apart: Annotated[float | None, means("a fraction")]
    throttled: tuple[bool | None, bool | None]


class CandidateNumbers(Answer, frozen=True):
    """What most readers want of a candidate beside its baseline."""

    label: Annotated[str, means("what tables call it")]
    status: Annotated[str, _OF_RECORD]
    error: Annotated[str | None, _OF_RECORD]
    verdict: Annotated[VerdictAnswer, means("{keys}")]
    step_time: Annotated[StepTime, means("{keys}")]
    busy_host: Annotated[
        HostLoad | None,
        means("other work while the rounds were timed: {keys}; null where the host was not busy"),
    ]
    throughput: Annotated[
        tuple[Throughput | None, Throughput | None],
        means(
            "pair of {keys}; null where a side was not timed, or nobody said how many tokens a "
            "step makes or how large its batch is",
            counted="`tokens` or `samples`",
            interval="95 %: where it would lie if the run were started and timed once more",
        ),
    ]
    n_kernels: Annotated[TwoNumbers, _COUNTS]
    n_launches: Annotated[TwoNumbers, _COUNTS]
    n_graph_launches: Annotated[TwoNumbers, _COUNTS]
    kernel_time_ns: Annotated[TwoNumbers, _TIMES]
    device_time_ns: Annotated[TwoNumbers, _TIMES]
    busy_ns: Annotated[TwoNumbers, _TIMES]
    late_work_ns: Annotated[TwoNumbers, _TIMES]
    idle_ns: Annotated[TwoNumbers, _TIMES]
    by_category: Annotated[Mapping[str, CategoryPair], means("category → {keys}, pairs per step")]
    compile: Annotated[
        CompileCost,
        means(
            "{keys}",
            seconds="of `source`",
            source="`logs` or `first call`",
            warm_seconds="as `first_call_seconds`: a first call beyond a step, with a warm cache",
            autotuning_seconds="at the first calls, beyond `seconds` of the logs; paid back too",
            recording_seconds="of `autotuning_seconds`: recording CUDA graphs",
            no_break_even="why there are none: `never`, `cannot be told`, `costs no more`, "
            "`not known`; null beside steps, and where the gain is not known",
            beyond_baseline_seconds="more than compiling the baseline; null where that is not "
            "compiled",
        ),
    ]
    memory: Annotated[
        MemoryPair,
        means(
            "{keys}; the peaks are pairs",
            "bytes",
            allocated_compares="false: one side alone replays CUDA graphs, whose private pools no "
            "allocated byte shows, or one of `is_least`",
            is_least="a pair: the peaks are of what is left of a cut trace, and the run's own at "
            "least these",
        ),
    ]
    numerics: Annotated[
        Numerics | None,
        means(
            "{keys}; null where nothing was checked", verdict="`right`, `wrong`, `not comparable`"
        ),
    ]
    environment_differs: Annotated[
        tuple[Difference, ...], means("{keys} of each property that the two do not share")
    ]
    notes: Annotated[
        tuple[str, ...],
        means("one sentence for each thing that cannot be computed or limits the numbers"),
    ]


class CandidateAnswer(CandidateNumbers, frozen=True):
    """A candidate: its side, and all that is beside the baseline's."""

    path: Annotated[str, _PATH]
    name: Annotated[str, _OF_RECORD]
    workload: Annotated[str, _OF_RECORD]
    variant: Annotated[str, _OF_RECORD]
    step_time_ns: Annotated[float | None, _STEP_TIME]
    clock: Annotated[str | None, _CLOCK]
    jitter: Annotated[Jitter | None, _JITTER]
    n_steps: Annotated[int | None, _STEPS]
    environment: Annotated[Mapping[str, Any], _OF_RECORD]
    telemetry: Annotated[RunTelemetry | None, _TELEMETRY]
    compiled_by_script: Annotated[ScriptCompilation | None, COMPILED_BY_SCRIPT]
    compile_failure: Annotated[CompileDiagnosis | None, COMPILE_FAILURE]
    baseline_label: Annotated[str, means("the label of the baseline")]
    n_memcpy: Annotated[TwoNumbers, _COUNTS]
    n_memset: Annotated[TwoNumbers, _COUNTS]
    window_ns: Annotated[TwoNumbers, _TIMES]
    exposed_communication_ns: Annotated[TwoNumbers, _TIMES]
    exposed_copy_ns: Annotated[TwoNumbers, _TIMES]
    energy_per_step_j: Annotated[TwoNumbers, means("both sides, null where a side has none", "J")]
    fairness: Annotated[
        FairnessAnswer | None,
        means("did the GPU run in the same state for both: {keys}; null where no GPU was sampled"),
    ]
    workloads_differ: Annotated[
        bool,
        means(
            "other models, batches or tasks, or traces that look it: `verdict` is `no_verdict` then"
        ),
    ]
    cut_traces: Annotated[
        tuple[str, ...],
        means(
            "labels of the sides of whose trace an unknown part is missing: nothing of it is "
            "compared"
        ),
    ]
    unmarked_traces: Annotated[
        tuple[str, ...],
        means(
            "labels of the sides whose trace marks no steps where the other's does: nothing of it "
            "is compared"
        ),
    ]
    graph_captures: Annotated[
        tuple[str, ...],
        means(
            "labels of the sides whose trace recorded how CUDA graphs were captured, and no run: "
            "nothing of it is compared"
        ),
    ]
    empty_traces: Annotated[
        tuple[str, ...],
        means(
            "labels of the sides whose trace holds neither steps nor work of a device: their "
            "numbers are null"
        ),
    ]
    interleaved: Annotated[
        bool | None, means("were the two timed in turns? null where one was not timed")
    ]
    n_profiled_steps: Annotated[
        tuple[int | None, int | None],
        means("pair; null: the trace marks no steps, and numbers are of all of it", "count"),
    ]
    device_kinds: Annotated[
        tuple[str | None, str | None],
        means("pair: `gpu` or `cpu`, where the kernels of each trace ran; null without a trace"),
    ]
    n_refiled_kernels: Annotated[
        tuple[int, int],
        means(
            "of both sides: kernels replayed by CUDA graphs that are counted in the category that "
            "their operators have in the other runs",
            "count",
        ),
    ]
    waterfall: Annotated[
        tuple[BarAnswer, ...] | None,
        means(
            "from the baseline's step to the candidate's, see below; null where a run has no "
            "trace or only one ran on a GPU"
        ),
    ]
    fusion: Annotated[
        FusionAnswer | None, means("what became of each operator, see below; null as `waterfall`")
    ]
    divided: Annotated[
        DividedAnswer | None,
        means("the device time by nn.Module and by operator, see below; null as `waterfall`"),
    ]
    overlap: Annotated[
        OverlapAnswer | None,
        means("of two jobs of ranks: what became of their exchange, {keys}; null elsewhere"),
    ]
    findings: Annotated[
        tuple[FindingAnswer, ...] | None,
        means(
            "what stands out in the candidate, most important first, see below; null where it has "
            "no trace"
        ),
    ]


class ComparisonAnswer(Answer, frozen=True):
    """`compare`: the baseline, and each candidate in the order given."""

    baseline: Annotated[SideAnswer, means("the baseline's side, see below")]
    candidates: Annotated[
        tuple[CandidateAnswer, ...],
        means("one entry a candidate, in the order given: its side and the keys of the comparison"),
    ]


def comparison_answer(comparison: Comparison) -> ComparisonAnswer:
    """Every number of the runs beside each other."""
    return ComparisonAnswer(
        SideAnswer.of(**_side(comparison.numbers.baseline)),
        tuple(
            candidate_answer(pair, comparison.numbers.sides[pair.number])
            for pair in comparison.pairs
        ),
    )


def candidate_answer(pair: Pair, side: Side) -> CandidateAnswer:
    """One candidate beside its baseline."""
    explained = pair.explanation
    waterfall, ledger, findings = explained.waterfall, explained.ledger, explained.findings
    return CandidateAnswer.of(
        pair.judged,
        **{
            **_side(side),
            "label": pair.numbers.label,
            "verdict": VerdictAnswer(
                pair.verdict.kind, statement(pair.verdict).sentence, details(pair.verdict)
            ),
            "fairness": _fairness(pair.numbers.fairness),
            "notes": pair.notes,
            "waterfall": None if waterfall is None else waterfall_answer(waterfall),
            "fusion": None
            if ledger is None
            else fusion_answer(
                ledger, explained.measured, explained.not_fused, explained.job_ledger
            ),
            "divided": None if ledger is None else divided_answer(pair.divided, pair),
            "overlap": explained.overlap and overlap_answer(explained.overlap),
            "findings": None if findings is None else tuple(map(finding_answer, findings)),
        },
    )


def _fairness(judged: Fairness | None) -> FairnessAnswer | None:
    if judged is None:
        return None
    return FairnessAnswer.of(judged, sentences=(fairness_statement(judged).sentence,))


def _side(side: Side) -> dict[str, Any]:
    """The values of a SideAnswer."""
    record = side.run.record
    return {
        "label": side.label,
        "path": str(side.run.path),
        "name": record.name,
        "workload": record.workload,
        "variant": record.variant,
        "status": record.status,
        "error": record.error,
        "step_time_ns": side.step_time_ns,
        "clock": side.clock,
        "jitter": side.jitter,
        "n_steps": side.per_step.n_steps if side.per_step else None,
        "environment": record.environment,
        "telemetry": side.telemetry,
        "compiled_by_script": side.compiled_by_script,
        "compile_failure": record.compile_failure,
    }

"""A baseline and its candidates, every number per step: the keys of `compare` in docs/json.md.

The caller reads files and summarises traces; here they are only put side by side:

    baseline = make_side(run, summarise(trace, run.record.measurement))
    comparison = compare(baseline, [make_side(other_run, other_summary), …])
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass

from profiler_core.analysis.categories import CATEGORIES
from profiler_core.analysis.compilation.by_script import ScriptCompilation
from profiler_core.analysis.compilation.cost import (
    CompileCost,
    baseline_cost,
    with_break_even,
)
from profiler_core.analysis.environment import Difference, differences, is_another_workload
from profiler_core.analysis.host_load import busiest
from profiler_core.analysis.per_step import PerStep
from profiler_core.analysis.replayed import categories_of_replays, known_categories
from profiler_core.analysis.side import (
    Side,
    compared_span,
    has_whole_memory,
    is_empty,
    unmarked,
    whole_steps,
)
from profiler_core.analysis.span import PER_STEP, Span
from profiler_core.analysis.step_time import (
    StepTime,
    compare_profiled,
    compare_unprofiled,
    only_baseline,
    timed_in_turns,
)
from profiler_core.analysis.summary import Summary
from profiler_core.analysis.telemetry.fairness import Fairness, fairness
from profiler_core.analysis.throughput import Throughput
from profiler_core.analysis.verdict_kind import VerdictKind, judge
from profiler_core.model.run import HostLoad, Measurement, Numerics

TwoNumbers = tuple[float | None, float | None]  # (baseline, candidate); None: not available


@dataclass(frozen=True)
class CategoryPair:
    """One category on both sides, per step; 0 where a side has none of it."""

    n: TwoNumbers
    time_ns: TwoNumbers


@dataclass(frozen=True)
class MemoryPair:
    """Peaks of both sides in bytes. Reserved is the peak of a comparison (see PeakMemory)."""

    peak_reserved_bytes: TwoNumbers
    peak_allocated_bytes: TwoNumbers
    measured: bool | None  # False: from the traces, of which at least one has no measurement
    # False: one side alone replays CUDA graphs, whose private pools no allocated byte shows, or a
    # peak is of what is left of a cut trace.
    allocated_compares: bool = True
    is_least: tuple[bool, bool] = (False, False)  # of a cut trace: the run's own is at least that

    @property
    def reserved_compares(self) -> bool:
        """Are both reserved peaks of whole traces, or measured by the allocator?"""
        return not any(self.is_least)


@dataclass(frozen=True)
class CandidateComparison:
    """One candidate against the baseline. Pairs are (baseline, candidate), per profiled step."""

    label: str
    baseline_label: str
    status: str  # of the candidate's run: "finished", "failed" …
    error: str | None
    verdict: VerdictKind
    step_time: StepTime
    n_kernels: TwoNumbers
    n_memcpy: TwoNumbers
    n_memset: TwoNumbers
    n_launches: TwoNumbers
    n_graph_launches: TwoNumbers
    kernel_time_ns: TwoNumbers
    device_time_ns: TwoNumbers
    busy_ns: TwoNumbers
    late_work_ns: TwoNumbers  # of busy_ns: what a job's late rank works more, for which others wait
    idle_ns: TwoNumbers
    window_ns: TwoNumbers  # profiled step time
    exposed_communication_ns: TwoNumbers
    exposed_copy_ns: TwoNumbers
    by_category: Mapping[str, CategoryPair]  # those of either side, in the order of CATEGORIES
    compile: CompileCost
    memory: MemoryPair
    numerics: Numerics | None
    environment_differs: tuple[Difference, ...]
    workloads_differ: bool  # other models, batches or tasks: a ratio of their times says nothing
    unrelated: str  # why a pair that nobody names looks like two programs; "": it does not
    cut_traces: tuple[str, ...]  # labels of the sides of whose trace an unknown part is missing
    unmarked_traces: tuple[str, ...]  # labels of the sides without steps, where others have some
    unnamed_code: tuple[str, ...]  # labels of the sides whose trace lacks their compiled kernels
    graph_captures: tuple[str, ...]  # labels of the sides that recorded how graphs were captured
    empty_traces: tuple[str, ...]  # labels of the sides whose trace holds neither steps nor work
    interleaved: bool | None  # None: there is nothing that could have been
    n_profiled_steps: tuple[int | None, int | None]  # None: the trace marks none
    device_kinds: tuple[str | None, str | None]  # "gpu" or "cpu"; None: no trace
    # Replayed by CUDA graphs, and counted in the category that their operators have elsewhere.
    n_refiled_kernels: tuple[int, int]
    busy_host: HostLoad | None = None  # what was seen of other work; None: the host was not busy
    fairness: Fairness | None = None  # None: no GPU was sampled
    energy_per_step_j: TwoNumbers = (None, None)
    baseline_compiled: ScriptCompilation | None = None  # by the script, though it is called eager
    throughput: tuple[Throughput | None, Throughput | None] = (None, None)
    compiled_nothing: bool = False  # the candidate was to be compiled, and was not
    span: Span = PER_STEP  # what the pairs that come of the traces are of


@dataclass(frozen=True)
class ComparedNumbers:
    """A baseline with its candidates, in the order given."""

    baseline: Side
    candidates: tuple[CandidateComparison, ...]
    sides: tuple[Side, ...]  # the candidates' own sides, in the same order
    category_by_name: Mapping[str, str]  # of kernels that graphs replay, see `replayed.py`

    @property
    def span(self) -> Span:
        """What numbers of all traces beside each other are of: no cut trace has any here."""
        return compared_span((self.baseline, *self.sides))


def compare(
    baseline: Side,
    candidates: Sequence[Side],
    captured_beside: Iterable[Summary] = (),
    unrelated: Sequence[str] = (),
) -> ComparedNumbers:
    """Put each candidate beside the baseline.

    `captured_beside` are the runs, compared or not, of the captures of those that replay graphs:
    what is replayed is told by these, whichever candidates are chosen (`known_categories`).
    `unrelated` says of each candidate why it looks like another program, "" of one that does not;
    (): not asked, as that takes the ledgers.
    """
    baseline, *candidates = unmarked((baseline, *candidates))
    compared = (baseline, *candidates)
    by_name = known_categories(captured_beside, or_else=(side.summary for side in compared))
    why = unrelated or [""] * len(candidates)
    against = tuple(
        _against(baseline, side, by_name, each) for side, each in zip(candidates, why, strict=True)
    )
    return ComparedNumbers(baseline, against, tuple(candidates), by_name)


def _against(
    baseline: Side, candidate: Side, by_name: Mapping[str, str], unrelated: str
) -> CandidateComparison:
    interleaved = timed_in_turns(baseline.run.record, candidate.run.record)
    step_time = compared_step_time(baseline, candidate)
    record = candidate.run.record
    differs = differences(
        baseline.run.record,
        record,
        tuple(s.summary.device if s.summary else None for s in (baseline, candidate)),  # type: ignore[arg-type]
    )
    workloads_differ = is_another_workload(differs) or bool(unrelated)
    verdict = judge(step_time, record.numerics, workloads_differ=workloads_differ)
    cost = candidate.compile
    if not workloads_differ:
        of_baseline = baseline_cost(baseline.run.record, baseline.compile)
        cost = with_break_even(cost, of_baseline, verdict, step_time)
    before, after = whole_steps(baseline), whole_steps(candidate)
    categories, refiled = _categories(baseline, candidate, by_name)

    def pair(name: str) -> TwoNumbers:
        return (getattr(before, name) if before else None, getattr(after, name) if after else None)

    return CandidateComparison(
        label=candidate.label,
        baseline_label=baseline.label,
        status=record.status,
        error=record.error,
        verdict=verdict,
        step_time=step_time,
        n_kernels=pair("n_kernels"),
        n_memcpy=pair("n_memcpy"),
        n_memset=pair("n_memset"),
        n_launches=pair("n_launches"),
        n_graph_launches=pair("n_graph_launches"),
        kernel_time_ns=pair("kernel_time_ns"),
        device_time_ns=pair("device_time_ns"),
        busy_ns=pair("busy_ns"),
        late_work_ns=pair("late_work_ns"),
        idle_ns=pair("idle_ns"),
        window_ns=pair("window_ns"),
        exposed_communication_ns=pair("exposed_communication_ns"),
        exposed_copy_ns=pair("exposed_copy_ns"),
        by_category=categories,
        compile=cost,
        memory=_memory(baseline, candidate),
        numerics=record.numerics,
        environment_differs=differs,
        workloads_differ=workloads_differ,
        unrelated=unrelated,
        cut_traces=_labels(baseline, candidate, lambda summary: summary.is_cut),
        unmarked_traces=tuple(s.label for s in (baseline, candidate) if s.is_unmarked),
        unnamed_code=_labels(baseline, candidate, lambda summary: summary.has_unnamed_code),
        graph_captures=_labels(baseline, candidate, lambda summary: summary.is_graph_capture),
        empty_traces=_labels(baseline, candidate, is_empty),
        interleaved=interleaved,
        n_profiled_steps=(_n_marked(baseline, before), _n_marked(candidate, after)),
        device_kinds=_device_kinds(baseline, candidate),
        n_refiled_kernels=refiled,
        busy_host=busiest(_host_load(side) for side in (baseline, candidate)),
        fairness=fairness(
            baseline.telemetry, candidate.telemetry, (baseline.label, candidate.label)
        ),
        energy_per_step_j=(_energy(baseline), _energy(candidate)),
        baseline_compiled=None if candidate.compiled_by_script else baseline.compiled_by_script,
        throughput=(baseline.throughput, candidate.throughput),
        compiled_nothing=candidate.compiled_nothing,
        span=compared_span((baseline, candidate)),
    )


def _n_marked(side: Side, steps: PerStep | None) -> int | None:
    """The steps that its trace marks; None: it marks none, or holds no whole ones."""
    is_marked = side.summary is not None and side.summary.window.annotated
    return steps.n_steps if steps is not None and is_marked else None


def _labels(one: Side, other: Side, is_such: Callable[[Summary], bool]) -> tuple[str, ...]:
    return tuple(s.label for s in (one, other) if s.summary is not None and is_such(s.summary))


def _host_load(side: Side) -> HostLoad | None:
    measurement = side.run.record.measurement
    return measurement.host_load if measurement else None


def _energy(side: Side) -> float | None:
    return side.telemetry.energy_per_step_j if side.telemetry else None


def compared_step_time(
    baseline: Side, candidate: Side, *, repeats: Sequence[Measurement] = ()
) -> StepTime:
    """The step times of both, on the best clock that both have.

    Args:
        baseline: with or without rounds.
        candidate: the same.
        repeats: further runs of the baseline's code.
    """
    before, after = baseline.run.record.measurement, candidate.run.record.measurement
    if before is not None and after is not None:
        unprofiled = compare_unprofiled(
            before,
            after,
            interleaved=bool(timed_in_turns(baseline.run.record, candidate.run.record)),
            on_gpu=all(s.run.record.environment.get("gpu") for s in (baseline, candidate)),
            repeats=repeats,
        )
        if unprofiled is not None:
            return unprofiled
    before_step, after_step = whole_steps(baseline), whole_steps(candidate)
    if after_step is None and candidate.run.record.status == "failed":
        # Beside nothing the baseline is said on its own clock, and a profiled time is none.
        return only_baseline(before) or compare_profiled(None, None, (0, 0))
    if on_different_devices(baseline, candidate):
        # A host with and without a GPU's work: no ratio of these means anything.
        before_step = after_step = None
    return compare_profiled(
        before_step.window_ns if before_step else None,
        after_step.window_ns if after_step else None,
        (before_step.n_steps if before_step else 0, after_step.n_steps if after_step else 0),
    )


def _device_kinds(baseline: Side, candidate: Side) -> tuple[str | None, str | None]:
    baseline_kind, candidate_kind = (
        s.summary.device_kind if s.summary and not is_empty(s.summary) else None
        for s in (baseline, candidate)
    )
    return baseline_kind, candidate_kind


def on_different_devices(baseline: Side, candidate: Side) -> bool:
    """Has one trace the kernels of a GPU, and the other only operators on the host?"""
    kinds = _device_kinds(baseline, candidate)
    return None not in kinds and kinds[0] != kinds[1]


def _categories(
    baseline: Side, candidate: Side, category_by_name: Mapping[str, str]
) -> tuple[dict[str, CategoryPair], tuple[int, int]]:
    """(pairs by category, how many replayed kernels of either side were moved)."""
    totals, refiled = [], []
    for side in (baseline, candidate):
        by_category, moved = (
            categories_of_replays(side.summary, category_by_name)
            if side.summary and not is_empty(side.summary) and side.has_whole_steps
            else (None, 0)
        )
        n_steps = side.per_step.n_steps if side.per_step else 1
        totals.append((by_category, n_steps))
        refiled.append(moved)

    def pair(field: str, key: str) -> TwoNumbers:
        left, right = (
            None
            if by_category is None
            else getattr(by_category[key], field) / n
            if key in by_category
            else 0.0
            for by_category, n in totals
        )
        return left, right

    present = {key for by_category, _ in totals if by_category for key in by_category}
    return {
        key: CategoryPair(pair("n", key), pair("time_ns", key))
        for key in CATEGORIES
        if key in present
    }, (refiled[0], refiled[1])


def replays_graphs(side: Side) -> bool:
    """Does its step replay CUDA graphs, whose pools no tensor of the allocator shows?"""
    return side.summary is not None and bool(side.summary.n_graph_launches)


def _memory(baseline: Side, candidate: Side) -> MemoryPair:
    before, after = baseline.memory, candidate.memory
    sources = {before.source, after.source} - {None}
    return MemoryPair(
        (before.peak_reserved_bytes, after.peak_reserved_bytes),
        (before.peak_allocated_bytes, after.peak_allocated_bytes),
        measured=sources == {"measured"} if sources else None,
        allocated_compares=replays_graphs(baseline) == replays_graphs(candidate)
        and has_whole_memory(baseline, candidate),
        is_least=(before.is_least, after.is_least),
    )

"""Waterfall, fusion ledger and findings of a comparison.

Times of the ledger are whole ns per step. They are apportioned, so that on either side the groups'
times sum to `baseline_ns` and `candidate_ns` exactly.
"""

from collections.abc import Sequence
from typing import Annotated

import msgspec

from profiler_core.analysis.apportion import apportion
from profiler_core.analysis.counters.groups import MeasuredLedger
from profiler_core.analysis.finding_rules.facts import Finding, Page
from profiler_core.analysis.ledger.result import FusionGroup, FusionLedger
from profiler_core.analysis.ranks.job_ledger import JobLedger
from profiler_core.analysis.unfused.report import Unfused
from profiler_core.analysis.waterfall import Waterfall, open_bar
from profiler_core.analysis.what_if.change import Lever
from profiler_core.analysis.what_if.prediction import Basis
from profiler_core.analysis.wording.findings import advice_text, evidence_text
from profiler_core.answers.over_ranks import OverRanksAnswer, over_ranks_answer
from profiler_core.answers.record import Answer, means


class Place(Answer, frozen=True):
    """A line of somebody's code, its file as the compiler logged it."""

    file: str
    line: int
    function: str


class FindingHead(Answer, frozen=True):
    """One thing that stands out, in a line."""

    key: Annotated[str, means("what kind of finding; stable")]
    title: Annotated[str, means("what stands out")]
    at_stake_ns: Annotated[
        int | None,
        means("saved per step without it, as expected; null where there is no number", "ns"),
    ]
    at_most: Annotated[bool, means("`at_stake_ns` is an upper bound; `evidence` says why")]


class FindingDetails(FindingHead, frozen=True):
    """One thing that stands out, and what to try."""

    evidence: Annotated[str, means("what was measured, and what the number rests on")]
    advice: Annotated[str, means("what to try")]
    one_off_ns: Annotated[
        float | None, means("once (at least that, where `evidence` says so); null: unknown", "ns")
    ]
    locations: Annotated[
        tuple[Place, ...], means("lines of code that it names, with the whole path: {keys}")
    ]


class FindingAnswer(FindingDetails, frozen=True):
    """The same, how sure it is, and where the dashboard shows it."""

    lever: Annotated[
        Lever | None, means("what would be different (docs/what_if.md); null: no step is faster")
    ]
    basis: Annotated[
        Basis | None, means("what `at_stake_ns` rests on (docs/what_if.md); null without a number")
    ]
    low_ns: Annotated[int | None, means("saved at least, per step", "ns")]
    high_ns: Annotated[int | None, means("saved at most, per step", "ns")]
    on_top_ns: Annotated[int | None, means("added once larger ones are done; null: bounds", "ns")]
    page: Annotated[Page, means("the page that shows it")]


class BarPart(Answer, frozen=True):
    """What one group of the ledger adds to a bar of the waterfall."""

    group: Annotated[int | None, means("place in `fusion.groups`; null: work that no group has")]
    baseline_ns: int
    candidate_ns: int


class BarHead(Answer, frozen=True):
    """One row of the waterfall."""

    class_: Annotated[
        str,
        means(
            "`gemm_conv`, `attention`, `pointwise`, `optimizer`, `engine`, `other_compute`, "
            "`communication`, `copy`; `overlap` (taken back where streams overlap), `clocks`; "
            "`idle_…` with the causes above, `idle_beyond_profile` (more than the profiled steps "
            "show), or `idle` where the trace tells no causes"
        ),
    ] = msgspec.field(name="class")
    label: Annotated[str, means("in words")]
    baseline_ns: Annotated[int, means("of each side, and candidate − baseline", "ns")]
    candidate_ns: Annotated[int, means("of each side, and candidate − baseline", "ns")]
    delta_ns: Annotated[int, means("of each side, and candidate − baseline", "ns")]
    estimated: Annotated[
        bool, means("divided as in the profiled step; between kernels: late gaps at the own pause")
    ]


class BarAnswer(BarHead, frozen=True):
    """One row of the waterfall with the groups that it sums up."""

    groups: Annotated[
        tuple[BarPart, ...],
        means(
            "what the row sums up, biggest change first: {keys}; empty for idle time, overlap and "
            "without a ledger"
        ),
    ]


class GroupOperator(Answer, frozen=True):
    """An operator of a group, per step."""

    op: str
    n: float
    n_kernels: float
    n_copies: Annotated[float, means("copies and memsets")]
    time_ns: int


class GroupKernel(Answer, frozen=True):
    """A kernel of a group, per step."""

    name: str
    category: str
    n: float
    time_ns: int


class GroupAnswer(Answer, frozen=True):
    """One group of the ledger, per step."""

    kind: Annotated[str, means("`matched`, `removed`, `only in the candidate`, `unmatched`")]
    phase: str
    baseline_ops: tuple[GroupOperator, ...]
    baseline_kernels: tuple[GroupKernel, ...]
    candidate_ops: tuple[GroupOperator, ...]
    candidate_kernels: tuple[GroupKernel, ...]
    baseline_ns: int
    candidate_ns: int
    baseline_undecidable: Annotated[
        float | None,
        means("share of `baseline_ns` that another group explains equally well; null without time"),
    ]
    candidate_undecidable: float | None
    baseline_bytes: Annotated[int | None, means("read and written, null where a shape is unknown")]
    candidate_bytes: int | None
    baseline_dram_bytes: Annotated[
        int | None, means("as measured by Nsight Compute; null without counters")
    ]
    candidate_dram_bytes: int | None
    source: Annotated[tuple[str, ...], means("lines of Python")]
    module: Annotated[
        str | None,
        means(
            "the deepest nn.Module that holds the group, `(model)` for the whole; null where no "
            "file says it"
        ),
    ]
    class_steps: Annotated[
        tuple[int, int],
        means(
            "how many of `n_steps` on either side run this sequence of operators, and so have the "
            "group; its times are averages over all `n_steps`"
        ),
    ]
    notes: tuple[str, ...]
    evidence: tuple[str, ...]
    confidence: Annotated[
        str,
        means(
            "`high`, `medium`, `low`, or `undecidable`: of more than half of a side's time another "
            "group is as good an explanation"
        ),
    ]


class FusionTotals(Answer, frozen=True):
    """The ledger without its groups."""

    coverage_baseline: Annotated[float | None, means("1 − unmatched / device time")]
    coverage_candidate: Annotated[float | None, means("1 − unmatched / device time")]
    known_by: Annotated[
        str,
        means(
            "what the ledger rests on at its weakest: `logs` (of the compiler), `shapes` "
            "(what operators and kernels are handed), `names` (of kernels, and their order)"
        ),
    ]
    undecidable_baseline: Annotated[
        float | None, means("share of device time that another group explains equally well")
    ]
    undecidable_candidate: Annotated[
        float | None, means("share of device time that another group explains equally well")
    ]
    baseline_ns: Annotated[int, means("device time", "ns")]
    candidate_ns: Annotated[int, means("device time", "ns")]
    unmatched_baseline_ns: Annotated[int, means("what nobody could place", "ns")]
    unmatched_candidate_ns: Annotated[int, means("what nobody could place", "ns")]
    compiled_only_ns: Annotated[int, means("what the candidate alone does, and why is known", "ns")]
    n_steps: Annotated[tuple[int, int], means("pair: steps that were averaged", "count")]
    notes: Annotated[tuple[str, ...], means("what the files did not allow")]


class NotFusedAnswer(Answer, frozen=True):
    """Two calls of the generated code that pass an intermediate through memory, per step."""

    graph: Annotated[str, means("compile id and direction")]
    writer: Annotated[str, means("the kernel or library call that writes it")]
    reader: Annotated[str, means("the one that reads it")]
    n: Annotated[float, means("such pairs per step: equal layers are one entry", "count")]
    saved_bytes: Annotated[float, means("what one kernel would not move", "bytes")]
    at_stake_ns: Annotated[float, means("at most: what the memory needs for these bytes", "ns")]
    writer_ns: Annotated[float, means("time of the first call", "ns")]
    reader_ns: Annotated[float, means("time of the second call", "ns")]
    fits_in_cache: Annotated[
        bool | None, means("each intermediate: the bound is larger than what can be won then")
    ]
    reason: Annotated[
        str,
        means(
            "`library`, `two_libraries`, `fallback`, `template`, `reduction`, `split_reduction`, "
            "`between`, `ranges`, `order`, `mutation`, `atomics`, `communication`, `graph_break`, "
            "`unknown`, …"
        ),
    ]
    why: Annotated[str, means("in words")]
    change: Annotated[str, means("what could change it; empty where nothing is known to")]
    in_log: Annotated[bool, means("Inductor's own reason (`--logs fusion`), else the code's")]
    source: Annotated[str, means("a line of Python of the second call")]


class FusionAnswer(FusionTotals, frozen=True):
    """The ledger."""

    groups: Annotated[tuple[GroupAnswer, ...], means("in the order of the program: {keys}")]
    not_fused: Annotated[
        tuple[NotFusedAnswer, ...],
        means(
            "what the candidate passes through memory between two calls, most expensive first: "
            "{keys}; empty without structured logs, and where the device is not known"
        ),
    ] = ()
    over_ranks: Annotated[
        OverRanksAnswer | None, means("its groups on every rank of a job: {keys}; else null")
    ] = None


def finding_answer(finding: Finding) -> FindingAnswer:
    """One entry of `findings`."""
    prediction = finding.prediction
    return FindingAnswer.of(
        finding,
        at_stake_ns=None if finding.at_stake_ns is None else round(finding.at_stake_ns),
        at_most=finding.is_bound,
        lever=None if finding.change is None else finding.change.lever,
        basis=None if prediction is None else prediction.basis,
        low_ns=None if prediction is None else round(prediction.low_ns),
        high_ns=None if prediction is None else round(prediction.high_ns),
        on_top_ns=None if finding.on_top_ns is None else round(finding.on_top_ns),
        evidence=evidence_text(finding),
        advice=advice_text(finding),
        locations=tuple(map(Place.of, finding.locations)),
    )


def waterfall_answer(result: Waterfall) -> tuple[BarAnswer, ...]:
    """The rows of `waterfall`; their sides sum to the step times of `clock` exactly.

    A row of device work opens into the groups of `fusion` that it sums up.
    """
    return tuple(
        BarAnswer.of(row, class_=row.key, groups=tuple(BarPart.of(part) for part in open_bar(row)))
        for row in result.rows
    )


def not_fused_answer(pair: Unfused) -> NotFusedAnswer:
    """One entry of `not_fused`."""
    return NotFusedAnswer.of(
        pair, reason=pair.reason.key, why=pair.reason.text, change=pair.reason.change
    )


def fusion_answer(
    ledger: FusionLedger,
    measured: MeasuredLedger | None = None,
    not_fused: Sequence[Unfused] = (),
    job: JobLedger | None = None,
) -> FusionAnswer:
    """The keys of `fusion`.

    Args:
        ledger: of the pair.
        measured: what hardware counters say of its groups.
        not_fused: pairs of calls of the candidate, most expensive first.
        job: the groups on every rank; None: no job.
    """
    left, right = times = _step_times(ledger)

    def total(times: dict[int, int], kind: str) -> int:
        return sum(times[i] for i, group in enumerate(ledger.groups) if group.kind == kind)

    return FusionAnswer.of(
        ledger,
        baseline_ns=sum(left.values()),
        candidate_ns=sum(right.values()),
        unmatched_baseline_ns=total(left, "unmatched"),
        unmatched_candidate_ns=total(right, "unmatched"),
        compiled_only_ns=total(right, "only in the candidate"),
        n_steps=(ledger.n_baseline_steps, ledger.n_candidate_steps),
        groups=tuple(
            _group_answer(ledger, number, times, measured) for number in range(len(ledger.groups))
        ),
        not_fused=tuple(not_fused_answer(pair) for pair in not_fused),
        over_ranks=over_ranks_answer(job) if job is not None else None,
    )


def group_answer(ledger: FusionLedger, number: int) -> GroupAnswer:
    """One entry of `groups` of `fusion`, without the others' kernels and operators.

    Its whole ns per step are those with which all groups sum to the step's.
    """
    return _group_answer(ledger, number, _step_times(ledger), None)


def _step_times(ledger: FusionLedger) -> tuple[dict[int, int], dict[int, int]]:
    """Whole ns per step of every group in each run, which sum to the step's device time."""
    return (
        apportion({i: group.baseline_step_ns for i, group in enumerate(ledger.groups)}),
        apportion({i: group.candidate_step_ns for i, group in enumerate(ledger.groups)}),
    )


def _group_answer(
    ledger: FusionLedger,
    number: int,
    times: tuple[dict[int, int], dict[int, int]],
    measured: MeasuredLedger | None,
) -> GroupAnswer:
    group = ledger.groups[number]
    return GroupAnswer.of(
        group,
        baseline_ops=_operators(group, 0),
        baseline_kernels=_kernels(group, 0),
        candidate_ops=_operators(group, 1),
        candidate_kernels=_kernels(group, 1),
        baseline_ns=times[0][number],
        candidate_ns=times[1][number],
        baseline_undecidable=group.baseline.undecidable_share,
        candidate_undecidable=group.candidate.undecidable_share,
        baseline_bytes=_bytes(group, 0),
        candidate_bytes=_bytes(group, 1),
        baseline_dram_bytes=_dram_bytes(measured, number, 0),
        candidate_dram_bytes=_dram_bytes(measured, number, 1),
        source=tuple(f"{label}: {code}" if code else label for label, code in group.sources),
    )


def _operators(group: FusionGroup, side: int) -> tuple[GroupOperator, ...]:
    return tuple(
        GroupOperator(
            operator.op,
            group.per_step(operator.n, side),
            group.per_step(operator.n_kernels, side),
            group.per_step(operator.n_copies, side),
            round(group.per_step(operator.time_ns, side)),
        )
        for operator in (group.baseline, group.candidate)[side].operators
    )


def _kernels(group: FusionGroup, side: int) -> tuple[GroupKernel, ...]:
    return tuple(
        GroupKernel(
            kernel.name,
            kernel.category,
            group.per_step(kernel.n, side),
            round(group.per_step(kernel.time_ns, side)),
        )
        for kernel in (group.baseline, group.candidate)[side].kernels
    )


def _dram_bytes(measured: MeasuredLedger | None, group: int, side: int) -> int | None:
    counters = measured.of(group, side) if measured is not None else None
    if counters is None or counters.dram_bytes is None:
        return None
    return round(counters.dram_bytes)


def _bytes(group: FusionGroup, side: int) -> int | None:
    moved = (group.baseline, group.candidate)[side].bytes_moved
    return None if moved is None else round(group.per_step(moved, side))

"""From the baseline's step time to the candidate's, in bars that sum to the difference exactly.

A bar of device work is the sum of its events' durations, so that it opens into fusion groups;
what overlapping streams take back is a bar of its own; idle time is divided by its causes
(docs/columns.md, Waterfall and fusion). On the unprofiled clock device work and the pace from
kernel to kernel are as measured in the trace, a gap that ended with a late launch is assumed to
cost that pace too, and the rest of the idle time is shared out in the profiled proportions.

On a CPU the profiler slows the operators themselves, so that there all parts of the profiled step
are brought to the unprofiled one by one factor a side.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

from profiler_core.analysis.apportion import apportion
from profiler_core.analysis.idle import CAUSE_NAMES, CAUSES, cause_name
from profiler_core.analysis.ledger.result import FusionLedger, GroupSide
from profiler_core.analysis.ranks.host_bound import hides_who_is_late, untold_waiting
from profiler_core.analysis.ranks.job_summary import (
    BUBBLE,
    LATE_RANK,
    LATE_WORK,
    OTHER_RANKS,
    SLOWED,
    beyond_bubble,
)
from profiler_core.analysis.span import PER_STEP, Span, common_span
from profiler_core.analysis.step_time import Clock
from profiler_core.analysis.summary import Summary
from profiler_core.analysis.unprofiled_idle import (
    BEYOND_PROFILE,
    IDLE,
    OWN_PACE,
    AssumedPace,
    assumed_pace,
    unprofiled_idle,
)

# Bars of device work, in the order of the design, with their labels.
WORK_CLASSES: dict[str, str] = {
    "gemm_conv": "matrix products and convolutions",
    "attention": "attention",
    "pointwise": "pointwise, normalisation, reduction",
    "optimizer": "optimizer",
    "engine": "engine of another compiler",
    "other_compute": "other compute",
    "communication": "communication",
    "copy": "copies and memsets",
}
SLOWED_WORK = "slowed"  # of a job of ranks
OVERLAP, CLOCKS = "overlap", "clocks"
OTHER_LABELS: dict[str, str] = {
    SLOWED_WORK: "slowed by transfers beside it",
    LATE_WORK: "waiting for a late rank: its work",
    f"idle_{LATE_RANK}": "waiting for a late rank: its host",
    f"idle_{OTHER_RANKS}": "waiting for each other",
    f"idle_{BUBBLE}": "pipeline bubble",
    f"idle_{SLOWED}": "slowed by collectives that wait",
    OVERLAP: "hidden by overlap",
    CLOCKS: "beyond the unprofiled step",
    IDLE: "idle",
    **{f"idle_{cause}": f"idle: {name}" for cause, name in CAUSE_NAMES.items()},
}

_CLASS_OF: dict[str, str] = {
    "gemm": "gemm_conv",
    "conv": "gemm_conv",
    "triton_template_gemm": "gemm_conv",
    "triton_template_conv": "gemm_conv",
    "attention": "attention",
    "triton_template_attention": "attention",
    "optimizer": "optimizer",
    "communication": "communication",
    "memcpy": "copy",
    "memset": "copy",
    "engine": "engine",
    "other": "other_compute",
}


def class_of(category: str) -> str:
    """The bar of a kernel's category."""
    return _CLASS_OF.get(category, "pointwise")


@dataclass(frozen=True)
class GroupPart:
    """The part of one fusion group that lies in one bar, ns per step."""

    group: int  # place in the ledger's groups
    baseline_ns: float
    candidate_ns: float


@dataclass(frozen=True)
class BarPart:
    """What one fusion group has of a bar, whole ns per step; the parts of a bar sum to it."""

    group: int | None  # place in the ledger's groups; None: work that the ledger does not have
    baseline_ns: int
    candidate_ns: int

    @property
    def delta_ns(self) -> int:
        """Below 0: the candidate needs less."""
        return self.candidate_ns - self.baseline_ns


@dataclass(frozen=True)
class WaterfallRow:
    """One bar, whole ns per step. For device work the groups' parts sum to the bar's sides."""

    key: str
    label: str
    baseline_ns: int
    candidate_ns: int
    estimated: bool = False
    groups: tuple[GroupPart, ...] = ()  # biggest change first
    paces: tuple[AssumedPace | None, ...] = ()  # of either side, where it is assumed

    @property
    def delta_ns(self) -> int:
        """Below 0: the candidate needs less."""
        return self.candidate_ns - self.baseline_ns


@dataclass(frozen=True)
class Waterfall:
    """The rows' sides sum to the two step times exactly."""

    rows: tuple[WaterfallRow, ...]
    baseline_ns: int
    candidate_ns: int
    clock: Clock
    notes: tuple[str, ...] = ()
    span: Span = PER_STEP  # what it divides: a step, or whole traces that mark none


def waterfall(
    summaries: tuple[Summary, Summary],
    step_times_ns: tuple[float, float] | None,
    ledger: FusionLedger | None = None,
) -> Waterfall:
    """Divide two step times by what the device did.

    Args:
        summaries: of baseline and candidate.
        step_times_ns: unprofiled, of both; None: the profiled clock.
        ledger: of the same two traces; with it the bars open into its groups.
    """
    clock: Clock = "profiled" if step_times_ns is None else "unprofiled"
    totals = tuple(
        round(summary.profiled_step_ns if step_times_ns is None else step_times_ns[i])
        for i, summary in enumerate(summaries)
    )
    sides = [
        step_shares(summary, total, clock) for summary, total in zip(summaries, totals, strict=True)
    ]
    whole_ns = [apportion(side, total) for side, total in zip(sides, totals, strict=True)]
    scales = tuple(
        _scale(summary, total, clock) for summary, total in zip(summaries, totals, strict=True)
    )
    parts = _parts(ledger, scales) if ledger is not None else {}
    order = list(dict.fromkeys([*WORK_CLASSES, *_ORDER_OF_OTHERS]))
    span = PER_STEP if clock == "unprofiled" else common_span(each.span for each in summaries)
    labels = {**WORK_CLASSES, **OTHER_LABELS, **_named_late_rank(summaries)}
    labels["idle_tail"] = f"idle: {cause_name('tail', span)}"
    paces = tuple(
        own_pace(summary, side.get(OWN_PACE, 0.0), clock)
        for summary, side in zip(summaries, sides, strict=True)
    )
    rows = tuple(
        WaterfallRow(
            key=key,
            label=labels[key],
            baseline_ns=whole_ns[0].get(key, 0),
            candidate_ns=whole_ns[1].get(key, 0),
            estimated=scales != (1.0, 1.0) or _is_estimated(key, clock, paces),
            groups=tuple(parts.get(key, ())),
            paces=paces if key == OWN_PACE else (),
        )
        for key in order
        if whole_ns[0].get(key) or whole_ns[1].get(key)
    )
    notes = _notes(rows, summaries, clock, scales)
    if clock == "unprofiled" and any(map(_hides_who_is_late, summaries, totals)):
        notes = (*notes, _UNTOLD)
    return Waterfall(rows, totals[0], totals[1], clock, notes, span)


HOST_SHARES = (
    "Step times are unprofiled; the host's share of the idle time is divided in the profiled "
    "proportions (≈)."
)
ASSUMED_PACE = (
    "Between kernels, a gap that ended with a late launch in the trace is assumed to take the "
    "device's own pause, because the host may be in time without the profiler (≈)."
)
_UNTOLD = (
    "Under the profiler each rank's host needs longer than a step takes without it, so which of "
    "them is late the traces do not say: this waiting counts as idle time of the host."
)
_ORDER_OF_OTHERS = (
    SLOWED_WORK,
    OVERLAP,
    CLOCKS,
    LATE_WORK,
    *(f"idle_{cause}" for cause in (LATE_RANK, BUBBLE, OTHER_RANKS, SLOWED, *CAUSES)),
    BEYOND_PROFILE,
    IDLE,
)
# Not divided in the proportions of the profiled steps.
UNDIVIDED_IDLE = (OWN_PACE, BEYOND_PROFILE)


def _is_estimated(key: str, clock: Clock, paces: tuple[AssumedPace | None, ...]) -> bool:
    """Of idle time: is it divided in the profiled proportions, or rests on an assumed pace?"""
    if key == OWN_PACE:
        return any(paces)
    return clock == "unprofiled" and key.startswith("idle_") and key not in UNDIVIDED_IDLE


def _hides_who_is_late(summary: Summary, step_ns: int) -> bool:
    path = summary.critical
    if path is None:
        return False
    return hides_who_is_late(path, sum(untold_waiting(path, step_ns).values()))


def _named_late_rank(summaries: tuple[Summary, Summary]) -> dict[str, str]:
    """The labels of waiting with the rank's number, where it is the same on both sides."""
    late = {s.critical.late.rank for s in summaries if s.critical and s.critical.late}
    return labels_of_waiting(max(late)) if len(late) == 1 else {}


def busy_beyond_step(summaries: Sequence[Summary]) -> str:
    """Why a device is busy for more of the profiled step than the timed one takes."""
    return (
        f"{_whose_device(summaries)} was busy for longer in the trace than a whole step took "
        "unprofiled: its kernels took longer under the profiler."
    )


def _whose_device(summaries: Sequence[Summary]) -> str:
    """The device whose time a waterfall divides, as a sentence begins."""
    paths = [summary.critical for summary in summaries if summary.critical is not None]
    late = {path.late.rank for path in paths if path.late is not None}
    if len(late) == 1:
        return f"The device of rank {late.pop()}, which the others wait for,"
    return "The device of the rank that the others wait for" if paths else "The device"


def labels_of_waiting(rank: int) -> dict[str, str]:
    """What the parts are called in which the others wait for this rank."""
    keys = (LATE_WORK, f"idle_{LATE_RANK}")
    return {key: OTHER_LABELS[key].replace("a late rank", f"rank {rank}") for key in keys}


def open_bar(row: WaterfallRow) -> tuple[BarPart, ...]:
    """The fusion groups of one bar, biggest change first; they sum to both its sides exactly.

    A group whose kernels lie in several classes is in each bar with its part there. Idle time,
    overlap and what lies beyond the unprofiled step have no groups: () for these, and for every bar
    of a waterfall that was made without a ledger.
    """
    if not row.groups:
        return ()
    sides = []
    for parts, total in (
        ({part.group: part.baseline_ns for part in row.groups}, row.baseline_ns),
        ({part.group: part.candidate_ns for part in row.groups}, row.candidate_ns),
    ):
        # Rounding alone moves the sum by less than 1 a part; what is more is not the ledger's.
        owned_ns = sum(parts.values())
        foreign = abs(total - owned_ns) > len(parts)
        sides.append((apportion(parts, None if foreign else total), total))
    (left, left_total), (right, right_total) = sides
    opened = [BarPart(part.group, left[part.group], right[part.group]) for part in row.groups]
    opened.sort(key=lambda part: -abs(part.delta_ns))
    unowned = BarPart(None, left_total - sum(left.values()), right_total - sum(right.values()))
    return (*opened, unowned) if unowned.baseline_ns or unowned.candidate_ns else tuple(opened)


def step_shares(summary: Summary, total: int, clock: Clock) -> dict[str, float]:
    """Parts of one step, ns; they sum to `total` up to rounding."""
    shares = _shares(summary, total, clock)
    return shares if summary.critical is None else beyond_bubble(shares, summary.critical)


def _shares(summary: Summary, total: int, clock: Clock) -> dict[str, float]:
    """The same with all that a late rank needs more, also where a pipeline's bubble hides it."""
    n, scale = summary.n_steps, _scale(summary, total, clock)
    parts: dict[str, float] = {}
    for category, sums in summary.by_category.items():
        key = class_of(category)
        parts[key] = parts.get(key, 0.0) + scale * sums.time_ns / n
    busy = scale * summary.busy_ns / n
    if summary.critical is not None:
        parts[SLOWED_WORK] = scale * summary.critical.slowed_ns
        parts[LATE_WORK] = scale * summary.critical.late_work_ns
    parts[OVERLAP] = busy - sum(parts.values())
    idle = total - busy
    if idle < 0:  # the clock of the device drifted between the two measurements
        parts[CLOCKS] = idle
        return parts
    return {**parts, **idle_shares(summary, idle, total, clock)}


def idle_shares(summary: Summary, idle_ns: float, step_ns: float, clock: Clock) -> dict[str, float]:
    """Idle time per step as "idle_<cause>", ns; sums to `idle_ns`.

    Args:
        summary: of the trace, whose causes are divided.
        idle_ns: what work leaves of the step on this clock.
        step_ns: on this clock.
        clock: of the step.
    """
    causes = summary.idle_by_cause_ns
    if causes is None or summary.idle_ns == 0:
        return {IDLE: idle_ns}
    by_cause = {cause: summary.per_step(ns) for cause, ns in causes.items()}
    if clock == "profiled":
        return {f"idle_{cause}": ns for cause, ns in by_cause.items()}
    gaps_ns = summary.per_step(summary.n_late_gaps) * summary.own_gap_ns
    return unprofiled_idle(by_cause, idle_ns, gaps_ns, summary.critical, step_ns)


def own_pace(summary: Summary, ns: float, clock: Clock) -> AssumedPace | None:
    """What this idle time between kernels rests on; None: it is measured, or there is none.

    Args:
        summary: of the trace.
        ns: per step, of `idle_shares`.
        clock: of that.
    """
    causes = summary.idle_by_cause_ns
    if clock == "profiled" or causes is None:
        return None
    measured_ns = summary.per_step(causes.get(OWN_PACE.removeprefix("idle_"), 0))
    return assumed_pace(ns, measured_ns, summary.per_step(summary.n_late_gaps), summary.own_gap_ns)


def _scale(summary: Summary, total: int, clock: Clock) -> float:
    """What a duration of this trace is multiplied by on this clock."""
    return 1.0 if clock == "profiled" else summary.unprofiled_scale(total)


def _parts(ledger: FusionLedger, scales: tuple[float, ...]) -> dict[str, list[GroupPart]]:
    parts: dict[str, list[GroupPart]] = {}
    for number, group in enumerate(ledger.groups):
        left, right = _by_class(group.baseline), _by_class(group.candidate)
        for key in {**left, **right}:
            sides = (group.per_step(left.get(key, 0), 0), group.per_step(right.get(key, 0), 1))
            part = GroupPart(number, sides[0] * scales[0], sides[1] * scales[1])
            parts.setdefault(key, []).append(part)
    for every in parts.values():
        every.sort(key=lambda part: -abs(part.candidate_ns - part.baseline_ns))
    return parts


def _by_class(side: GroupSide) -> dict[str, int]:
    sums: dict[str, int] = {}
    for kernel in side.kernels:
        key = class_of(kernel.category)
        sums[key] = sums.get(key, 0) + kernel.time_ns
    return sums


def _notes(
    rows: tuple[WaterfallRow, ...],
    summaries: tuple[Summary, Summary],
    clock: Literal["unprofiled", "profiled"],
    scales: tuple[float, ...],
) -> tuple[str, ...]:
    present: Mapping[str, WaterfallRow] = {row.key: row for row in rows}
    notes = []
    if clock == "profiled":
        notes.append(
            "On the profiler's clock, which slows the host: idle time is larger than true."
        )
    elif scales != (1.0, 1.0):
        notes.append(
            "A CPU's operators take another time under the profiler: the bars are their times in "
            f"the trace, brought to the unprofiled step by × {scales[0]:.2f} in the baseline and "
            f"× {scales[1]:.2f} in the candidate (≈)."
        )
    else:
        if any(row.estimated and row.key != OWN_PACE for row in rows):
            notes.append(HOST_SHARES)
        if OWN_PACE in present and present[OWN_PACE].estimated:
            notes.append(ASSUMED_PACE)
    if CLOCKS in present:
        notes.append(busy_beyond_step(summaries))
    if any(len(summary.devices) > 1 for summary in summaries):
        notes.append("Busy time is that of the busiest device; the others count as overlap.")
    return tuple(notes)

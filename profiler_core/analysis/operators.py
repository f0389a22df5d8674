"""What each operator takes in both runs: the time of its kernels, by name.

The groups of the ledger say what became of which operators. One run names the rows: the baseline,
or the candidate where only the baseline has kernels that no operator launches, so that the times
are the same whichever run is the baseline. In the other run a kernel that one of these operators
launches, under its own name or another one of the same operator, is that operator's. A kernel that
does the work of several is divided among them in proportion to what each takes in the run that
names them, in whole nanoseconds by the largest remainder, so that the rows add up to the device
time of both runs' steps exactly. These are the operators that a generated kernel's name lists;
where it lists others too, or nothing, all of the group's that launch no kernel of their own there.
A bias that a kernel adds counts as its convolution's. In a run alone each has its own time.
"""

import re
from collections import defaultdict
from collections.abc import Mapping
from dataclasses import dataclass, field

from profiler_core.analysis.apportion import apportion
from profiler_core.analysis.engines import is_engine
from profiler_core.analysis.ledger.operators import KERNEL_FREE, operator, operators_of_kernel
from profiler_core.analysis.ledger.result import (
    FusionGroup,
    FusionLedger,
    GroupSide,
    OperatorTime,
)

_DISPATCHED = re.compile(r"\w+::[\w.]+")  # "aten::linear", "flash_attn::fwd.default"

# What a kernel does beside its operators: how memory lies, and in which type.
_BESIDE = KERNEL_FREE | {"clone", "cast"}


@dataclass(frozen=True)
class OperatorRow:
    """One operator, all its calls together. Totals over the profiled steps; (baseline, candidate).

    What only the other run has, beside the one that names the rows, has rows of its own, by the
    names of its kernels or operators.
    """

    op: str  # as the trace names it: "aten::layer_norm"
    n: int  # calls, of the side that names it
    named_by: int  # that side; 0 is the baseline
    n_kernels: tuple[int, int]  # those that several operators share included
    n_copies: tuple[int, int]  # copies and memsets, likewise
    time_ns: tuple[int, int]
    shared_ns: tuple[int, int]  # of it, its part of kernels that do the work of others too
    undecidable_ns: int  # of the candidate's, its part of what another group explains as well
    groups: tuple[int, ...]  # fusion groups by their places, the candidate's slowest first
    is_only_in_candidate: bool
    n_steps: tuple[int, int]

    @property
    def name(self) -> str:
        """Without its namespace, where it is torch's own."""
        return self.op.removeprefix("aten::")

    def step_ns(self, side: int) -> float:
        """Its time per step of one run, ns; 0 is the baseline's."""
        return self.per_step(self.time_ns[side], side)

    def per_step(self, total: float, side: int) -> float:
        """A total of one side over its run's steps."""
        return total / max(1, self.n_steps[side])

    @property
    def calls_per_step(self) -> float:
        """Calls per step of the side that names it."""
        return self.per_step(self.n, self.named_by)

    @property
    def delta_ns(self) -> float:
        """Change per step, ns; below 0: the candidate is faster here."""
        return self.step_ns(1) - self.step_ns(0)


@dataclass
class _Part:
    """Of one side of groups, what is an operator's."""

    time_ns: int = 0
    n_kernels: int = 0
    n_copies: int = 0
    shared_ns: int = 0

    def add(self, other: "_Part") -> None:
        """That of another group."""
        self.time_ns += other.time_ns
        self.n_kernels += other.n_kernels
        self.n_copies += other.n_copies
        self.shared_ns += other.shared_ns


@dataclass
class _Sum:
    named_by: int
    n: int = 0
    sides: tuple[_Part, _Part] = field(default_factory=lambda: (_Part(), _Part()))
    n_before: int = 0  # device events of its groups in the baseline
    undecidable_ns: int = 0
    groups: dict[int, int] = field(default_factory=dict)  # with the candidate's time in it


def operator_rows(ledger: FusionLedger) -> tuple[OperatorRow, ...]:
    """Every operator, the most expensive of the candidate first."""
    naming = naming_side(ledger)
    sums: dict[tuple[str, bool], _Sum] = {}
    for number, group in enumerate(ledger.groups):
        if ledger.is_alone:
            _add_own(sums, number, group.candidate)
        else:
            _add(sums, number, group, naming)
    n_steps = ledger.n_baseline_steps, ledger.n_candidate_steps
    rows = [
        OperatorRow(
            op=op,
            n=total.n,
            named_by=total.named_by,
            n_kernels=(total.sides[0].n_kernels, total.sides[1].n_kernels),
            n_copies=(total.sides[0].n_copies, total.sides[1].n_copies),
            time_ns=(total.sides[0].time_ns, total.sides[1].time_ns),
            shared_ns=(total.sides[0].shared_ns, total.sides[1].shared_ns),
            undecidable_ns=total.undecidable_ns,
            groups=tuple(sorted(total.groups, key=lambda group: -total.groups[group])),
            is_only_in_candidate=total.named_by == 1 and not total.n_before,
            n_steps=n_steps,
        )
        for (op, _), total in sums.items()
    ]
    return tuple(sorted(rows, key=lambda row: (-row.step_ns(1), -row.step_ns(0), row.op)))


def naming_side(ledger: FusionLedger) -> int:
    """The side whose operators are the rows: 1 where only the baseline has kernels without one.

    A compiled baseline has kernels that no operator launches; an eager candidate has an operator
    for each, of which its trace tells the time.
    """
    without = [
        {each.op for group in ledger.groups for each in _without_operator(_sides(group)[side])}
        for side in (0, 1)
    ]
    return int(bool(without[0] - without[1]) and not without[1] - without[0])


def _without_operator(side: GroupSide) -> list[OperatorTime]:
    """Those that are kernels, launched by no operator, or calls of another compiler's engine."""
    kernels = {kernel.name for kernel in side.kernels if kernel.is_kernel}
    return [
        each
        for each in side.operators
        if is_engine(each.op) or (each.op in kernels and not _DISPATCHED.fullmatch(each.op))
    ]


def _add(sums: dict[tuple[str, bool], _Sum], number: int, group: FusionGroup, naming: int) -> None:
    sides = _sides(group)
    is_other = not sides[naming].operators
    by = 1 - naming if is_other else naming
    own = {
        each.op: _Part(each.time_ns, each.n_kernels, each.n_copies) for each in sides[by].operators
    }
    calls = {each.op: each.n for each in sides[by].operators}
    others = {} if is_other else _divided(group, by)
    for op in {**own, **others}:
        total = sums.setdefault((op, is_other), _Sum(by))
        total.n += calls.get(op, 0)
        total.n_before += group.baseline.n_events
        parts = own.get(op, _Part()), others.get(op, _Part())
        total.sides[by].add(parts[0])
        total.sides[1 - by].add(parts[1])
        candidate_ns = parts[1 - by].time_ns
        total.undecidable_ns += round(candidate_ns * (group.candidate.undecidable_share or 0))
        total.groups[number] = candidate_ns


def _add_own(sums: dict[tuple[str, bool], _Sum], number: int, side: GroupSide) -> None:
    """Of a run alone nothing is divided: each operator or kernel has its own time."""
    for each in side.operators:
        total = sums.setdefault((each.op, False), _Sum(0))
        total.n += each.n
        total.n_before += side.n_events
        for part in total.sides:
            part.add(_Part(each.time_ns, each.n_kernels, each.n_copies))
        total.groups[number] = total.groups.get(number, 0) + each.time_ns


def _divided(group: FusionGroup, by: int) -> dict[str, _Part]:
    """The kernels of a group's other side by operator; the parts' times sum to that side's."""
    weights = _weights(group, by)
    parts: defaultdict[str, _Part] = defaultdict(_Part)
    times: defaultdict[tuple[str, ...], int] = defaultdict(int)  # of kernels, by whose they are
    ops_of = worked_for(group, by)
    for each in _sides(group)[1 - by].operators:
        ops = ops_of[each.op]
        times[ops] += each.time_ns
        for op in ops:
            parts[op].n_kernels += each.n_kernels
            parts[op].n_copies += each.n_copies
    for ops, time_ns in times.items():
        whole = sum(weights[op] for op in ops)
        share_of = {op: weights[op] / whole if whole else 1 / len(ops) for op in ops}
        shares = apportion({op: time_ns * share for op, share in share_of.items()}, time_ns)
        for op, part_ns in shares.items():
            parts[op].time_ns += part_ns
            parts[op].shared_ns += part_ns if len(ops) > 1 else 0
    return dict(parts)


def worked_for(group: FusionGroup, by: int) -> dict[str, tuple[str, ...]]:
    """For which operators each call and kernel of a group's other side works.

    Args:
        group: with operators of the side that names them.
        by: that side; 0 is the baseline's.
    """
    named, side = _weights(group, by), _sides(group)[1 - by]
    kernels = {each.op for each in _without_operator(side)}
    own = {each.op: _called(each.op, named) for each in side.operators if each.op not in kernels}
    with_own = {op for ops in own.values() for op in ops}
    return {
        each.op: own.get(each.op) or _computed(each.op, named, with_own) for each in side.operators
    }


def _weights(group: FusionGroup, by: int) -> dict[str, int]:
    """What each operator takes on the side that names it, ns; its calls, where none takes time."""
    operators = _sides(group)[by].operators
    weights = {each.op: each.time_ns for each in operators}
    if not any(weights.values()):
        return {each.op: each.n for each in operators}
    for added in group.adds if by == 0 else ():
        weights[added.op] = weights.get(added.op, 0) + added.baseline_ns
    return weights


def _sides(group: FusionGroup) -> tuple[GroupSide, GroupSide]:
    return group.baseline, group.candidate


def _called(op: str, named: Mapping[str, float]) -> tuple[str, ...]:
    """The named operators that a call is one of: its own name, or others of the same operator."""
    if op in named:
        return (op,)
    return tuple(each for each in named if operator(each) == operator(op))


def _gradients(name: str) -> set[str]:
    """What the gradient of an operator may be called."""
    return {f"{prefix}{name}_backward" for prefix in ("", "native_", "cudnn_")}


def _computed(op: str, named: Mapping[str, float], with_own: set[str]) -> tuple[str, ...]:
    """The named operators that a kernel computes, those with kernels of their own at last."""
    if op in named:
        return (op,)
    listed = operators_of_kernel(op)
    # A gradient's kernel lists what it computes again of the forward: that is the gradient's work.
    listed -= {each for each in listed if _gradients(each) & listed}
    commons = {each: operator(each) for each in named}
    is_told = listed - _BESIDE <= set(commons.values())
    told = [each for each, common in commons.items() if is_told and common in listed]
    candidates = told or list(named)
    return tuple(each for each in candidates if each not in with_own) or tuple(candidates)

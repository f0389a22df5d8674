"""What each operator of the baseline takes in the candidate: the time of its kernels, by name.

The groups of the ledger say what became of which operators. Where one kernel replaces several, the
group's time in the candidate is divided among the operators in proportion to what each took in the
baseline, in whole nanoseconds by the largest remainder, so that the rows add up to the device time
of both runs' steps exactly. A bias that it adds counts as its convolution's. Where the candidate
runs the same operators, each has its own.
"""

from dataclasses import dataclass, field

from profiler_core.analysis.apportion import apportion
from profiler_core.analysis.ledger.result import FusionGroup, FusionLedger, GroupSide


@dataclass(frozen=True)
class OperatorRow:
    """One operator, all its calls together. Totals over the profiled steps; (baseline, candidate).

    What only the candidate runs has rows of its own, by the names of its kernels or operators.
    """

    op: str  # as the trace names it: "aten::layer_norm"
    n: int  # calls, of the side that names it
    n_kernels: tuple[int, int]  # those that several operators share included
    n_copies: tuple[int, int]  # copies and memsets, likewise
    time_ns: tuple[int, int]
    shared_ns: int  # of the candidate's, its part of groups that replace other operators too
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
        return self.per_step(self.n, int(self.is_only_in_candidate))

    @property
    def delta_ns(self) -> float:
        """Change per step, ns; below 0: the candidate is faster here."""
        return self.step_ns(1) - self.step_ns(0)


@dataclass
class _Sum:
    n: int = 0
    n_kernels: list[int] = field(default_factory=lambda: [0, 0])
    n_copies: list[int] = field(default_factory=lambda: [0, 0])
    time_ns: list[int] = field(default_factory=lambda: [0, 0])
    shared_ns: int = 0
    undecidable_ns: int = 0
    groups: dict[int, int] = field(default_factory=dict)  # with the candidate's time in it


def operator_rows(ledger: FusionLedger) -> tuple[OperatorRow, ...]:
    """Every operator, the most expensive of the candidate first."""
    sums: dict[tuple[str, bool], _Sum] = {}
    for number, group in enumerate(ledger.groups):
        _add(sums, number, group)
    n_steps = ledger.n_baseline_steps, ledger.n_candidate_steps
    rows = [
        OperatorRow(
            op=op,
            n=total.n,
            n_kernels=(total.n_kernels[0], total.n_kernels[1]),
            n_copies=(total.n_copies[0], total.n_copies[1]),
            time_ns=(total.time_ns[0], total.time_ns[1]),
            shared_ns=total.shared_ns,
            undecidable_ns=total.undecidable_ns,
            groups=tuple(sorted(total.groups, key=lambda group: -total.groups[group])),
            is_only_in_candidate=is_only,
            n_steps=n_steps,
        )
        for (op, is_only), total in sums.items()
    ]
    return tuple(sorted(rows, key=lambda row: (-row.step_ns(1), -row.step_ns(0), row.op)))


def _add(sums: dict[tuple[str, bool], _Sum], number: int, group: FusionGroup) -> None:
    is_only = not group.baseline.operators
    named = group.candidate if is_only else group.baseline
    own = {operator.op: operator.time_ns for operator in named.operators}
    for operator in named.operators:
        total = sums.setdefault((operator.op, is_only), _Sum())
        total.n += operator.n
        total.n_kernels[int(is_only)] += operator.n_kernels
        total.n_copies[int(is_only)] += operator.n_copies
    theirs = {operator.op: operator for operator in group.candidate.operators}
    has_own = not is_only and theirs.keys() == own.keys()  # both run them, with kernels of its own
    parts = {op: theirs[op].time_ns for op in own} if has_own else _parts(group, named)
    for op, part in parts.items():
        total = sums.setdefault((op, is_only), _Sum())
        total.time_ns[1] += part
        total.undecidable_ns += round(part * (group.candidate.undecidable_share or 0))
        total.groups[number] = part
        if not is_only:
            counted = theirs[op] if has_own else group.candidate
            total.time_ns[0] += own.get(op, 0)
            total.n_kernels[1] += counted.n_kernels
            total.n_copies[1] += counted.n_copies
        if len(parts) > 1 and not has_own:
            total.shared_ns += part


def _parts(group: FusionGroup, named: GroupSide) -> dict[str, int]:
    """The candidate's time of a group by operator, as much as each took on the side that has it."""
    own = {operator.op: operator.time_ns for operator in named.operators}
    calls = {operator.op: operator.n for operator in named.operators}
    weights = own if sum(own.values()) else calls
    if weights is own and named is group.baseline:
        for added in group.adds:
            weights[added.op] = weights.get(added.op, 0) + added.baseline_ns
    whole = sum(weights.values())
    candidate_ns = group.candidate.time_ns
    return apportion(
        {op: candidate_ns * weight / whole for op, weight in weights.items()}, candidate_ns
    )

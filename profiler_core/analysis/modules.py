"""Where the device time of two runs goes by nn.Module: layer by layer, and rolled up by class.

Every kernel of every profiled step is in exactly one module or divided among several, so the times
of the modules right below any other, with its own, add up to the other's, and those of the root to
the device time of the steps, to the nanosecond. A kernel that computes operators of several
modules, as a fused one does across layers, is divided in proportion to what each took in the
baseline, by the largest remainder in whole nanoseconds. Where the baseline's
modules of its group are not known, or are others, the number of operators of each decides.
"""

import re
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, field

from profiler_core.analysis.apportion import apportion
from profiler_core.analysis.ledger.merged_calls import merged_of, merged_with_holders
from profiler_core.analysis.ledger.modules import ROOT
from profiler_core.analysis.ledger.result import FusionGroup, FusionLedger, ModuleWork
from profiler_core.analysis.span import PER_STEP, Span

STEP = ""  # the root of the tree: all that the device did in the steps
OPTIMIZER, ELSEWHERE = "(optimizer)", "(in no module)"
_BESIDE = (STEP, OPTIMIZER, ELSEWHERE)  # what is no module

_NUMBER = re.compile(r"(?<=\.)\d+(?=\.|$)|^\d+(?=\.|$)")  # a layer's, in a path

# Of a run's time, the share of kernels of unknown modules beyond which the rest says too little of
# what a module takes: where CUDA graphs replay kernels, a module's time falls to 0 on paper alone.
_MOST_UNKNOWN = 0.5

Made = Mapping[int, float]  # group -> bytes that it allocates over all profiled steps


@dataclass(frozen=True)
class ModuleSide:
    """One run's part of a module, everything below it included. Totals over its profiled steps."""

    time_ns: int = 0
    shared_ns: int = 0  # of it, its part of kernels that work for modules outside of it too
    n_kernels: int = 0  # that work for it, whether for it alone or not; no copies, no memsets
    n_copies: int = 0  # copies and memsets that do
    n_shared: int = 0  # of these kernels, those that work for others too
    bytes_moved: float | None = 0.0  # read and written, at least; None: a shape is not known
    made_bytes: float | None = None  # allocated; None: no file says it


@dataclass(frozen=True)
class ModuleRow:
    """A module with everything below it, or several equal ones. Sides: (baseline, candidate)."""

    path: str  # "encoder.layer.3.output"; STEP is the root; of several what they share
    depth: int  # below the root
    sides: tuple[ModuleSide, ModuleSide]
    groups: tuple[int, ...]  # fusion groups with a kernel that works for it, by their places
    n_steps: tuple[int, int]  # profiled steps of either run
    class_name: str = ""  # "BertLayer"; "": no call and no log names it
    members: tuple[str, ...] = ()  # paths of those that are one row
    # Calls per step that fall together, so that nobody knows of how many modules; None: known.
    n_merged: int | None = None

    @property
    def name(self) -> str:
        """The last part of its path; "3" for the fourth of a list."""
        return self.path.rpartition(".")[2] or "step"

    @property
    def above(self) -> str:
        """Path of the row that it lies right below."""
        return _above(self.path)

    def step_ns(self, side: int) -> float:
        """Its time per step of one run, ns; 0 is the baseline's."""
        return self.per_step(self.sides[side].time_ns, side)

    def per_step(self, total: float, side: int) -> float:
        """A total of one side over its run's steps."""
        return total / max(1, self.n_steps[side])

    @property
    def delta_ns(self) -> float:
        """Change per step, ns; below 0: the candidate is faster here."""
        return self.step_ns(1) - self.step_ns(0)


@dataclass(frozen=True)
class ModuleTree:
    """All modules that any kernel works for, with those above them, the root first.

    Each stands above what lies in it, in the order of the program.
    """

    rows: tuple[ModuleRow, ...]
    # The same times by class; where no class is known, modules whose paths differ in the numbers of
    # layers alone. The candidate's most expensive first.
    by_class: tuple[ModuleRow, ...]
    unknown_ns: tuple[int, int]  # of kernels of which no file says a module, optimizers left out
    span: Span = PER_STEP  # what times are of, as of the ledger

    @property
    def root(self) -> ModuleRow:
        """The whole step."""
        return self.rows[0]

    @property
    def is_known(self) -> bool:
        """Does any file say a module of any kernel?"""
        return any(row.path not in _BESIDE for row in self.rows)

    @property
    def unknown_shares(self) -> tuple[float, float]:
        """Of the step's device time of either run: kernels of which no file says a module."""
        before, after = (
            ns / side.time_ns if side.time_ns else 0.0
            for ns, side in zip(self.unknown_ns, self.root.sides, strict=True)
        )
        return before, after

    @property
    def untold_side(self) -> int | None:
        """A run of whose time so much lies in unknown modules that no module's change is known."""
        return next(
            (n for n, share in enumerate(self.unknown_shares) if share > _MOST_UNKNOWN), None
        )

    def change_ns(self, row: ModuleRow) -> float | None:
        """`row.delta_ns`; None: it is a module's, and of a run the modules are unknown."""
        is_whole = row.path == STEP and not row.members
        return row.delta_ns if is_whole or self.untold_side is None else None


def pattern_of(path: str) -> str:
    """A module's path with * for the numbers of layers: "encoder.layer.*.output"."""
    return _NUMBER.sub("*", path)


def shares(work: ModuleWork, group: FusionGroup) -> dict[str, float]:
    """The share of each module in what some kernels of a group do; they sum to 1."""
    if not work.operators:
        return {OPTIMIZER if group.phase == "update" else ELSEWHERE: 1.0}
    adds = () if work in group.baseline.modules else group.adds
    if len(work.operators) == 1 and not adds:
        return {work.operators[0][0]: 1.0}
    times = _baseline_times(work, group)
    weights = times or {module: float(n) for module, n in work.operators}
    for added in adds:
        for module in added.modules:
            own = added.baseline_ns / len(added.modules) if times else 1.0
            weights[module] = weights.get(module, 0.0) + own
    total = sum(weights.values())
    return {module: weight / total for module, weight in weights.items()}


def divided(time_ns: int, share_of: Mapping[str, float]) -> dict[str, int]:
    """The time of some kernels by module, by its `shares`, ns; the parts sum to it exactly."""
    return apportion({module: time_ns * share for module, share in share_of.items()}, time_ns)


def _baseline_times(work: ModuleWork, group: FusionGroup) -> dict[str, float]:
    """What each module of a candidate's work took in the baseline of its group; {}: not known."""
    before = group.baseline.modules
    named = {module for each in group.candidate.modules for module, _ in each.operators}
    # What the baseline ran as it is there, as in a run that is faced with itself, is its own.
    if work in before or not all(each.operators for each in before):
        return {}
    times = dict.fromkeys((module for module, _ in work.operators), 0.0)
    for each in before:
        n_operators = _n_operators(each)
        for module, n in each.operators:
            if module not in named:
                return {}
            if module in times:
                times[module] += each.time_ns * n / n_operators
    return times if any(times.values()) else {}


@dataclass(frozen=True)
class ModulePart:
    """A fusion group that works for a module: of its time per step, what is the module's."""

    number: int  # its place in the ledger
    group: FusionGroup
    part_ns: tuple[float, float]  # per step, either side
    others: tuple[str, ...]  # modules outside of it that the same kernels work for

    @property
    def share(self) -> float | None:
        """The module's share of the group's time in the candidate, else in the baseline."""
        group = self.group
        for part, whole in zip(
            reversed(self.part_ns), (group.candidate_step_ns, group.baseline_step_ns), strict=True
        ):
            if whole:
                return part / whole
        return None


def parts_of(ledger: FusionLedger, row: ModuleRow) -> tuple[ModulePart, ...]:
    """The groups that work for a module, or for several that are one row: the slowest first."""
    paths = row.members or (row.path,)
    parts = []
    for number in row.groups:
        group = ledger.groups[number]
        inside_ns = [0, 0]
        others: dict[str, None] = {}
        for side, works in enumerate((group.baseline.modules, group.candidate.modules)):
            for work in works:
                times = divided(work.time_ns, shares(work, group))
                inside = {module for module in times if _is_within(module, paths)}
                inside_ns[side] += sum(times[module] for module in inside)
                if inside:
                    others.update((module, None) for module in times if module not in inside)
        per_step = tuple(group.per_step(ns, side) for side, ns in enumerate(inside_ns))
        parts.append(ModulePart(number, group, (per_step[0], per_step[1]), tuple(others)))
    return tuple(sorted(parts, key=lambda part: -max(part.part_ns)))


def _is_within(module: str, paths: Collection[str]) -> bool:
    return not set(paths).isdisjoint(_with_above(module))


def module_tree(ledger: FusionLedger, made: tuple[Made | None, Made | None]) -> ModuleTree:
    """Both runs' time, kernels, bytes and memory by module.

    Args:
        ledger: of the two runs.
        made: for either side, what each group allocates; None: no file says it.
    """
    classes = dict(ledger.module_classes)
    modules, kinds = {STEP: _Node()}, dict[str, _Node]()
    unknown = [0, 0]
    for number, group in enumerate(ledger.groups):
        for side, works in enumerate((group.baseline.modules, group.candidate.modules)):
            allocated = made[side]
            of_group = allocated.get(number, 0.0) if allocated is not None else None
            n_operators = sum(_n_operators(work) for work in works)
            for work in works:
                share_of = shares(work, group)
                parts = divided(work.time_ns, share_of)
                own = None if of_group is None else of_group * _n_operators(work) / n_operators
                paths = {module: _with_above(module) for module in parts}
                _add(modules, number, side, work, parts, share_of, own, paths)
                names = {m: [_kind(path, classes) for path in every] for m, every in paths.items()}
                _add(kinds, number, side, work, parts, share_of, own, names)
                if ELSEWHERE in parts:
                    unknown[side] += work.time_ns
    n_steps = ledger.n_baseline_steps, ledger.n_candidate_steps
    order = _preorder(modules)
    merged = merged_with_holders(order[1:], _above, dict(ledger.merged_calls), ledger.merged_parts)
    rows = tuple(
        modules[path].row(path, n_steps, classes.get(path, ""), n_merged=merged.get(path))
        for path in order
    )
    holders = {row.above for row in rows[1:]}
    of_kind: dict[str, list[str]] = {}
    for row in rows[1:]:
        of_kind.setdefault(_kind(row.path, classes), []).append(row.path)
    by_class = [
        kinds[kind].row(
            min(members, key=len) if len(members) == 1 else _shared_pattern(members),
            n_steps,
            classes.get(members[0], ""),
            members,
            merged_of(members, merged),
        )
        for kind, members in of_kind.items()
        # What only holds others, such as a list of layers, is what they are together.
        if len(members) > 1 or members[0] not in holders or members[0] in classes
    ]
    by_class.sort(key=lambda row: -max(row.step_ns(0), row.step_ns(1)))
    return ModuleTree(rows, tuple(by_class), (unknown[0], unknown[1]), ledger.span)


@dataclass
class _Sum:
    time_ns: int = 0
    shared_ns: int = 0
    n_kernels: int = 0
    n_copies: int = 0
    n_shared: int = 0
    bytes_moved: float | None = 0.0
    made_bytes: float | None = None

    def add(
        self,
        work: ModuleWork,
        parts: Mapping[str, int],
        share_of: Mapping[str, float],
        made: float | None,
        inside: set[str],
    ) -> None:
        """A work of whose modules these are inside."""
        time = sum(parts[module] for module in inside)
        self.time_ns += time
        self.n_kernels += work.n_kernels
        self.n_copies += work.n_copies
        if len(inside) < len(parts):
            self.shared_ns += time
            self.n_shared += work.n_kernels
        share = sum(share_of[module] for module in inside)
        moved = work.bytes_moved
        if moved is None or self.bytes_moved is None:
            self.bytes_moved = None
        else:
            self.bytes_moved += moved * share
        if made is not None:
            self.made_bytes = (self.made_bytes or 0.0) + made * share

    @property
    def record(self) -> ModuleSide:
        """What was added up."""
        return ModuleSide(
            self.time_ns, self.shared_ns, self.n_kernels, self.n_copies, self.n_shared,
            self.bytes_moved, self.made_bytes,
        )  # fmt: skip


@dataclass
class _Node:
    sides: tuple[_Sum, _Sum] = field(default_factory=lambda: (_Sum(), _Sum()))
    groups: dict[int, None] = field(default_factory=dict)

    def row(
        self,
        path: str,
        n_steps: tuple[int, int],
        class_name: str,
        members: Collection[str] = (),
        n_merged: int | None = None,
    ) -> ModuleRow:
        """Its record."""
        return ModuleRow(
            path, len(_with_above(path)) - 1, (self.sides[0].record, self.sides[1].record),
            tuple(self.groups), n_steps, class_name, tuple(members), n_merged,
        )  # fmt: skip


def _add(
    nodes: dict[str, _Node],
    number: int,
    side: int,
    work: ModuleWork,
    parts: Mapping[str, int],
    share_of: Mapping[str, float],
    made: float | None,
    holders_of: Mapping[str, Iterable[str]],
) -> None:
    """Add a work to whatever holds one of its modules, once."""
    inside: dict[str, set[str]] = {}
    for module, holders in holders_of.items():
        for holder in holders:
            inside.setdefault(holder, set()).add(module)
    for holder, modules in inside.items():
        node = nodes.setdefault(holder, _Node())
        node.sides[side].add(work, parts, share_of, made, modules)
        node.groups[number] = None


def _n_operators(work: ModuleWork) -> int:
    return sum(n for _, n in work.operators) or 1


def _above(path: str) -> str:
    if path in (*_BESIDE, ROOT):
        return STEP
    return path.rpartition(".")[0] or ROOT


def _with_above(path: str) -> list[str]:
    """A path and all that it lies in, the root last."""
    paths = [path]
    while paths[-1] != STEP:
        paths.append(_above(paths[-1]))
    return paths


def _preorder(nodes: Mapping[str, _Node]) -> list[str]:
    """The paths, each above what lies in it, in the order in which they came up."""
    below: dict[str, list[str]] = {}
    for path in nodes:
        if path != STEP:
            below.setdefault(_above(path), []).append(path)
    below.get(STEP, []).sort(key=(ROOT, OPTIMIZER, ELSEWHERE).index)
    ordered, waiting = [], [STEP]
    while waiting:
        path = waiting.pop()
        ordered.append(path)
        waiting.extend(reversed(below.get(path, [])))
    return ordered


def _kind(path: str, classes: Mapping[str, str]) -> str:
    return classes.get(path) or pattern_of(path)


def _shared_pattern(paths: Collection[str]) -> str:
    """Of modules of one class: their pattern, where it is one."""
    patterns = {pattern_of(path) for path in paths}
    return patterns.pop() if len(patterns) == 1 else ""

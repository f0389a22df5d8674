"""Units that belong together -> the group that pages show: times, kernels, sources, why."""

from collections import Counter, defaultdict
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt

from profiler_core.analysis.categories import is_kernel
from profiler_core.analysis.ledger.bytes_moved import bytes_by_call, counts_once
from profiler_core.analysis.ledger.bytes_of_call import Moved
from profiler_core.analysis.ledger.groups import Members
from profiler_core.analysis.ledger.looked_up import looks_up
from profiler_core.analysis.ledger.match import Match
from profiler_core.analysis.ledger.module_operators import OfModules
from profiler_core.analysis.ledger.program import Phase, Program
from profiler_core.analysis.ledger.replay_overhead import why_launched
from profiler_core.analysis.ledger.result import (
    Confidence,
    FusionGroup,
    GroupSide,
    KernelTime,
    Kind,
    LineWork,
    ModuleWork,
    OperatorTime,
)
from profiler_core.analysis.ledger.sides import ReadSide
from profiler_core.analysis.ledger.work_units import HostStep, Unit

_CONFIDENCE: dict[str, Confidence] = {
    "operator in order": "high",
    "operator and shapes": "high",
    "source line": "high",
    "exchange between ranks": "high",
    "composite": "medium",
    "optimizer step": "medium",
    "kernel name": "medium",
    "position": "low",
    "unlike equal layers": "low",
}
_RANK: dict[Confidence, int] = {"high": 0, "medium": 1, "low": 2}


@dataclass(frozen=True)
class Alike:
    """Steps of one form in a class, with what their events take together."""

    step: HostStep  # stands for them all
    first: int  # number of the first of them in the trace
    units: Sequence[Unit]  # the busy ones; of equal place they are the same work in every form
    n: int
    events: npt.NDArray[np.int64]  # (n, events of a step): rows of the work table
    place: Mapping[int, int]  # event of `step` -> its place in a step
    time_ns: Sequence[int]  # by that place

    def rows(self, events: Sequence[int]) -> npt.NDArray[np.int64]:
        """Rows of the work table in all of these steps, for events of `step`."""
        return self.events[:, [self.place[event] for event in events]]


def share(
    side: ReadSide,
    places: Sequence[tuple[int, int]],
    alike: Sequence[Alike],
    outputs: Mapping[int, tuple[tuple[int, ...], str]],
    undecided: Collection[int],
    works_for: Mapping[int, OfModules],
    sources: Mapping[int, Mapping[str, str]],
) -> GroupSide:
    """Add up some units of one side, by operator and by kernel.

    Args:
        side: what they are from.
        places: number in the class's first step, and place among its busy units, of each.
        alike: the class's steps, form by form.
        outputs: what is known of results, by number in the first step.
        undecided: units, by number in the first step, that another group explains equally well.
        works_for: the modules of a unit's operators, by number in the first step.
        sources: a unit's source lines with their code, likewise.
    """
    step = alike[0].step if alike else None
    graph_of = {e.run: e.graph for e in side.executions[step.index]} if step else {}
    traffic = _Traffic()
    operators: dict[str, list[int]] = {}
    kernels: dict[tuple[str, str], list[int]] = {}
    calls: dict[tuple[int, int], None] = {}
    works: dict[OfModules, _Work] = {}
    lines: Counter[tuple[str, ...]] = Counter()
    lines_by_op: defaultdict[str, dict[str, None]] = defaultdict(dict)
    lines_of: defaultdict[tuple[str, str], dict[str, None]] = defaultdict(dict)  # of kernels
    total = undecidable = n_events = 0
    for number, position in places:
        labels = tuple(sources.get(number, ()))
        for one_form in alike:
            unit, n = one_form.units[position], one_form.n
            time = 0
            graph = graph_of.get(unit.run) if unit.run is not None else None
            moved = traffic.add(n, bytes_by_call(unit, side.names, graph, outputs.get(number)))
            for event in unit.events:
                duration = one_form.time_ns[one_form.place[event]]
                time += duration
                named = (side.names[event], side.categories[event])
                kernel = kernels.setdefault(named, [0, 0])
                lines_of[named].update(dict.fromkeys(labels))
                kernel[0] += n
                kernel[1] += duration
            lines_by_op[unit.name].update(dict.fromkeys(labels))
            n_copies = _n_copies(side, unit.events) * n
            n_kernels = len(unit.events) * n - n_copies
            record = operators.setdefault(unit.name, [0, 0, 0, 0])
            record[0] += n
            record[1] += n_kernels
            record[2] += time
            record[3] += n_copies
            work = works.setdefault(works_for.get(number, ()), _Work())
            work.add(n_kernels, n_copies, time, moved)
            lines[labels] += time
            total += time
            undecidable += time * (number in undecided)
            n_events += len(unit.events) * n
            logged = None if graph is None else side.graph_numbers.get(id(graph))
            if unit.call is not None and logged is not None:
                calls[logged, unit.call] = None
    return GroupSide(
        operators=tuple(
            OperatorTime(op, n, n_kernels, time, n_copies, tuple(lines_by_op[op]))
            for op, (n, n_kernels, time, n_copies) in operators.items()
        ),
        kernels=tuple(
            KernelTime(*named, n, time, tuple(lines_of[named]))
            for named, (n, time) in kernels.items()
        ),
        n_events=n_events,
        time_ns=total,
        calls=tuple(calls),
        bytes_read=_total([None if record is None else record[0] for record in traffic.moved]),
        bytes_written=_total([None if record is None else record[1] for record in traffic.moved]),
        undecidable_ns=undecidable,
        lines=tuple(LineWork(labels, time) for labels, time in lines.items()),
        modules=_records(works),
        counts_once=traffic.counts_once,
        looks_up=traffic.looks_up,
        largest_bytes=traffic.largest,
        n_launching=traffic.n_launching,
    )


@dataclass(slots=True)
class _Traffic:
    """What the calls of one side move, while it is added up."""

    moved: list[Moved | None] = field(default_factory=list)  # of each unit in all of its steps
    largest: int = 0  # of one call
    n_launching: int = 0
    counts_once: bool = False
    looks_up: bool = False

    def add(self, n: int, by_call: Sequence[tuple[Unit, Moved | None]]) -> Moved | None:
        """Another unit with its calls, n times: what they move; None where one is not known."""
        known = [moved for _, moved in by_call if moved is not None]
        self.n_launching += n * len(by_call)
        self.largest = max(self.largest, *map(sum, known), 0)
        self.counts_once |= any(counts_once(call) for call, _ in by_call)
        self.looks_up |= any(looks_up(call) for call, _ in by_call)
        total = None
        if len(known) == len(by_call):
            total = n * sum(read for read, _ in known), n * sum(written for _, written in known)
        self.moved.append(total)
        return total


def _n_copies(side: ReadSide, events: Sequence[int]) -> int:
    return sum(not is_kernel(side.names[event], side.categories[event]) for event in events)


@dataclass(slots=True)
class _Work:
    """What the kernels of some modules do, while it is added up."""

    n_kernels: int = 0
    n_copies: int = 0
    time_ns: int = 0
    bytes_moved: int | None = 0

    def add(self, n_kernels: int, n_copies: int, time_ns: int, moved: Moved | None) -> None:
        """Another unit; without its bytes those of all are not known."""
        self.n_kernels += n_kernels
        self.n_copies += n_copies
        self.time_ns += time_ns
        if moved is None or self.bytes_moved is None:
            self.bytes_moved = None
        else:
            self.bytes_moved += sum(moved)


def _records(works: Mapping[OfModules, _Work]) -> tuple[ModuleWork, ...]:
    return tuple(
        ModuleWork(modules, work.n_kernels, work.time_ns, work.bytes_moved, work.n_copies)
        for modules, work in works.items()
    )


def _total(parts: Sequence[int | None]) -> int | None:
    numbers = [part for part in parts if part is not None]
    return sum(numbers) if numbers and len(numbers) == len(parts) else None


def group_record(
    members: Members,
    shares: tuple[GroupSide, GroupSide],
    match: Match,
    programs: Sequence[Program],
    number: int,
    n_steps: tuple[int, int],
    class_steps: tuple[int, int],
    module: tuple[str | None, str] = (None, ""),
) -> FusionGroup:
    """The record of one group.

    Args:
        members: its units on either side.
        shares: what these add up to.
        match: of the two programs.
        programs: of its class, either side.
        number: of its class.
        n_steps: profiled steps of either run.
        class_steps: how many of them are of its class.
        module: with a note, or with "".
    """
    kind, why = _kind(members, match, programs[0], programs[1])
    notes = [note for note in (why, module[1]) if note]
    both = ((0, members.baseline), (1, members.candidate))
    sources: dict[str, str] = {}
    n_units: Counter[str] = Counter()  # by the line that they come from
    phases: Counter[Phase] = Counter()
    for side, units in both:
        for unit in units:
            notes.extend(programs[side].notes.get(unit, ()))
            lines = match.sources[side].get(unit, {})
            sources.update(lines)
            n_units.update(lines.keys())
            phases[programs[side].phases.get(unit, "forward")] += 1
    confidence: Confidence = max(
        (_CONFIDENCE[each] for each in members.evidence), key=_RANK.__getitem__, default="high"
    )
    if any(2 * each.undecidable_ns > each.time_ns for each in shares):
        confidence = "undecidable"
    return FusionGroup(
        kind=kind,
        phase=max(phases, key=phases.__getitem__, default="forward"),
        baseline=shares[0],
        candidate=shares[1],
        sources=tuple(sorted(sources.items(), key=lambda line: (-n_units[line[0]], line))),
        module=module[0],
        notes=tuple(dict.fromkeys(notes)),
        evidence=tuple(sorted(members.evidence)),
        confidence="low" if kind == "unmatched" else confidence,
        step_class=number,
        n_steps=n_steps,
        class_steps=class_steps,
    )


def _kind(
    members: Members, match: Match, baseline: Program, candidate: Program
) -> tuple[Kind, str]:
    """How a group counts, and why where only one side is in it."""
    left, right = members.baseline, members.candidate
    if left and right:
        return "matched", why_launched(right, candidate)
    if not right:
        if match.removed.issuperset(left):
            return "removed", "no kernel of the candidate computes this any more"
        if baseline.views.issuperset(left):
            return "removed", "views: they cost the host only, and the candidate makes none"
        return "unmatched", ""
    if why := why_launched(right, candidate):
        return "only in the candidate", why
    if candidate.tangents.issuperset(right):
        return (
            "only in the candidate",
            "zeros: the gradient of an output that the loss does not use",
        )
    if all(unit in candidate.shared for unit in right):
        served = candidate.shared[right[0]]
        return "only in the candidate", f"arranges memory for several at once: {served}"
    if candidate.accumulating.issuperset(right):
        return "only in the candidate", "copies gradients into place"
    if all(unit in match.added or unit in candidate.input_copies for unit in right):
        return "only in the candidate", "the baseline launches nothing for this"
    return "unmatched", ""

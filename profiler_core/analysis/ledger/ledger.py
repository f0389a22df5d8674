"""The fusion ledger: every microsecond of the baseline matched to what replaced it.

How it works stands in docs/ledger.md.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from profiler_core.analysis.engines import engine_name, is_engine
from profiler_core.analysis.ledger.added_biases import with_biases
from profiler_core.analysis.ledger.graph_calls import Execution
from profiler_core.analysis.ledger.group_modules import (
    group_modules,
    of_lines_alone,
    without_module,
)
from profiler_core.analysis.ledger.group_records import Alike, group_record, share
from profiler_core.analysis.ledger.groups import connected, undecided
from profiler_core.analysis.ledger.host_rows import Form
from profiler_core.analysis.ledger.layers import mark_unlike, unlike_note
from profiler_core.analysis.ledger.layout import program
from profiler_core.analysis.ledger.matching import match_programs
from profiler_core.analysis.ledger.merged_calls import merged_calls, merged_note, merged_parts
from profiler_core.analysis.ledger.module_operators import operators_by_module
from profiler_core.analysis.ledger.modules import ROOT
from profiler_core.analysis.ledger.program import Program
from profiler_core.analysis.ledger.result import Basis, FusionGroup, FusionLedger, StepClass
from profiler_core.analysis.ledger.sides import LedgerSide, ReadSide, read_sides, step_classes
from profiler_core.analysis.ledger.work_units import HostStep, Unit
from profiler_core.analysis.span import Span, common_span
from profiler_core.analysis.steps import span_of
from profiler_core.analysis.wording.sentence import of_run
from profiler_core.units import format_count

__all__ = ["FusionLedger", "LedgerSide", "fusion_ledger"]


@dataclass(frozen=True, slots=True)
class _Rows:
    """What the ledger says of each device event of one side, by its row of device_work."""

    group: npt.NDArray[np.int32]
    undecided: npt.NDArray[np.bool_]
    operator: npt.NDArray[np.int32]

    @classmethod
    def of(cls, side: ReadSide) -> "_Rows":
        """Nothing is said yet."""
        none = np.full(side.n_rows, -1, dtype=np.int32)
        return cls(none, np.zeros(side.n_rows, dtype=np.bool_), none.copy())


def fusion_ledger(
    baseline: LedgerSide, candidate: LedgerSide, others: Iterable[LedgerSide] = ()
) -> FusionLedger:
    """Match any two runs: eager against compiled, compiled against compiled, eager against eager.

    Every device event of every profiled step is in exactly one group, so the groups' times sum to
    the runs' device time. Steps with one sequence of operators are added up.

    Args:
        baseline: either run.
        candidate: the other.
        others: further runs of the same program, which may show with which operators the kernels of
            a CUDA graph began. Looked at only where a replay has no log.
    """
    sides = read_sides(baseline, candidate, others)
    classes = step_classes(sides)
    groups: list[FusionGroup] = []
    rows = (_Rows.of(sides[0]), _Rows.of(sides[1]))
    operators: dict[str, int] = {}
    module_classes: dict[str, str] = {}
    for number, step_class in enumerate(classes):
        groups.extend(
            _class_groups(sides, step_class, number, rows, operators, module_classes, len(groups))
        )
    span = common_span(span_of(side.trace) for side in (baseline, candidate))
    if candidate.log is not None:
        groups = with_biases(groups, candidate.log.graphs, span)
    merged = merged_calls(sides)
    is_alone = baseline.trace is candidate.trace
    return FusionLedger(
        groups=tuple(groups),
        baseline_ns=sides[0].total_ns,
        candidate_ns=sides[1].total_ns,
        n_baseline_steps=sides[0].n_steps,
        n_candidate_steps=sides[1].n_steps,
        step_classes=tuple(classes),
        baseline_group=rows[0].group,
        candidate_group=rows[1].group,
        baseline_undecided=rows[0].undecided,
        candidate_undecided=rows[1].undecided,
        baseline_operator=rows[0].operator,
        candidate_operator=rows[1].operator,
        operators=tuple(operators),
        known_by=_known_by(sides),
        span=span,
        module_classes=tuple({**_logged_classes((baseline, candidate)), **module_classes}.items()),
        merged_calls=tuple(merged.items()),
        merged_parts=merged_parts(sides),
        is_alone=is_alone,
        notes=(
            *_notes(sides, (baseline, candidate), classes, span, is_alone=is_alone),
            *unlike_note(groups),
            *without_module(groups),
            *of_lines_alone(groups, (baseline.log, candidate.log), span),
            *merged_note(merged, span),
        ),
    )


def _logged_classes(sides: Iterable[LedgerSide]) -> dict[str, str]:
    """nn.Module -> its class, as the guards of either run's compiled frames name it."""
    return {
        path or ROOT: name
        for side in sides
        if side.log is not None
        for path, name in side.log.module_classes
    }


def _class_groups(
    sides: tuple[ReadSide, ReadSide],
    of_class: StepClass,
    step_class: int,
    rows: tuple[_Rows, _Rows],
    operators: dict[str, int],
    module_classes: dict[str, str],
    first: int,
) -> list[FusionGroup]:
    """Match the first steps of a class, and add up all its steps by the same mapping."""
    with_views = any(side.has_backward for side in sides)
    alike = (_alike(sides[0], of_class.baseline_steps), _alike(sides[1], of_class.candidate_steps))
    steps: list[HostStep] = []
    programs: list[Program] = []
    for side, same in zip(sides, alike, strict=True):
        if same:
            steps.append(same[0].step)
            programs.append(_program(side, same[0].step.index, with_views))
        else:
            nothing = np.empty(0, dtype=np.int64)
            steps.append(HostStep(-1, [], [], None, Form(nothing, nothing.reshape(1, 0))))
            programs.append(Program([], [], frozenset(), {}))
    match = match_programs(programs[0], programs[1], (steps[0], steps[1]))
    busy = [[n for n, unit in enumerate(step.units) if unit.events] for step in steps]
    positions = [{unit: k for k, unit in enumerate(numbers)} for numbers in busy]
    groups: list[FusionGroup] = []
    every_member = mark_unlike(
        connected((busy[0], busy[1]), (programs[0], programs[1]), match), programs, steps
    )
    unsure = undecided(every_member, match)
    modules = group_modules(every_member, programs, (steps[0], steps[1]), match.modules)
    works_for = operators_by_module(
        every_member, programs, (steps[0], steps[1]), match,
        [name for name, _ in modules], module_classes,
    )  # fmt: skip
    for members, module in zip(every_member, modules, strict=True):
        shares = []
        for which in (0, 1):
            numbers = members.candidate if which else members.baseline
            places = [(number, positions[which][number]) for number in numbers]
            for form in alike[which]:
                for unit_number, at in places:
                    unit = form.units[at]
                    at_rows = form.rows(unit.events)
                    rows[which].group[at_rows] = first + len(groups)
                    rows[which].undecided[at_rows] = unit_number in unsure[which]
                    rows[which].operator[at_rows] = operators.setdefault(unit.name, len(operators))
            shares.append(
                share(
                    sides[which], places, alike[which], match.outputs[which], unsure[which],
                    works_for[which], match.sources[which],
                )
            )  # fmt: skip
        groups.append(
            group_record(
                members,
                (shares[0], shares[1]),
                match,
                programs,
                step_class,
                (sides[0].n_steps, sides[1].n_steps),
                (len(of_class.baseline_steps), len(of_class.candidate_steps)),
                module,
            )
        )
    return groups


def _alike(side: ReadSide, numbers: Sequence[int]) -> list[Alike]:
    """Steps of a class, form by form, in the order in which the forms come up."""
    wanted = np.array(numbers, dtype=np.int64)
    alike = []
    for step in side.steps:
        chosen = np.flatnonzero(np.isin(step.form.steps, wanted))
        if chosen.size:
            events = step.form.events[chosen]
            times = side.durations[events].sum(axis=0, dtype=np.int64)
            alike.append(
                Alike(
                    step=step,
                    first=int(step.form.steps[chosen[0]]),
                    units=[unit for unit in step.units if unit.events],
                    n=int(chosen.size),
                    events=events,
                    place=dict(zip(step.form.events[0].tolist(), range(times.size), strict=True)),
                    time_ns=times.tolist(),
                )
            )
    return sorted(alike, key=lambda same: same.first)


def _program(side: ReadSide, index: int, with_views: bool) -> Program:
    """One step's program; a graph's names of modules go before those of Python calls."""
    laid_out = program(
        side.steps[index],
        side.executions[index],
        side.owned,
        with_views,
        side.modules,
        side.names,
    )
    laid_out.called_in = side.unit_modules[index]
    for unit, module in laid_out.called_in.items():
        laid_out.modules.setdefault(unit, [module])
    return laid_out


def _known_by(sides: tuple[ReadSide, ReadSide]) -> Basis:
    """The weakest that compiled runs rest on; "shapes" where most kernels' operators have some."""
    runs = [
        (step, execution)
        for side in sides
        for step, every in zip(side.steps, side.executions, strict=True)
        for execution in every
    ]
    unlogged = [(step, execution) for step, execution in runs if execution.graph is None]
    if runs and not unlogged:
        return "logs"
    every = [unit for side in sides for step in side.steps for unit in step.units if unit.events]
    units = [unit for run in unlogged for unit in _busy_units(*run)] or every
    with_shapes = sum(len(unit.events) for unit in units if unit.shapes)
    return "shapes" if 2 * with_shapes > sum(len(unit.events) for unit in units) else "names"


def _busy_units(step: HostStep, execution: Execution) -> list[Unit]:
    """What a compiled run launched."""
    return [unit for unit in step.units if unit.run == execution.run and unit.events]


def _notes(
    sides: tuple[ReadSide, ReadSide],
    inputs: tuple[LedgerSide, LedgerSide],
    classes: Sequence[StepClass],
    span: Span,
    *,
    is_alone: bool,
) -> tuple[str, ...]:
    notes: list[str] = []
    named = list(zip(("baseline", "candidate"), sides, inputs, strict=True))
    for label, side, given in [("run", *named[1][1:])] if is_alone else named:
        notes.extend(of_run(f"The {label}", sentence) for sentence in given.left_out)
        if given.log is not None:
            notes.extend(of_run(f"The {label}", sentence) for sentence in given.log.lost)
        without = sum(
            step.form.steps.size * sum(execution.graph is None for execution in every)
            for step, every in zip(side.steps, side.executions, strict=True)
        )
        if without:
            per_step = format_count(without / sum(step.form.steps.size for step in side.steps))
            calls, their = ("call", "its") if per_step == "1" else ("calls", "their")
            how = "known by their names" if is_alone else "matched by name and position"
            notes.append(
                f"The {label} has {per_step} compiled {calls} {span} without a graph in a "
                f"structured log: {their} kernels are {how}."
            )
    for label, side in [("run", sides[1])] if is_alone else [each[:2] for each in named]:
        engines = {unit.name for step in side.steps for unit in step.units if is_engine(unit.name)}
        notes.extend(
            f"The {label} runs in {engine_name(name)}, whose calls are opaque: which operator in "
            "them takes which time, how it was fused and the bytes it moves are not in the trace."
            for name in sorted(engines)
        )
    if len(classes) > 1:
        notes.append(
            f"The steps differ: {len(classes)} pairs of operator sequences are matched apart."
        )
    return tuple(notes)

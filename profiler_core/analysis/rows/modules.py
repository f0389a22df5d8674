"""Device time by nn.Module and by operator as rows of a table."""

from collections.abc import Sequence

from profiler_core.analysis.item import group_item, module_item, operator_item
from profiler_core.analysis.ledger.modules import ROOT
from profiler_core.analysis.modules import ModulePart, ModuleRow, ModuleTree
from profiler_core.analysis.operators import OperatorRow
from profiler_core.analysis.rows.table import Cell, Table, Tone
from profiler_core.analysis.span import Span, spanned
from profiler_core.analysis.wording.sentence import clipped
from profiler_core.units import (
    format_count,
    format_difference,
    format_duration,
    format_share,
    format_share_of,
)

_DIVIDED = (
    "The time of a kernel that works for several modules is divided among them in proportion to "
    "what each took in the baseline, or by their numbers of operators where that is not known, so "
    "the modules' times add up to the {whole}'s."
)
_DIVIDED_ALONE = (
    "The time of a kernel that works for several modules is divided among them by their numbers of "
    "operators, so the modules' times add up to the {whole}'s."
)
_OPERATORS = (
    "The time of a kernel that does the work of several operators is divided among them in "
    "proportion to what each takes in the run that names them, so the operators' times add up to "
    "the {whole}'s."
)
NO_MODULES = (
    "No file says in which nn.Module a kernel lies: record the trace with with_stack=True, or "
    "the compiled run with its structured logs (TORCH_TRACE, torch 2.5 on; "
    "fusionscope capture keeps them). Below are operators instead."
)

_LONGEST = 72  # characters of a name
_CONTAINERS = ("Sequential", "ModuleList", "ModuleDict")  # torch.nn's: they only hold layers
_MOST_OTHERS = 3
_NEWS = 0.005  # of the step: a smaller change has no colour


def how_divided(span: Span, *, of_modules: bool, is_pair: bool) -> str:
    """How the times of the rows are made; "" of a run alone's operators, which have their own.

    Args:
        span: what the times are of.
        of_modules: of modules; else of operators.
        is_pair: is there a baseline?
    """
    of_pair = _DIVIDED if of_modules else _OPERATORS
    alone = _DIVIDED_ALONE if of_modules else ""
    how = of_pair if is_pair else alone
    return how.format(whole=spanned(span))


def row_title(row: ModuleRow) -> str:
    """`encoder.layer.3`, `12 × BertLayer`, `12 × encoder.layer.*`; the whole is "step".

    `24 calls of Linear` where no file says of how many modules they are.
    """
    is_class = row.members or _is_merged_model(row)
    name = row.class_name if is_class and row.class_name else row.path or "step"
    if row.n_merged is not None:
        return f"{counted_calls(row)}{name}"
    return f"{len(row.members)} × {name}" if len(row.members) > 1 else name


def counted_calls(row: ModuleRow) -> str:
    """`24 calls of ` before a name; "" where it is known of how many modules the calls are."""
    return "" if row.n_merged is None else f"{row.n_merged} calls of "


def name_in_tree(row: ModuleRow) -> str:
    """The last part of the path, which stands below what holds it; of a block its class."""
    return row.class_name if _is_merged_model(row) and row.class_name else row.name


def _is_merged_model(row: ModuleRow) -> bool:
    """Is it a block, which its code takes for the model?"""
    return row.path == ROOT and row.n_merged is not None


def most_expensive(
    tree: ModuleTree, operators: Sequence[OperatorRow], labels: tuple[str, str], *, is_pair: bool
) -> str:
    """Which operator takes the most after compiling, and what layers changed; "" without time.

    Args:
        tree: of the runs.
        operators: the most expensive of the candidate first.
        labels: what the two runs are called.
        is_pair: is there a baseline?
    """
    if not operators or not tree.root.step_ns(1):
        return ""
    first, total = operators[0], tree.root.step_ns(1)
    before = f", {format_duration(first.step_ns(0))} in {labels[0]}" if is_pair else ""
    sentence = (
        f"Of the operators, {clipped(first.name, _LONGEST)} takes the most time of {labels[1]}: "
        f"{format_duration(first.step_ns(1))} of {format_duration(total)} {tree.span}{before}."
    )
    untold = untold_sentence(tree, labels) if tree.is_known else ""
    if untold:
        return f"{sentence} {untold}"
    layers = next(
        (
            row
            for row in tree.by_class
            if (len(row.members) > 1 or row.n_merged is not None)
            and row.class_name not in _CONTAINERS
        ),
        None,
    )
    if layers is None:
        return sentence
    change = f" ({format_difference(layers.delta_ns)})" if is_pair else ""
    return f"{sentence} {row_title(layers)} take {format_duration(layers.step_ns(1))}{change}."


def module_table(
    rows: Sequence[ModuleRow], tree: ModuleTree, labels: tuple[str, str], most: int
) -> Table:
    """Modules, a row each.

    Args:
        rows: of the tree, or rolled up.
        tree: of both runs.
        labels: what the two runs are called.
        most: rows; the rest is counted.
    """
    return Table(
        ("Module", *labels, "difference", f"share of {labels[1]}", f"kernels {tree.span}"),
        tuple(
            (
                _named(row),
                *_times(row, tree.root, tree.change_ns(row)),
                Cell(" → ".join(_kernels(row, side) for side in (0, 1))),
            )
            for row in rows[:most]
        ),
        max(0, len(rows) - most),
    )


def operator_table(
    rows: Sequence[OperatorRow], tree: ModuleTree, labels: tuple[str, str], most: int
) -> Table:
    """Operators, a row each; as `module_table`, beside the root of the same tree."""
    return Table(
        ("Operator", *labels, "difference", f"share of {labels[1]}", f"calls {tree.span}"),
        tuple(
            (
                Cell(
                    clipped(row.name, _LONGEST),
                    below=(f"only in {labels[1]}",) if row.is_only_in_candidate else (),
                    hint=row.name,
                    item=operator_item(row.op),
                ),
                *_times(row, tree.root, row.delta_ns),
                Cell(format_count(row.calls_per_step)),
            )
            for row in rows[:most]
        ),
        max(0, len(rows) - most),
    )


def parts_table(
    parts: Sequence[ModulePart],
    tree: ModuleTree,
    run: int | None,
    labels: Sequence[str],
    most: int,
) -> Table:
    """The fusion groups that work for a module, with its share.

    Args:
        parts: slowest first.
        tree: of both runs.
        run: the candidate's place in the comparison; None: the groups have no dossier.
        labels: what the two runs are called; a run alone has one.
        most: rows; the rest is counted.
    """
    is_pair = len(labels) > 1
    return Table(
        ("Group", *labels, *(("Δ",) if is_pair else ()), "its share", "also works for"),
        tuple(
            (
                Cell(
                    clipped(part.group.title, _LONGEST),
                    hint=part.group.title,
                    item=None if run is None else group_item(run, part.number),
                ),
                *(Cell(format_duration(ns)) for ns in part.part_ns[-len(labels) :]),
                *((_part_change(part, tree),) if is_pair else ()),
                Cell(format_share(part.share)),
                Cell(_others(part.others)),
            )
            for part in parts[:most]
        ),
        max(0, len(parts) - most),
    )


def _part_change(part: ModulePart, tree: ModuleTree) -> Cell:
    """Unknown where a run does not have the group and most of its modules are not known."""
    before, after = part.part_ns
    if tree.untold_side is not None and not (before and after):
        return Cell("unknown", tone="muted")
    return Cell(format_difference(after - before))


def untold_sentence(tree: ModuleTree, labels: tuple[str, str]) -> str:
    """Why nothing can be said of what a module takes or gained; "" where something can."""
    side = tree.untold_side
    if side is None:
        return ""
    return (
        f"The module is unknown for {format_share(tree.unknown_shares[side])} of the time of "
        f"{labels[side]}, so what the modules take or gain is unknown too."
    )


def unknown_sentence(tree: ModuleTree, *, is_pair: bool) -> str:
    """How much of the time lies in no known module; "" where all does, or no module is known."""
    before, after = tree.unknown_shares
    if not tree.is_known or not (before or after):
        return ""
    if not is_pair:
        return f"The module is unknown for {format_share(after)} of the time."
    return (
        f"The module is unknown for {format_share(before)} of the baseline's time and "
        f"{format_share(after)} of the candidate's."
    )


def _named(row: ModuleRow) -> Cell:
    title = row_title(row)
    below = (row.path,) if row.members and row.class_name and row.path else ()
    return Cell(
        clipped(title, _LONGEST),
        below=below,
        hint=title,
        item=module_item(row.path) if row.path else None,
    )


def _times(
    row: ModuleRow | OperatorRow, whole: ModuleRow, change_ns: float | None
) -> tuple[Cell, ...]:
    before, after = row.step_ns(0), row.step_ns(1)
    total = whole.step_ns(1)
    return (
        Cell(format_duration(before)),
        Cell(format_duration(after)),
        Cell("unknown", tone="muted")
        if change_ns is None
        else Cell(format_difference(change_ns), tone=_tone(change_ns, whole.step_ns(0))),
        Cell(format_share_of(after, total)),
    )


def _tone(delta_ns: float, step_ns: float) -> Tone:
    if abs(delta_ns) < _NEWS * step_ns:
        return "muted"
    return "better" if delta_ns < 0 else "worse"


def _kernels(row: ModuleRow, side: int) -> str:
    return format_count(row.per_step(row.sides[side].n_kernels, side))


def _others(modules: Sequence[str]) -> str:
    more = len(modules) - _MOST_OTHERS
    return ", ".join(modules[:_MOST_OTHERS]) + (f" and {more} more" if more > 0 else "")

"""The dossiers of a module and of a line of code: the groups that lie there, slowest first."""

from collections.abc import Callable, Sequence
from typing import Literal

from profiler_core.analysis.dossier.generated import generated_of_groups
from profiler_core.analysis.dossier.record import Dossier, Relation, RunTime
from profiler_core.analysis.item import Item, module_item, name_key
from profiler_core.analysis.ledger.group_modules import is_in_module
from profiler_core.analysis.rows.modules import untold_sentence
from profiler_core.analysis.wording.dossier import line_about, missing_of_place, times_answer
from profiler_core.errors import NothingToAnalyse
from profiler_core.session.comparison import Comparison
from profiler_core.session.dossier.common import (
    kernels_of_groups,
    modules_of,
    pairs_with_ledger,
    related_groups,
    source_lines,
    times_of_groups,
)
from profiler_core.session.pair import Pair

# (groups by their places, the times of the runs, the whole name, its answer, what else is said)
Place = tuple[Sequence[int], tuple[RunTime, ...], str, str, tuple[str, ...]]


def module_dossier(comparison: Comparison, item: Item) -> Dossier:
    """A module with all below it; raises NothingToAnalyse where no group works for it.

    Its times are its own shares of the groups, which may work for other modules too.
    """
    return _of_place(comparison, item, "module", lambda pair: _module_place(pair, item))


def source_dossier(comparison: Comparison, item: Item) -> Dossier:
    """A line of code; raises NothingToAnalyse where no group comes from it."""
    return _of_place(
        comparison,
        item,
        "source line",
        lambda pair: _line_place(pair, item),
    )


def _module_place(pair: Pair, item: Item) -> Place:
    tree, groups = pair.divided.modules, pair.ledger.groups
    row = next(
        (row for row in (*tree.rows, *tree.by_class) if row.path and module_item(row.path) == item),
        None,
    )
    if row is None:
        numbers = [n for n, group in enumerate(groups) if is_in_module(group.module, item.key)]
        times = times_of_groups(pair, [groups[number] for number in numbers])
        return numbers, times, item.key, times_answer(times), ()
    times = tuple(
        RunTime(
            run,
            pair.labels[side],
            row.step_ns(side),
            row.per_step(row.sides[side].n_kernels + row.sides[side].n_copies, side),
        )
        for side, run in enumerate((0, pair.number + 1))
    )
    answer = untold_sentence(tree, pair.labels) or times_answer(times)
    return row.groups, times, row.path, answer, ()


def _line_place(pair: Pair, item: Item) -> Place:
    groups = pair.ledger.groups
    label_of = {
        number: label
        for number, group in enumerate(groups)
        for label, _ in group.sources
        if name_key(label) == item.key
    }
    own = [groups[number] for number in label_of]
    times = times_of_groups(pair, own)
    title = next(iter(label_of.values()), item.key)
    others = {label: None for group in own for label, _ in group.sources if label != title}
    nowhere = [group for group in groups if not group.sources and group.phase != "update"]
    unplaced_ns = (
        sum(each.baseline_step_ns for each in nowhere),
        sum(each.candidate_step_ns for each in nowhere),
    )
    about = line_about(tuple(others), unplaced_ns)
    return tuple(label_of), times, title, times_answer(times), about


def _of_place(
    comparison: Comparison,
    item: Item,
    kind: Literal["module", "source line"],
    place_of: Callable[[Pair], Place],
) -> Dossier:
    for pair in pairs_with_ledger(comparison):
        ledger = pair.ledger
        numbers, times, title, answer, about = place_of(pair)
        if not numbers:
            continue
        groups = [ledger.groups[number] for number in numbers]
        sources = source_lines(pair, groups, item if item.kind == "source" else None)
        code = pair.candidate.code
        generated = generated_of_groups(code, groups) if code is not None else ()
        kernels: Relation = kernels_of_groups(pair, groups)
        return Dossier(
            item=item,
            kind=kind,
            title=title,
            answer=answer,
            about=about,
            times=times,
            modules=modules_of(groups) if kind == "source line" else (),
            relations=(related_groups(pair, numbers), kernels),
            sources=sources,
            generated=generated,
            missing=missing_of_place(has_log=code is not None, has_code=bool(generated)),
        )
    raise NothingToAnalyse(
        f"No fusion group of these runs lies in the {kind} {item.key}.",
        remedy="Groups know their lines and modules by the compiled run's structured log "
        "(TORCH_TRACE): capture with it, or choose the runs that the link was made for.",
    )

"""What a comparison has to search in, made once for each version of its runs."""

from collections.abc import Iterable, Iterator
from contextlib import suppress

from profiler_core.analysis.categories import CATEGORIES, COPIES
from profiler_core.analysis.item import (
    Item,
    break_item,
    finding_item,
    group_item,
    kernel_item,
    module_item,
    operator_item,
    source_item,
)
from profiler_core.analysis.ledger.group_modules import without_module
from profiler_core.analysis.ledger.result import Became, FusionGroup
from profiler_core.analysis.modules import STEP
from profiler_core.analysis.search import SearchEntry, SearchIndex
from profiler_core.analysis.wording.sentence import listed
from profiler_core.errors import FusionscopeError
from profiler_core.session.comparison import Comparison
from profiler_core.session.divided import Divided
from profiler_core.session.dossier.finding import findings_of
from profiler_core.units import format_duration

_ASKED_FOR = "what to try next, do, improve"  # which findings answer


def search_index(comparison: Comparison) -> SearchIndex:
    """Everything of these runs that has a dossier; what cannot be read is left out."""
    return comparison.answer(
        "search index",
        lambda: SearchIndex(
            _entries(comparison),
            _has_log(comparison),
            _n_merged(comparison),
            _nameless(comparison),
        ),
    )


def _has_log(comparison: Comparison) -> bool:
    return any(run.compile_log is not None for run in comparison.runs)


def _n_merged(comparison: Comparison) -> int:
    numbers = [0]
    for pair in comparison.pairs:
        with suppress(FusionscopeError):  # why is said on the page Fusion
            numbers += [n for _, n in pair.ledger.merged_calls]
    return max(numbers)


def _nameless(comparison: Comparison) -> str:
    """Why groups have no module, of the first pair that can be matched and has such."""
    for pair in comparison.pairs:
        with suppress(FusionscopeError):
            for sentence in without_module(pair.ledger.groups):
                return sentence
    return ""


def named_items(comparison: Comparison) -> dict[str, Item]:
    """The operators and kernels of these runs that have a dossier, by their whole names."""
    return comparison.answer("named items", lambda: _named_items(comparison))


def _named_items(comparison: Comparison) -> dict[str, Item]:
    operators = {row.op for _, divided in _divided(comparison) for row in divided.operators}
    return {
        **{name: operator_item(name) for name in operators},
        **{row.name: kernel_item(row.name) for row in comparison.kernels},
    }


def _entries(comparison: Comparison) -> Iterator[SearchEntry]:
    yield from _findings(comparison)
    names: set[str] = set()  # modules, operators and lines are the same in every pair
    is_pair = len(comparison.runs) == 2
    for run, divided in _divided(comparison):
        yield from _once(names, _modules(divided, is_pair))
        yield from _once(names, _operators(divided, is_pair))
        if run:
            yield from _groups(divided, run, comparison.labels[run])
            yield from _once(names, _lines(divided))
    for kernel in comparison.kernels:
        kind = CATEGORIES[kernel.category]
        yield SearchEntry(
            "kernel", kernel.name, kind, kernel_item(kernel.name), kernel.most_ns,
            sides_ns=(kernel.time_ns(0), kernel.time_ns(1)) if is_pair else (),
        )  # fmt: skip
    for run in range(len(comparison.runs)):
        yield from _breaks(comparison, run)


def _divided(comparison: Comparison) -> Iterator[tuple[int, Divided]]:
    """Each pair that can be matched with its candidate's place; without any the run alone."""
    for pair in comparison.pairs:
        try:
            yield pair.number + 1, pair.divided
        except FusionscopeError:
            continue  # why is said on the page Fusion
    if not comparison.pairs:
        try:
            yield 0, comparison.baseline.divided
        except FusionscopeError:
            return


def _once(names: set[str], entries: Iterable[SearchEntry]) -> Iterator[SearchEntry]:
    for entry in entries:
        if entry.item.text not in names:
            names.add(entry.item.text)
            yield entry


def _modules(divided: Divided, is_pair: bool) -> Iterator[SearchEntry]:
    tree = divided.modules
    is_told = is_pair and tree.untold_side is None
    for row in tree.rows if tree.is_known else ():
        if row.path != STEP:
            yield SearchEntry(
                "module", row.path, row.class_name, module_item(row.path),
                max(row.step_ns(0), row.step_ns(1)), module=row.path,
                sides_ns=(row.step_ns(0), row.step_ns(1)) if is_told else (),
            )  # fmt: skip


def _operators(divided: Divided, is_pair: bool) -> Iterator[SearchEntry]:
    for row in divided.operators:
        sides_ns = row.step_ns(0), row.step_ns(1)
        yield SearchEntry(
            "operator", row.name, row.op, operator_item(row.op), max(sides_ns),
            sides_ns=sides_ns if is_pair else (),
        )  # fmt: skip


def _groups(divided: Divided, run: int, label: str) -> Iterator[SearchEntry]:
    for number, group in enumerate(divided.ledger.groups):
        lines = ", ".join(line for line, _ in group.sources[:2])
        yield SearchEntry(
            "group",
            group.title,
            " · ".join(
                filter(
                    None,
                    (label, _change(group), group.phase, _copies(group), group.module, lines),
                )
            ),
            group_item(run, number),
            max(group.baseline_step_ns, group.candidate_step_ns),
            group.delta_ns,
            group.module or "",
            sides_ns=(group.baseline_step_ns, group.candidate_step_ns),
            became=_became(group),
        )


def _change(group: FusionGroup) -> str:
    """What it became: "slower by 38 µs", words that are searched for; also of what is new."""
    became = _became(group)
    if became not in ("slower", "faster"):
        return ""
    new = "" if group.became else "new, "
    return f"{new}{became} by {format_duration(abs(group.delta_ns))}"


def _became(group: FusionGroup) -> Became:
    """What it takes in the candidate; what the candidate alone does is slower by all of it."""
    if group.kind == "only in the candidate" and group.delta_ns > 0:
        return "slower"
    return group.became


def _copies(group: FusionGroup) -> str:
    """Copies and memsets, which have no dossier of their own: "memcpy and memset"."""
    kernels = (*group.baseline.kernels, *group.candidate.kernels)
    return listed(sorted({CATEGORIES[k.category] for k in kernels if k.category in COPIES}))


def _findings(comparison: Comparison) -> Iterator[SearchEntry]:
    """What stands out in the candidate that pages show first, or in a run alone."""
    run = comparison.shown_first + 1 if comparison.pairs else 0
    for finding in findings_of(comparison, run):
        stake_ns = finding.at_stake_ns or 0.0
        yield SearchEntry(
            "finding", finding.title, finding.advice, finding_item(run, finding.key),
            stake_ns if stake_ns > 0 else None,  # a change that would lose promises no time
            words=_ASKED_FOR,
        )  # fmt: skip


def _lines(divided: Divided) -> Iterator[SearchEntry]:
    times: dict[tuple[str, str], float] = {}
    for group in divided.ledger.groups:
        longest = max(group.baseline_step_ns, group.candidate_step_ns)
        for source in group.sources:
            times[source] = times.get(source, 0.0) + longest
    for (line, code), step_ns in times.items():
        yield SearchEntry("source line", line, code.strip(), source_item(line), step_ns)


def _breaks(comparison: Comparison, run: int) -> Iterator[SearchEntry]:
    report = comparison.compilation_of(run)
    if report is None:
        return
    for broken in report.breaks:
        position = report.place_of(broken)
        if position is not None:
            yield SearchEntry(
                "graph break",
                broken.title,
                f"{comparison.labels[run]} · {broken.event.reason}",
                break_item(run, position),
                broken.cost_ns,
            )

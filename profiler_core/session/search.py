"""What a comparison has to search in, made once for each version of its runs."""

from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, replace

import polars as pl

from profiler_core.analysis.categories import CATEGORIES, COPIES
from profiler_core.analysis.finding_rules.op_work import product_work
from profiler_core.analysis.item import (
    Item,
    break_item,
    finding_item,
    group_item,
    kernel_item,
    module_item,
    operator_item,
    skip_item,
    source_item,
)
from profiler_core.analysis.kernel_sides import KernelRow
from profiler_core.analysis.ledger.group_modules import without_module
from profiler_core.analysis.ledger.result import Became, FusionGroup
from profiler_core.analysis.lines import lines_of, times_by_line
from profiler_core.analysis.module_functions import ModuleFunctions
from profiler_core.analysis.modules import STEP
from profiler_core.analysis.search import SearchEntry, SearchIndex
from profiler_core.analysis.wording.sentence import listed
from profiler_core.errors import FusionscopeError
from profiler_core.model.compilation import FrameSkip, GraphBreak
from profiler_core.model.trace import other_names
from profiler_core.session.comparison import Comparison
from profiler_core.session.divided import Divided
from profiler_core.session.dossier.finding import findings_of
from profiler_core.session.dossier.functions import work_of_runs
from profiler_core.session.dossier.ledger_runs import ledger_of_run_alone
from profiler_core.session.dossier.memory_line import lines_in_memory
from profiler_core.units import format_duration

_ASKED_FOR = "what to try next, do, improve"  # which findings answer
_A_BREAK = "graph breaks"  # what made Dynamo skip a frame


def search_index(comparison: Comparison, of: int | None = None) -> SearchIndex:
    """Everything of these runs that has a dossier; what cannot be read is left out.

    Args:
        comparison: of the runs.
        of: place of the candidate whose times and findings are told; None: that which pages show
            first, and 0 of a run alone.
    """
    candidate = comparison.asked_or_first(of)
    return comparison.answer(
        ("search index", candidate),
        lambda: SearchIndex(
            _entries(comparison, candidate),
            _has_log(comparison),
            _n_merged(comparison),
            _nameless(comparison),
            comparison.span,
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
    operators = {row.op for _, divided in _divided(comparison, 0) for row in divided.operators}
    return {
        **{name: operator_item(name) for name in operators},
        **{row.name: kernel_item(row.name) for row in _device_work(comparison)},
    }


def _entries(comparison: Comparison, candidate: int) -> Iterator[SearchEntry]:
    yield from _findings(comparison, candidate)
    names: set[str] = set()  # modules, operators and lines are the same in every pair
    for run, divided in _divided(comparison, candidate):
        compared = _Compared.of(comparison, run)
        functions = {
            module: of_module
            for number in (run, 0)
            for module, of_module in comparison.runs[number].module_functions.items()
        }
        for entries in (_modules(divided, compared, functions), _operators(divided, compared)):
            yield from compared.led_beside(run, _once(names, entries))
        if run:
            yield from _groups(divided, run, comparison.labels[run])
        lines = _lines(divided, compared, _functions(comparison))
        yield from compared.led_beside(run, _once(names, lines))
    yield from _once(names, _lines_in_memory(comparison))
    yield from _once(names, _called_functions(comparison, candidate))
    yield from _once(names, _products(comparison, candidate))
    yield from _kernels(comparison, candidate)
    for run in range(len(comparison.runs)):
        yield from _breaks(comparison, run)


@dataclass(frozen=True)
class _Compared:
    """A baseline and a candidate by name; or a run alone, whose times need none."""

    labels: tuple[str, ...]  # of both; of one run alone its own
    is_one_of_many: bool  # candidates of the same comparison

    @classmethod
    def of(cls, comparison: Comparison, run: int) -> "_Compared":
        """The candidate at a place of a comparison, or for 0 its baseline alone."""
        labels = comparison.labels
        return cls(labels[:1] if not run else (labels[0], labels[run]), len(labels) > 2)

    @property
    def is_pair(self) -> bool:
        return len(self.labels) > 1

    @property
    def runs(self) -> str:
        """What times on both sides are of: "eager → default"; "" where it is clear."""
        return " → ".join(self.labels) if self.is_one_of_many else ""

    def led_beside(self, run: int, entries: Iterable[SearchEntry]) -> Iterator[SearchEntry]:
        """Entries whose dossiers tell of the same candidate as they do, where there are several."""
        for entry in entries:
            beside = entry.item.beside(run) if self.is_one_of_many else entry.item
            yield replace(entry, item=beside)

    def sides(self, before_ns: float, after_ns: float) -> tuple[float, ...]:
        """Both times of a pair; () of a run alone."""
        return (before_ns, after_ns) if self.is_pair else ()


def _divided(comparison: Comparison, candidate: int) -> Iterator[tuple[int, Divided]]:
    """Each pair that can be matched with its candidate's place; without any the run alone.

    The pair of the candidate that is told of comes before the others.
    """
    for pair in sorted(comparison.pairs, key=lambda pair: pair.number + 1 != candidate):
        try:
            yield pair.number + 1, pair.divided
        except FusionscopeError:
            continue  # why is said on the page Fusion
    alone = ledger_of_run_alone(comparison)
    if alone is not None:
        yield 0, alone.divided


def _once(names: set[str], entries: Iterable[SearchEntry]) -> Iterator[SearchEntry]:
    for entry in entries:
        if entry.item.text not in names:
            names.add(entry.item.text)
            yield entry


def _modules(
    divided: Divided, compared: _Compared, functions: Mapping[str, ModuleFunctions]
) -> Iterator[SearchEntry]:
    """Each module with its times; where they are not known of one run, with the other's alone."""
    tree = divided.modules
    told_side = 0 if tree.untold_side else 1
    for row in tree.rows if tree.is_known else ():
        times = row.step_ns(0), row.step_ns(1)
        is_told = tree.untold_side is None or not compared.is_pair
        if row.path != STEP:
            yield SearchEntry(
                "module", row.path,
                " · ".join(filter(None, (row.class_name, _function(functions.get(row.path))))),
                module_item(row.path),
                max(times) if is_told else times[told_side], module=row.path,
                sides_ns=compared.sides(*times) if is_told else (),
                runs=compared.runs if is_told else compared.labels[told_side],
            )  # fmt: skip


def _function(functions: ModuleFunctions | None) -> str:
    """The first function that a module runs, or is called in: `resnet.py:143 forward`."""
    return next(iter(functions.own or functions.around), "") if functions is not None else ""


def _operators(divided: Divided, compared: _Compared) -> Iterator[SearchEntry]:
    for row in divided.operators:
        times = row.step_ns(0), row.step_ns(1)
        yield SearchEntry(
            "operator", row.name, row.op, operator_item(row.op), max(times),
            sides_ns=compared.sides(*times), runs=compared.runs,
        )  # fmt: skip


def _kernels(comparison: Comparison, candidate: int) -> Iterator[SearchEntry]:
    """Each kernel and copy with its times on both sides of the first pair that runs it."""
    copies = {row.name for row in comparison.copies}
    traced, is_compared = comparison.traced, len(comparison.runs) > 1
    candidates = sorted(traced, key=lambda run: run != candidate)
    runs = [run for run in candidates if run and 0 in traced]
    for kernel in _device_work(comparison):
        sides_ns: tuple[float, ...] = ()
        named = ""
        for run in runs:
            sides_ns = kernel.time_ns(0), kernel.time_ns(traced.index(run))
            named = _Compared.of(comparison, run).runs
            if any(sides_ns):
                break
        if is_compared and not runs:
            most = max(range(len(traced)), key=kernel.time_ns)
            named = comparison.labels[traced[most]]
        yield SearchEntry(
            "copy" if kernel.name in copies else "kernel",
            kernel.name, CATEGORIES[kernel.category], kernel_item(kernel.name),
            kernel.most_ns, words=" ".join(other_names(kernel.name)), sides_ns=sides_ns, runs=named,
        )  # fmt: skip


def _device_work(comparison: Comparison) -> tuple[KernelRow, ...]:
    """Kernels, copies and memsets by name."""
    return (*comparison.kernels, *comparison.copies)


def _products(comparison: Comparison, candidate: int) -> Iterator[SearchEntry]:
    """Matrix products and convolutions that others call: `aten::addmm` inside of `aten::linear`."""
    times: dict[str, dict[int, float]] = {}
    for number in dict.fromkeys((0, candidate)):
        summary = comparison.sides[number].summary
        if number not in comparison.traced or summary is None:
            continue
        for op in product_work(comparison.runs[number].required_trace()):
            of_runs = times.setdefault(op.name, {})
            of_runs[number] = of_runs.get(number, 0.0) + summary.per_step(op.time_ns)
    for name, of_runs in times.items():
        # Of the first run that calls it: in another its calls are not what became of these.
        number, step_ns = next(iter(of_runs.items()))
        yield SearchEntry(
            "operator", name.removeprefix("aten::"), name, operator_item(name), step_ns,
            runs=comparison.labels[number] if len(comparison.labels) > 1 else "",
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
    """Its copies and memsets, by which it is searched for: "memcpy and memset"."""
    kernels = (*group.baseline.kernels, *group.candidate.kernels)
    return listed(sorted({k.category for k in kernels if k.category in COPIES}))


def _findings(comparison: Comparison, run: int) -> Iterator[SearchEntry]:
    """What stands out in the candidate that is told of, or for 0 in a run alone."""
    for finding in findings_of(comparison, run):
        stake_ns = finding.at_stake_ns or 0.0
        yield SearchEntry(
            "finding", finding.title, finding.advice, finding_item(run, finding.key),
            stake_ns if stake_ns > 0 else None,  # a change that would lose promises no time
            words=_ASKED_FOR,
        )  # fmt: skip


def _functions(comparison: Comparison) -> Mapping[str, str]:
    """Line -> the function that it is of, as stacks of memory snapshots say it."""
    return {
        label: line.function
        for lines in lines_in_memory(comparison).values()
        for label, line in lines.items()
    }


def _lines(
    divided: Divided, compared: _Compared, functions: Mapping[str, str]
) -> Iterator[SearchEntry]:
    times: dict[tuple[str, str], list[float]] = {}
    for group in divided.ledger.groups:
        of_lines = times_by_line(group)
        for source in lines_of(group):
            before, after = of_lines[source[0]]
            of_line = times.setdefault(source, [0.0, 0.0])
            of_line[0] += before
            of_line[1] += after
    for (line, code), (before_ns, after_ns) in times.items():
        yield SearchEntry(
            "source line", line, code.strip(), source_item(line), max(before_ns, after_ns),
            sides_ns=compared.sides(before_ns, after_ns), runs=compared.runs,
            words=functions.get(line, ""),
        )  # fmt: skip


def _lines_in_memory(comparison: Comparison) -> Iterator[SearchEntry]:
    """Lines that the page Memory shows; of those that fusion groups have the first entry stays."""
    for lines in lines_in_memory(comparison).values():
        for label, line in lines.items():
            yield SearchEntry("source line", label, line.function, source_item(label))


def _called_functions(comparison: Comparison, candidate: int) -> Iterator[SearchEntry]:
    """Functions that launch work in the baseline or the candidate, by Python calls of the trace."""
    times: dict[tuple[str, str], dict[int, float]] = {}
    works = work_of_runs(comparison)
    for number in dict.fromkeys((0, candidate)):
        summary = comparison.sides[number].summary
        if number not in works or summary is None:
            continue
        sums = works[number].group_by("place", "function", maintain_order=True)
        for place, function, ns in sums.agg(pl.col("dur_ns").sum()).iter_rows():
            times.setdefault((place, function), {})[number] = summary.per_step(ns)
    is_pair = len(comparison.runs) > 1
    for (place, function), of_runs in times.items():
        both = of_runs.get(0), of_runs.get(candidate)
        is_of_both = candidate > 0 and 0 in works and candidate in works
        sides = tuple(ns or 0.0 for ns in both) if is_of_both else ()
        named = comparison.labels[next(iter(of_runs))] if is_pair and not is_of_both else ""
        yield SearchEntry(
            "source line", place, function, source_item(place), max(of_runs.values()),
            sides_ns=sides, runs=named,
        )  # fmt: skip


def _breaks(comparison: Comparison, run: int) -> Iterator[SearchEntry]:
    """Graph breaks and skipped frames, by all that the log says of them."""
    report = comparison.compilation_of(run)
    if report is None:
        return
    label = comparison.labels[run]
    for broken in report.breaks:
        position = report.place_of(broken)
        if position is not None:
            yield SearchEntry(
                "graph break", broken.title, f"{label} · {broken.event.reason}",
                break_item(run, position), broken.cost_ns, words=_of_log(broken.event),
            )  # fmt: skip
    for number, skip in enumerate(report.skips):
        function = skip.event.function or "a function"
        yield SearchEntry(
            "skipped frame", skip.title, f"{label} · {function} runs eager: {skip.event.reason}",
            skip_item(run, number), words=f"{_A_BREAK}\n{_of_log(skip.event)}",
        )  # fmt: skip


def _of_log(event: GraphBreak | FrameSkip) -> str:
    """Where Dynamo stopped and what it says: place, function, registry's number, hints."""
    position = f"{event.file or ''}:{event.line or ''}"
    return "\n".join((position, event.function or "", event.gb_id or "", *event.hints))

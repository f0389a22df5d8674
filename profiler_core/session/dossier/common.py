"""What the makers of dossiers share: groups, kernels and operators as related things, sources."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from itertools import islice

from profiler_core.analysis.device_peaks import DevicePeaks, peaks_of
from profiler_core.analysis.dossier.record import Related, Relation, RunTime, SourceLine
from profiler_core.analysis.item import Item, group_item, kernel_item, name_key, operator_item
from profiler_core.analysis.ledger.modules import lies_in
from profiler_core.analysis.ledger.result import FusionGroup
from profiler_core.analysis.lines import lines_of
from profiler_core.analysis.product_precision import unrecorded_bits
from profiler_core.analysis.source_paths import source_paths
from profiler_core.model.compilation import Frame
from profiler_core.session.comparison import Comparison
from profiler_core.session.dossier.ledger_runs import LedgerRuns
from profiler_core.session.pair import Pair
from profiler_core.session.run import Run
from profiler_core.units import format_per_step

MOST_RELATED = 60
_MOST_SOURCES = 30


def pair_of_run(comparison: Comparison, run: int) -> Pair | None:
    """The pair of a candidate by its place in the comparison; None: there is no such candidate."""
    return comparison.pairs[run - 1] if 1 <= run <= len(comparison.pairs) else None


def related_group(pair: Pair, number: int) -> Related:
    """One group of a pair's ledger."""
    group = pair.ledger.groups[number]
    return Related(
        group.title,
        group_item(pair.number + 1, number),
        ", ".join(filter(None, (group.module, group.phase))),
        (group.baseline_step_ns, group.candidate_step_ns),
    )


def related_groups(pair: Pair, numbers: Iterable[int], sentence: str = "") -> Relation:
    """Groups of a pair's ledger, the slowest first."""
    entries = slowest_first(related_group(pair, number) for number in numbers)
    return _most(Relation("became", pair.labels, tuple(entries), sentence))


def kernels_of_groups(
    shown: LedgerRuns, groups: Sequence[FusionGroup], sentence: str = ""
) -> Relation:
    """The kernels of some groups in each run, the slowest first."""
    return _most(Relation("kernels", shown.labels, kernel_entries(groups, shown.sides), sentence))


def operators_of_groups(
    shown: LedgerRuns, groups: Sequence[FusionGroup], sentence: str = ""
) -> Relation:
    """Their operators, or what was generated for them, in each run, the slowest first."""
    times: dict[str, list[float | None]] = {}
    for group in groups:
        for n, (side, of_side) in enumerate(zip(shown.sides, shown.sides_of(group), strict=True)):
            for operator in of_side.operators:
                of_runs = times.setdefault(operator.op, [None] * len(shown.sides))
                of_runs[n] = (of_runs[n] or 0.0) + group.per_step(operator.time_ns, side)
    entries = slowest_first(
        Related(op, operator_item(op), times_ns=tuple(of_runs)) for op, of_runs in times.items()
    )
    return _most(Relation("operators", shown.labels, tuple(entries), sentence))


def _most(relation: Relation) -> Relation:
    entries = relation.entries
    n_left_out = max(0, len(entries) - MOST_RELATED)
    return replace(relation, entries=entries[:MOST_RELATED], n_left_out=n_left_out)


def kernel_entries(
    groups: Sequence[FusionGroup], sides: Sequence[int] = (0, 1)
) -> tuple[Related, ...]:
    """Each kernel of some groups, with its time per step on these sides; the slowest first."""
    times: dict[str, list[float]] = {}
    calls: dict[str, list[float]] = {}
    for group in groups:
        for n, side in enumerate(sides):
            for kernel in (group.baseline, group.candidate)[side].kernels:
                times.setdefault(kernel.name, [0.0] * len(sides))[n] += group.per_step(
                    kernel.time_ns, side
                )
                calls.setdefault(kernel.name, [0.0] * len(sides))[n] += group.per_step(
                    kernel.n, side
                )
    entries = slowest_first(
        Related(
            name,
            kernel_item(name),
            _calls_text(calls[name]),
            tuple(ns or None for ns in of_sides),
        )
        for name, of_sides in times.items()
    )
    return tuple(entries)


def _calls_text(calls: Sequence[float]) -> str:
    """How often a kernel runs per step, of both sides where they differ; "" for once.

    Args:
        calls: of each side; 0: it does not run there.
    """
    texts = list(dict.fromkeys(format_per_step(n) for n in calls if n))
    return "" if texts == ["1"] else f"{' → '.join(texts)} calls"


def slowest_first(entries: Iterable[Related]) -> list[Related]:
    """By the longest time on any side."""
    return sorted(entries, key=lambda entry: -entry.most_ns)


def times_of_groups(shown: LedgerRuns, groups: Sequence[FusionGroup]) -> tuple[RunTime, ...]:
    """Some groups together in each run, with their device events per step."""
    return tuple(
        RunTime(
            run,
            label,
            sum(group.per_step(shown.sides_of(group)[n].time_ns, side) for group in groups),
            sum(group.per_step(shown.sides_of(group)[n].n_events, side) for group in groups),
        )
        for n, (run, label, side) in enumerate(
            zip(shown.runs, shown.labels, shown.sides, strict=True)
        )
    )


def source_lines(
    told_by: Run, groups: Iterable[FusionGroup], only: Item | None = None
) -> tuple[SourceLine, ...]:
    """The lines that groups come from, with what the capture kept around them.

    Args:
        told_by: the run whose log says them.
        groups: of its ledger.
        only: the one line that is asked for; None: the first ones.
    """
    sources = {
        label: code
        for group in groups
        for label, code in (group.sources if only is None else lines_of(group))
        if only is None or name_key(label) == only.key
    }
    return first_lines(told_by, sources)


def first_lines(told_by: Run, lines: Mapping[str, str]) -> tuple[SourceLine, ...]:
    """The first of some lines, with what the capture kept around them.

    Args:
        told_by: the run whose log says them.
        lines: "models.py:28" -> its code.
    """
    files = source_paths(told_by.code)
    return tuple(
        source_line(told_by, label, files.get(label, ""), code)
        for label, code in islice(lines.items(), _MOST_SOURCES)
    )


def source_line(run: Run, label: str, file: str, code: str) -> SourceLine:
    """One line as the ledger labels it.

    Args:
        run: that kept its sources.
        label: "modeling_bert.py:84".
        file: its full path as logged; "" where no log says it.
        code: the line's own text.
    """
    line = label.rpartition(":")[2]
    number = int(line) if line.isdecimal() and len(line) < 10 else 0
    kept = run.kept_sources.get(file, {}) if file else {}
    return SourceLine(label, Frame(file=file, line=number, function="", code=code), kept)


def per_step(comparison: Comparison, number: int, total: float) -> float:
    """A total of one run over its profiled steps."""
    summary = comparison.sides[number].summary
    return total if summary is None else summary.per_step(total)


def modules_of(groups: Iterable[FusionGroup]) -> tuple[str, ...]:
    """Each nn.Module that groups lie in, once.

    Of a group that works for several branches, which only the model holds, the module that most of
    it lies in, and then the others.
    """
    return tuple(dict.fromkeys(module for group in groups for module in _modules(group)))


def _modules(group: FusionGroup) -> tuple[str, ...]:
    if not group.module:
        return ()
    works = group.candidate.modules or group.baseline.modules
    named = [module for work in works for module, _ in work.operators]
    others = [module for module in named if not lies_in(module, group.module)]
    return group.module, *others


def are_in_one_precision(pair: Pair) -> bool:
    """Are the types of the baseline's operators those of the candidate, as far as files say?"""
    before, after = (run.record.spec.get("precision") for run in pair.runs)
    return bool(before == after) and unrecorded_bits(*pair.sides) is None


def peaks_of_run(comparison: Comparison, run: int) -> DevicePeaks | None:
    """What the device of a run can do at best; None: it is not known."""
    summary = comparison.sides[run].summary
    return peaks_of(summary.device.name if summary is not None else None)

"""`compare BASELINE CANDIDATE…` or `compare FOLDER`: every number per step, side by side."""

import argparse
from collections.abc import Callable
from pathlib import Path

from profiler_core.analysis.categories import CATEGORIES
from profiler_core.analysis.compare import CandidateComparison, MemoryPair, TwoNumbers
from profiler_core.analysis.rows.categories import calls_head
from profiler_core.analysis.run_labels import run_facts
from profiler_core.analysis.span import PER_STEP, profiled_time
from profiler_core.analysis.step_division import DividedStep
from profiler_core.analysis.step_parts import WAITING_FOR_A_RANK
from profiler_core.analysis.waterfall import CLOCKS, OTHER_LABELS
from profiler_core.analysis.wording.verdict import details, statement
from profiler_core.answers.compare import comparison_answer
from profiler_core.answers.encoding import write_json
from profiler_core.cli.explained import explanation_text, server_text
from profiler_core.cli.reading_options import add_reading_options, apply_reading_options
from profiler_core.cli.runs import add_runs, comparison_of
from profiler_core.cli.table import table
from profiler_core.export.ledger_events import check_name, events_of_pairs, write_ledger
from profiler_core.session.pair import Pair
from profiler_core.units import (
    format_change_between,
    format_count,
    format_duration,
    format_energy,
    format_peak,
)


def add_parser(subparsers: "argparse._SubParsersAction[argparse.ArgumentParser]") -> None:
    """Declare the arguments."""
    parser = subparsers.add_parser("compare", help="a baseline and its candidates, per step")
    add_runs(parser)
    parser.add_argument("--json", action="store_true", help="all numbers, see docs/json.md")
    parser.add_argument(
        "--ledger",
        type=Path,
        metavar="FILE",
        help="also write the fusion ledger, one row for each device event, as FILE.parquet",
    )
    add_reading_options(parser)


def run(arguments: argparse.Namespace) -> int:
    """Print it."""
    apply_reading_options(arguments)
    if arguments.ledger is not None:
        check_name(arguments.ledger)
    comparison = comparison_of(arguments.baseline, arguments.candidates)
    if arguments.ledger is not None:
        write_ledger(events_of_pairs(comparison.pairs), arguments.ledger)
    if arguments.json:
        write_json(comparison_answer(comparison))
    else:
        record = comparison.baseline.record
        facts = [" · ".join(run_facts(record))] if record.workload else []
        print("\n\n\n".join(_text(pair, facts) for pair in comparison.pairs))
    return 0


TwoSteps = tuple[DividedStep | None, DividedStep | None]


def _text(pair: Pair, facts: list[str]) -> str:
    c, explained, verdict = pair.judged, pair.explanation, pair.verdict
    sentences = [statement(verdict).sentence, *details(verdict), *facts]
    parts = ["\n".join(sentences), _numbers(c, pair.steps)]
    if c.by_category:
        parts.append(_categories(c))
    parts.extend(server_text([pair.baseline.server_phases, pair.candidate.server_phases]))
    parts.extend(explanation_text(explained, c))
    notes = (*pair.notes, *(explained.waterfall.notes if explained.waterfall else ()))
    if notes:
        parts.append("\n".join(dict.fromkeys(notes)))
    return "\n\n".join(parts)


def _numbers(c: CandidateComparison, steps: TwoSteps) -> str:
    clock = "step time, unprofiled" if c.step_time.clock else "step time"
    if c.step_time.clock == "profiled":
        clock = profiled_time(c.span)
    rows = [_row(clock, (c.step_time.baseline_ns, c.step_time.candidate_ns), format_duration)]
    energy = "energy" if c.span == PER_STEP else "energy of a step"
    profiled = _row(profiled_time(c.span), c.window_ns, format_duration)
    is_of_timed = any(step is not None and step.clock == "unprofiled" for step in steps)
    if c.step_time.clock == "unprofiled":
        rows += [*_busy(steps), profiled] if is_of_timed else [profiled, *_busy(steps)]
    else:
        rows += _busy(steps)
    rows += [
        _row("kernel time", c.kernel_time_ns, format_duration),
        _row("device time", c.device_time_ns, format_duration),
        _row("kernels", c.n_kernels, format_count),
        _row("memcpy", c.n_memcpy, format_count),
        _row("memset", c.n_memset, format_count),
        _row("launches", c.n_launches, format_count),
        _row("  of graphs", c.n_graph_launches, format_count),
        *_peaks(c.memory),
        _row(energy, c.energy_per_step_j, format_energy),
    ]
    return table([c.span, c.baseline_label, c.label, "change"], rows)


def _peaks(memory: MemoryPair) -> list[list[str]]:
    rows = (
        ("peak reserved", memory.peak_reserved_bytes, memory.reserved_compares),
        ("peak allocated", memory.peak_allocated_bytes, memory.allocated_compares),
    )
    return [
        [
            name,
            *(
                format_peak(n, is_least=is_least)
                for n, is_least in zip(pair, memory.is_least, strict=True)
            ),
            _change(pair) if compares else "",
        ]
        for name, pair, compares in rows
    ]


def _busy(steps: TwoSteps) -> list[list[str]]:
    """What devices work, of a job with a late rank wait for it, and idle: as pages say it."""

    def row(name: str, ns: Callable[[DividedStep], float]) -> list[str]:
        left, right = (None if step is None else ns(step) for step in steps)
        return _row(name, (left, right), format_duration)

    rows = [row("busy", lambda step: step.busy_ns), row("idle", lambda step: step.idle_ns)]
    if any(step is not None and step.waiting_ns for step in steps):
        rows.insert(1, row(WAITING_FOR_A_RANK, lambda step: step.waiting_ns))
    if any(step is not None and step.over_ns for step in steps):
        rows.append(row(OTHER_LABELS[CLOCKS], lambda step: -step.over_ns))
    return rows


def _categories(c: CandidateComparison) -> str:
    rows = [
        [
            CATEGORIES[key],
            format_count(pair.n[0]),
            format_count(pair.n[1]),
            format_duration(pair.time_ns[0]),
            format_duration(pair.time_ns[1]),
            _change(pair.time_ns),
        ]
        for key, pair in sorted(
            c.by_category.items(), key=lambda item: -max(t or 0 for t in item[1].time_ns)
        )
    ]
    head = [
        f"category, {c.span}",
        calls_head(c.baseline_label),
        calls_head(c.label),
        c.baseline_label,
        c.label,
        "change",
    ]
    return table(head, rows)


def _row(name: str, pair: TwoNumbers, form: Callable[[float | None], str]) -> list[str]:
    return [name, form(pair[0]), form(pair[1]), _change(pair)]


def _change(pair: TwoNumbers) -> str:
    before, after = pair
    if before is None or after is None or before == after:
        return ""
    return "new" if before == 0 else "gone" if after == 0 else format_change_between(before, after)

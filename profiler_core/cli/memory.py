"""`memory RUN_OR_TRACE_OR_SNAPSHOT`: where the memory of one run went."""

import argparse
from collections.abc import Sequence
from pathlib import Path

from profiler_core.analysis.memory.report import MemoryReport
from profiler_core.analysis.memory.segments import Segments
from profiler_core.analysis.memory.snapshot import Origin, callers_apart, operators_apart
from profiler_core.analysis.span import spanned
from profiler_core.analysis.wording.memory import amounts
from profiler_core.answers.encoding import write_json
from profiler_core.answers.memory import memory_answer, memory_notes
from profiler_core.cli.table import shorten, table
from profiler_core.errors import NothingToAnalyse
from profiler_core.session.run import Run
from profiler_core.units import format_bytes, format_count, format_peak, format_share

_NAME_WIDTH = 60


def add_parser(subparsers: "argparse._SubParsersAction[argparse.ArgumentParser]") -> None:
    """Declare the arguments."""
    parser = subparsers.add_parser("memory", help="where the memory of a run went")
    parser.add_argument("path", type=Path, metavar="RUN_OR_TRACE_OR_SNAPSHOT")
    parser.add_argument("--json", action="store_true", help="all numbers, see docs/json.md")
    parser.add_argument("--top", type=int, default=10, help="rows to list (default 10)")


def run(arguments: argparse.Namespace) -> int:
    """Print it."""
    opened = Run.open(arguments.path)
    report = opened.memory
    if report.is_empty:
        for problem in opened.problems("trace", "stacks", "memory snapshot"):
            raise problem.error()
        raise NothingToAnalyse(
            f"No file of {arguments.path.name} contains memory data.",
            remedy="Record with profile_memory=True, or add a memory snapshot.",
        )
    if arguments.json:
        write_json(memory_answer(opened))
    else:
        print(_text(opened, report, arguments.top))
    return 0


def _text(opened: Run, report: MemoryReport, n_top: int) -> str:
    peaks = [
        ["reserved", format_peak(report.peaks.reserved_bytes, is_least=report.peaks.is_least)],
        ["allocated", format_peak(report.peaks.allocated_bytes, is_least=report.peaks.is_least)],
        [f"there before the {spanned(report.span)}", amounts(report)[0]],
    ]
    parts = [
        f"{opened.record.name or opened.path.name} · peaks: {report.peaks.source or 'not known'}",
        table(["at the peak", ""], peaks),
    ]
    if report.live is not None and report.live.rows:
        parts.append(
            table(
                ["live at the peak, made for", "module", "line", "n", "bytes"],
                [
                    [
                        shorten(row.operator, _NAME_WIDTH),
                        row.module or "",
                        row.source or "",
                        format_count(row.n),
                        format_bytes(row.bytes),
                    ]
                    for row in report.live.rows[:n_top]
                ],
                n_text=3,
            )
        )
    if report.churn is not None:
        rows = [
            [shorten(row.operator, _NAME_WIDTH), format_count(row.n), format_bytes(row.bytes)]
            for row in report.churn.rows[:n_top]
        ]
        total = ["all", format_count(report.churn.n), format_bytes(report.churn.bytes)]
        parts.append(table([f"allocated {report.span}, for", "n", "bytes"], [*rows, total]))
    if report.segments is not None:
        parts.append(_segments_text(report.segments))
    if report.history is not None and report.history.live.rows:
        parts.append(_stacks_text(report.history.live.rows[:n_top]))
    return "\n\n".join([*parts, *memory_notes(opened)])


def _stacks_text(rows: Sequence[tuple[Origin, int, int]]) -> str:
    """Live bytes by line; where two rows are of one line, with what tells them apart."""
    origins = [origin for origin, _, _ in rows]
    columns = {
        "live at the snapshot's peak": [origin.label for origin in origins],
        "operator": operators_apart(origins),
        "called from": callers_apart(origins),
    }
    shown = {head: cells for head, cells in columns.items() if any(cells)}
    numbers = [(format_count(n), format_bytes(size)) for _, n, size in rows]
    texts = zip(*shown.values(), strict=True)
    lines = [[*text, *number] for text, number in zip(texts, numbers, strict=True)]
    return table([*shown, "n", "bytes"], lines, n_text=len(shown))


def _segments_text(segments: Segments) -> str:
    where = " outside of private pools" if segments.has_private_pools else ""
    rows = [
        ["reserved", format_bytes(segments.reserved_bytes), ""],
        ["allocated", format_bytes(segments.allocated_bytes), ""],
        [
            "free, locked in by neighbours",
            format_bytes(segments.split_free_bytes),
            format_share(segments.fragmented_fraction),
        ],
        ["free, whole segments", format_bytes(segments.whole_free_bytes), ""],
        ["free, in private pools", format_bytes(segments.private_free_bytes), ""],
        [f"largest free block{where}", format_bytes(segments.largest_free_bytes), ""],
    ]
    pools = [
        [f"pool {pool.name}", format_bytes(pool.reserved_bytes), f"{pool.n_segments} segments"]
        for pool in segments.pools
    ]
    return table(["when the snapshot was taken", "", ""], [*rows, *pools])

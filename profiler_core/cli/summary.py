"""`summary RUN_OR_TRACE`: one run or trace in numbers."""

import argparse
from dataclasses import replace
from pathlib import Path

from profiler_core.analysis.categories import CATEGORIES
from profiler_core.analysis.idle import cause_name
from profiler_core.analysis.per_step import per_step
from profiler_core.analysis.span import PER_STEP, Span
from profiler_core.analysis.step_division import DividedStep, divided_steps
from profiler_core.analysis.step_parts import WAITING_FOR_A_RANK
from profiler_core.analysis.step_time import step_time_ns
from profiler_core.analysis.summary import Summary
from profiler_core.analysis.trace_notes import WHAT_IS_LEFT
from profiler_core.analysis.waterfall import (
    ASSUMED_PACE,
    CLOCKS,
    HOST_SHARES,
    OTHER_LABELS,
    UNDIVIDED_IDLE,
    busy_beyond_step,
    own_pace,
)
from profiler_core.analysis.wording.clocks import SHARES_DIFFER
from profiler_core.analysis.wording.recorded_steps import recorded_steps
from profiler_core.answers.encoding import write_json
from profiler_core.answers.summary import summary_answer
from profiler_core.cli.explained import findings_text, server_text
from profiler_core.cli.reading_options import add_reading_options, apply_reading_options
from profiler_core.cli.table import shorten, table
from profiler_core.session.run import Run
from profiler_core.units import (
    format_count,
    format_duration,
    format_peak,
    format_per_step,
    format_share_of,
)

_NAME_WIDTH = 72


def add_parser(subparsers: "argparse._SubParsersAction[argparse.ArgumentParser]") -> None:
    """Declare the arguments."""
    parser = subparsers.add_parser("summary", help="one run or trace in numbers")
    parser.add_argument("path", type=Path, metavar="RUN_OR_TRACE")
    parser.add_argument("--json", action="store_true", help="all numbers, see docs/json.md")
    parser.add_argument("--top", type=int, default=10, help="kernels to list (default 10)")
    add_reading_options(parser)


def run(arguments: argparse.Namespace) -> int:
    """Print it."""
    apply_reading_options(arguments)
    opened = Run.open(arguments.path)
    summary = opened.required_summary()
    if arguments.json:
        write_json(summary_answer(opened))
    else:
        findings, notes = opened.alone.findings, opened.alone.notes
        text = _text(opened, summary, arguments.top)
        server = server_text([opened.server_phases])
        print("\n\n".join([text, *server, *findings_text(findings), *notes]))
    return 0


def _text(opened: Run, summary: Summary, n_top: int) -> str:
    span = summary.span
    steps = recorded_steps(summary, "step")
    if summary.is_cut:
        summary = replace(summary, window=replace(summary.window, steps=()))
    step = per_step(summary)
    word = "GPU" if summary.device_kind == "gpu" else "CPU"
    memory = summary.memory
    (divided,) = divided_steps([opened.side])
    timed_ns = step_time_ns(opened.record.measurement)
    rows = [
        *([] if timed_ns is None else [["step time (unprofiled)", format_duration(timed_ns), ""]]),
        *([] if divided is None else _times(summary, divided, word)),
        [
            "kernels",
            format_count(step.n_kernels),
            format_duration(step.kernel_time_ns),
        ],
        ["memcpy", format_count(step.n_memcpy), ""],
        ["memset", format_count(step.n_memset), ""],
        [
            "launches",
            format_count(step.n_launches),
            f"{format_count(step.n_graph_launches)} of graphs",
        ],
        ["exposed communication", format_duration(step.exposed_communication_ns), ""],
        ["exposed copy", format_duration(step.exposed_copy_ns), ""],
        [
            "peak memory, reserved",
            format_peak(memory.peak_reserved_bytes, is_least=memory.is_least),
            f"allocated {format_peak(memory.peak_allocated_bytes, is_least=memory.is_least)}",
        ],
    ]
    parts = [
        f"{opened.record.name or summary.source} · {summary.device.name or word} · {steps} · "
        f"{format_count(summary.n_events)} events"
        + (f", {format_count(summary.n_skipped)} skipped" if summary.n_skipped else ""),
        table([span, "", ""], rows),
        _categories(summary, span),
    ]
    if summary.is_cut:
        parts.insert(
            0,
            f"The trace is cut: {WHAT_IS_LEFT} How long the {word} was busy and idle is unknown: "
            "what is missing would count as idle.",
        )
    if divided is not None:
        parts.extend(_idle(divided, span))
    if summary.kernels and n_top > 0:
        parts.append(_kernels(summary, n_top, span))
    parts.extend([] if divided is None else _clock_notes(summary, divided))
    parts.extend(summary.notes)
    return "\n\n".join(parts)


def _times(summary: Summary, step: DividedStep, word: str) -> list[list[str]]:
    """How a step divides into work, of a job waiting for its late rank, and idle time."""
    parts = [(f"{word} busy", step.busy_ns), (f"{word} idle", step.idle_ns)]
    if step.waiting_ns:
        parts.insert(1, (WAITING_FOR_A_RANK, step.waiting_ns))
    divided = [[name, format_duration(ns), format_share_of(ns, step.step_ns)] for name, ns in parts]
    if step.over_ns:
        divided.append([OTHER_LABELS[CLOCKS], format_duration(-step.over_ns), ""])
    whole = "step time (profiled)" if summary.span == PER_STEP else "from start to end"
    profiled = [whole, format_duration(summary.profiled_step_ns)]
    if step.clock == "profiled":
        return [[*profiled, ""], *divided]
    busy = format_share_of(summary.working_ns, summary.window_ns)
    return [*divided, [*profiled, f"{word} busy {busy}" if summary.device_kind == "gpu" else ""]]


def _categories(summary: Summary, span: str) -> str:
    total = summary.device_time_ns
    ordered = sorted(summary.by_category.items(), key=lambda item: -item[1].time_ns)
    return table(
        ["category", span, f"time {span}", "share of device time"],
        [
            [
                CATEGORIES[key],
                format_count(summary.per_step(t.n)),
                format_duration(summary.per_step(t.time_ns)),
                format_share_of(t.time_ns, total),
            ]
            for key, t in ordered
        ],
    )


def _idle(step: DividedStep, span: Span) -> list[str]:
    """A table of the causes, where there is idle time and the trace tells them."""
    if step.idle_by_cause_ns is None:
        return []
    rows = [
        [cause_name(cause, span), format_duration(ns), format_share_of(ns, step.idle_ns)]
        for cause, ns in sorted(step.idle_by_cause_ns.items(), key=lambda item: -item[1])
        if ns
    ]
    return [table(["idle because of", f"time {span}", "share of idle"], rows)] if rows else []


def _clock_notes(summary: Summary, step: DividedStep) -> list[str]:
    """What a reader of the timed and of the profiled step wonders about.

    A CPU's operators the profiler slows as much as what is between them: shares are the same.
    """
    if step.clock == "profiled" or summary.device_kind == "cpu":
        return []
    by_cause = step.idle_by_cause_ns or {}
    between_ns = by_cause.get("between_kernels", 0.0)
    is_divided = any(ns and f"idle_{cause}" not in UNDIVIDED_IDLE for cause, ns in by_cause.items())
    return [
        SHARES_DIFFER,
        *([HOST_SHARES] if is_divided else []),
        *([ASSUMED_PACE] if own_pace(summary, between_ns, step.clock) else []),
        *([busy_beyond_step([summary])] if step.beyond_ns else []),
    ]


def _kernels(summary: Summary, n_top: int, span: str) -> str:
    return table(
        ["kernel", "category", f"calls {span}", f"time {span}", "share of kernels", "mean"],
        [
            [
                shorten(k.name, _NAME_WIDTH),
                CATEGORIES[k.category],
                format_per_step(summary.per_step(k.n)),
                format_duration(summary.per_step(k.time_ns)),
                format_share_of(k.time_ns, summary.kernel_time_ns),
                format_duration(k.mean_ns),
            ]
            for k in summary.kernels[:n_top]
        ],
        n_text=2,
    )

"""Recorded runs as a table for the terminal."""

import math
from collections.abc import Sequence

from profiler_core.answers.history import RunAnswer
from profiler_core.cli.table import shorten, table
from profiler_core.model.history import RunHead
from profiler_core.store.history import Deletion, names_of
from profiler_core.units import format_bytes, format_count, format_duration

_HEAD = ["run", "when", "workload", "variant", "status", "tags"]
_NUMBERS = ["step time", "kernels", "breaks", "recompiles", "compile", "memory"]


def runs_table(runs: Sequence[RunHead | RunAnswer]) -> str:
    """One line for each run."""
    if not runs:
        return "No runs."
    return table([*_HEAD, *_NUMBERS], [_row(run) for run in runs], n_text=len(_HEAD))


def trash_table(deletions: Sequence[Deletion]) -> str:
    """One line for each."""
    if not deletions:
        return "Nothing lies in the trash."
    head = ["deletion", "what", "when", "who", "runs", "size", "days left"]
    names = names_of(deletion.person for deletion in deletions)
    rows = [
        [
            deletion.deletion_id,
            shorten(deletion.title, 40) + (" (files)" if deletion.kind == "files" else ""),
            deletion.deleted_at.replace("T", " ").rstrip("Z")[:16],
            names[deletion.person],
            format_count(len(deletion.run_ids)),
            format_bytes(deletion.n_bytes),
            format_count(max(0, math.ceil(deletion.days_left))),
        ]
        for deletion in deletions
    ]
    return table(head, rows, n_text=4)


def _row(run: RunHead | RunAnswer) -> list[str]:
    metrics = run.metrics
    compile_ns = None if metrics.compile_s is None else metrics.compile_s * 1e9
    return [
        run.run_id,
        run.created_at.replace("T", " ").rstrip("Z")[:16],
        shorten(run.workload, 24),
        shorten(run.variant, 28),
        run.status,
        ", ".join(run.tags),
        format_duration(metrics.step_time_ns),
        format_count(metrics.n_kernels),
        format_count(metrics.n_graph_breaks),
        format_count(metrics.n_recompiles),
        format_duration(compile_ns),
        format_bytes(metrics.peak_reserved_bytes),
    ]

"""`telemetry RUN_OR_NVML_FILE`: was the GPU busy, how fast, how hot, and what did a step cost?"""

import argparse
from pathlib import Path

from profiler_core.analysis.telemetry.run import RunTelemetry
from profiler_core.analysis.wording.telemetry import (
    METRIC_HEADS,
    RANK_HEADS,
    clock_sentence,
    jitter_sentence,
    metric_rows,
    phase_sentence,
    rank_rows,
    readings,
)
from profiler_core.answers.encoding import write_json
from profiler_core.answers.telemetry import n_skipped, telemetry_answer
from profiler_core.cli.table import table
from profiler_core.ingest.telemetry.reader import RunSamples
from profiler_core.session.run import Run
from profiler_core.units import format_count


def add_parser(subparsers: "argparse._SubParsersAction[argparse.ArgumentParser]") -> None:
    """Declare the arguments."""
    parser = subparsers.add_parser(
        "telemetry", help="clocks, power, energy, temperature and CPU of a run"
    )
    parser.add_argument("path", type=Path, metavar="RUN_OR_NVML_FILE")
    parser.add_argument("--json", action="store_true", help="all numbers, see docs/json.md")


def run(arguments: argparse.Namespace) -> int:
    """Print it."""
    opened = Run.open(arguments.path)
    telemetry, samples = opened.required_telemetry()
    if arguments.json:
        write_json(telemetry_answer(opened.record, telemetry, samples, opened.metrics))
    else:
        print(_text(opened, telemetry, samples))
    return 0


def _text(opened: Run, telemetry: RunTelemetry, samples: RunSamples) -> str:
    title = " · ".join(part for part in (opened.record.name, telemetry.gpu) if part)
    rows = [[reading.label, reading.value or "–", reading.note] for reading in readings(telemetry)]
    notes = [clock_sentence(telemetry), jitter_sentence(telemetry.jitter)]
    skipped = n_skipped(samples)
    if skipped:
        notes.append(f"{format_count(skipped)} lines are no samples and were left out.")
    listed = table(["measured", "value", ""], rows, n_text=3)
    head = f"{title}\n{phase_sentence(telemetry)}"
    metrics = [list(row) for row in metric_rows(opened.metrics)]
    of_profiler = [table(METRIC_HEADS, metrics)] if metrics else []
    ranks = rank_rows(telemetry)
    of_ranks = [table(RANK_HEADS, list(map(list, ranks)))] if ranks else []
    return "\n\n".join(
        [head, listed, *of_ranks, *of_profiler, "\n".join(note for note in notes if note)]
    )

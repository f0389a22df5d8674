"""`telemetry RUN_OR_NVML_FILE`: was the GPU busy, how fast, how hot, and what did a step cost?"""

import argparse
from pathlib import Path

from profiler_core.analysis.telemetry.phases import PhaseKind, phase_of, phases
from profiler_core.analysis.telemetry.run import RunTelemetry, without_samples
from profiler_core.analysis.wording.telemetry import (
    clock_sentence,
    jitter_sentence,
    phase_sentence,
    readings,
)
from profiler_core.cli.json_output import write_json
from profiler_core.cli.table import table
from profiler_core.errors import NothingToAnalyse
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
    """Print it.

    Raises:
        NothingToAnalyse: nothing was sampled, and why.
    """
    opened = Run.open(arguments.path)
    samples, telemetry = opened.samples, opened.telemetry
    if telemetry is None or (samples.gpus is None and samples.hosts is None):
        remedy = _REMEDY_RANKS if opened.record.world_size > 1 else _REMEDY
        raise NothingToAnalyse(_why(arguments.path, opened, telemetry), remedy=remedy)
    if arguments.json:
        write_json(_answer(opened, telemetry, samples))
    else:
        print(_text(opened, telemetry, samples))
    return 0


_KINDS: tuple[PhaseKind, ...] = ("timing", "telemetry", "profiled")
_REMEDY = "Capture on a machine with NVML or amdsmi, or pass an nvml.jsonl."
_REMEDY_RANKS = "Capture the model with one rank, or pass an nvml.jsonl."


def _why(path: Path, opened: Run, telemetry: RunTelemetry | None) -> str:
    if telemetry is not None and telemetry.reasons:
        return " ".join(telemetry.reasons.values())
    missing = without_samples(opened.record)
    return f"{path} holds no samples of a GPU or a process{f': {missing}' if missing else '.'}"


def _answer(opened: Run, telemetry: RunTelemetry, samples: RunSamples) -> dict[str, object]:
    """The keys of `telemetry` in docs/json.md."""
    measured_phases = phases(opened.record.measurement)
    times = [s.t_ns for s in samples.gpus.samples] if samples.gpus else []
    return {
        "name": opened.record.name,
        "workload": opened.record.workload,
        "variant": opened.record.variant,
        **{name: getattr(telemetry, name) for name in telemetry.__dataclass_fields__},
        "phases": [
            {
                "kind": phase.kind,
                "start_ns": phase.start_ns,
                "end_ns": phase.end_ns,
                "n_steps": phase.n_steps,
            }
            for phase in measured_phases
        ],
        "n_samples_by_phase": _by_phase([phase_of(t, measured_phases) for t in times]),
        "gpu_indexes": samples.gpus.indexes if samples.gpus else (),
        "n_skipped": sum(
            samples_of_kind.tally.n_skipped
            for samples_of_kind in (samples.gpus, samples.hosts)
            if samples_of_kind is not None
        ),
    }


def _by_phase(kinds: list[PhaseKind | None]) -> dict[str, int]:
    counted: dict[str, int] = {kind: kinds.count(kind) for kind in _KINDS}
    return {**counted, "none": kinds.count(None)}


def _text(opened: Run, telemetry: RunTelemetry, samples: RunSamples) -> str:
    title = " · ".join(part for part in (opened.record.name, telemetry.gpu) if part)
    rows = [[reading.label, reading.value or "–", reading.note] for reading in readings(telemetry)]
    notes = [clock_sentence(telemetry), jitter_sentence(telemetry.jitter)]
    skipped = sum(part.tally.n_skipped for part in (samples.gpus, samples.hosts) if part)
    if skipped:
        notes.append(f"{format_count(skipped)} lines are no samples and were left out.")
    listed = table(["measured", "value", ""], rows, n_text=3)
    head = f"{title}\n{phase_sentence(telemetry)}"
    return "\n\n".join([head, listed, "\n".join(note for note in notes if note)])

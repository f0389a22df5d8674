"""Where it was measured, what the numbers mean, and what they leave out."""

from collections.abc import Mapping
from typing import Any

from profiler_core.analysis.measures import step_bars_of
from profiler_core.analysis.rows.measures import definitions
from profiler_core.analysis.rows.table import Table, text_row
from profiler_core.analysis.side import Side
from profiler_core.analysis.wording.recorded_steps import recorded_steps
from profiler_core.analysis.wording.step_bars import scale_notes
from profiler_core.report.contents import Contents
from profiler_core.units import format_bytes, format_count

# Keys of run.json's environment and what to call them.
_SHOWN: Mapping[str, str] = {
    "gpu": "GPU",
    "gpu_memory_bytes": "GPU memory",
    "power_limit_w": "Power limit, W",
    "sm_clock_max_mhz": "Highest SM clock, MHz",
    "driver": "Driver",
    "cuda": "CUDA",
    "cudnn": "cuDNN",
    "torch": "torch",
    "triton": "Triton",
    "python": "Python",
    "cpu": "CPU",
    "cpu_count": "CPU cores",
    "os": "System",
    "host": "Host",
    "git_commit": "Commit of the code",
    "float32_matmul_precision": "fp32 matrix products",
    "inductor_numerics": "Inductor's numerics",
}
_LONGEST = 160  # characters of a value


def method(contents: Contents) -> Mapping[str, Any]:
    """What `report/method.html` shows."""
    sides, labels = contents.sides, contents.labels
    rows = [
        text_row("Run", *(side.run.record.status for side in sides)),
        text_row("Timed", *map(_rounds, sides)),
    ]
    for key, label in _SHOWN.items():
        values = [side.run.record.environment.get(key) for side in sides]
        if any(value is not None for value in values):
            rows.append(text_row(label, *(_value(key, value) for value in values)))
    return {
        "differs": [
            f"{label} and {labels[0]} differ in {d.key}: {_plain(d.candidate)} against "
            f"{_plain(d.baseline)}."
            for label, c in zip(labels[1:], contents.comparison.candidates, strict=True)
            for d in c.environment_differs
        ],
        "environment": Table(("", *labels), tuple(rows)),
        "left_out": (*contents.left_out, *scale_notes(*step_bars_of(sides))),
        "definitions": definitions(contents.comparison),
    }


def _rounds(side: Side) -> str:
    measured = side.run.record.measurement
    rounds = measured.rounds if measured else ()
    n_steps = format_count(sum(timed_round.n_steps for timed_round in rounds))
    if rounds:
        return f"{len(rounds)} rounds, {n_steps} steps"
    if side.summary is None or side.per_step is None:
        return "not timed"
    return recorded_steps(side.summary)


def _value(key: str, value: object) -> str:
    if value is None:
        return "–"
    if key.endswith("_bytes") and isinstance(value, int | float):
        return format_bytes(value)
    return _plain(value)


def _plain(value: object) -> str:
    return str(value)[:_LONGEST]

"""Where it was measured, what the numbers mean, and what they leave out."""

from collections.abc import Mapping
from html import escape
from typing import Any

from profiler_core.analysis.compare import Side
from profiler_core.analysis.measures import measures, scale_notes, step_bars_of
from profiler_core.report.contents import Contents
from profiler_core.report.html.pieces import bullets, chapter, paragraph, table
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
}
_RESULTS = (
    "Results",
    "RMS error against an eager reference in fp64 (fp32 where that is not possible): right when "
    "at most three times the baseline's own, plus the rounding unit of its dtype.",
)
_WORDS = (
    (
        "Fusion group",
        "Operators of the baseline and the kernels of the candidate that do their work. Every "
        "kernel, copy and memset of both runs is in exactly one group, so the groups add up to "
        "the device time of each run.",
    ),
    (
        "Difference of the steps",
        "Each step is divided into kinds of kernels and idle time by cause; the changes add up to "
        "the difference of the two step times exactly. Hatched bars rest on an estimate: idle "
        "time is measured, its division into causes is taken from the profiled steps.",
    ),
    (
        "At stake",
        "An estimate of what a step loses by what stands out, never above the step. Several may "
        "overlap, so they do not add up.",
    ),
    (
        "Graph break",
        "A distinct place and reason at which the compiler ended a graph and Python went on.",
    ),
    (
        "Recompile",
        "A compilation of a function that was compiled before, because a guard failed.",
    ),
)


def environment_chapter(contents: Contents) -> str:
    """What the runs ran on; where they differ it is said first."""
    sides = contents.sides
    rows = [_status(sides), _rounds(sides)]
    rows += [
        [escape(label), *(_value(key, side.run.record.environment.get(key)) for side in sides)]
        for key, label in _SHOWN.items()
        if any(side.run.record.environment.get(key) is not None for side in sides)
    ]
    differs = [
        f"{label} and {contents.labels[0]} differ in {d.key}: {_plain(d.candidate)} against "
        f"{_plain(d.baseline)}."
        for label, c in zip(contents.labels[1:], contents.comparison.candidates, strict=True)
        for d in c.environment_differs
    ]
    return chapter(
        "environment",
        "Where it was measured",
        "",
        bullets(differs),
        table(["", *contents.labels], rows, text=True),
    )


def method_chapter(contents: Contents) -> str:
    """Notes on these runs, then the meaning of each number."""
    notes = (*contents.left_out, *scale_notes(*step_bars_of(contents.sides)))
    words = [(m.label, m.definition) for m in measures(contents.comparison)]
    if any(c.numerics is not None for c in contents.comparison.candidates):
        words.append(_RESULTS)
    words += _WORDS
    body = "".join(f"<dt>{escape(a)}</dt><dd>{escape(b)}</dd>" for a, b in words)
    left_out = f"<h3>What these numbers leave out</h3>{bullets(notes)}" if notes else ""
    how = paragraph(
        "Step times are taken without the profiler, in rounds that alternate between the runs "
        "where they belong to one capture; kernels, launches and idle time come from a profiled "
        "pass of a few steps. The interval of a ratio is a 95 % bootstrap over the rounds; where "
        "it holds 1, neither is called faster.",
        "muted",
    )
    return chapter(
        "method", "How it was measured", "", how, left_out,
        f"<h3>What each number means</h3><dl>{body}</dl>", flow=True,
    )  # fmt: skip


def _status(sides: tuple[Side, ...]) -> list[str]:
    return ["Run", *(escape(side.run.record.status) for side in sides)]


def _rounds(sides: tuple[Side, ...]) -> list[str]:
    cells = ["Timed"]
    for side in sides:
        measured = side.run.record.measurement
        rounds = measured.rounds if measured else ()
        n_steps = format_count(sum(timed_round.n_steps for timed_round in rounds))
        cells.append(f"{len(rounds)} rounds, {n_steps} steps" if rounds else "not timed")
    return cells


def _value(key: str, value: object) -> str:
    if value is None:
        return "–"
    if key.endswith("_bytes") and isinstance(value, int | float):
        return escape(format_bytes(value))
    return escape(_plain(value))


def _plain(value: Any) -> str:
    return str(value)[:160]

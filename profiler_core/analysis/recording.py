"""What a trace says of its recording where another tool made it: steps, process, what is missing.

Ingest writes this into the trace's metadata; it decides nothing, so the sentences are made here.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from profiler_core.model.trace import RECORDED_BY, RECORDING, Trace

TORCH = "torch.profiler"


@dataclass(frozen=True)
class Recording:
    """None: the file does not say, or there is none."""

    tool: str
    version: str | None
    steps: str | None  # the label of the ranges that were taken for steps
    ranges: Mapping[str, int]  # labels that repeat -> how often, the most frequent first
    process: int | None  # pid of the one that was read, where there are several
    other_processes: tuple[int, ...]
    missing: tuple[str, ...]  # what is not in it and how to record it, a sentence each


def recording_of(trace: Trace) -> Recording | None:
    """None for a trace of torch.profiler."""
    tool = recorded_by(trace)
    if tool == TORCH:
        return None
    declared = trace.metadata.get(RECORDING)
    declared = declared if isinstance(declared, Mapping) else {}
    return Recording(
        tool=tool,
        version=_text(declared.get("version")),
        steps=_text(declared.get("steps")),
        ranges=_counts(declared.get("ranges")),
        process=_pid(declared.get("process")),
        other_processes=tuple(p for p in map(_pid, _items(declared, "other_processes")) if p),
        missing=tuple(s for s in map(_text, _items(declared, "missing")) if s),
    )


def recorded_by(trace: Trace) -> str:
    """The name of the tool, as the format of the file has it."""
    return _text(trace.metadata.get(RECORDED_BY)) or TORCH


def recording_notes(recording: Recording) -> list[str]:
    """What was taken for what, and what is missing."""
    notes = []
    if recording.other_processes:
        others = ", ".join(map(str, recording.other_processes[:8]))
        notes.append(
            f"The recording holds {len(recording.other_processes) + 1} processes that used a GPU; "
            f"shown is {recording.process}, not {others}: choose another one on the overview, or "
            "with --process."
        )
    if recording.steps is not None:
        notes.append(
            f"Steps are the NVTX ranges \N{LEFT DOUBLE QUOTATION MARK}{recording.steps}"
            "\N{RIGHT DOUBLE QUOTATION MARK}: choose others on the overview, or with --step-range."
        )
    return [*notes, *recording.missing]


def _items(declared: Mapping[str, Any], key: str) -> list[Any]:
    items = declared.get(key)
    return items if isinstance(items, list) else []


def _text(value: Any) -> str | None:
    return value if isinstance(value, str) else None


def _counts(value: Any) -> dict[str, int]:
    counts = value if isinstance(value, Mapping) else {}
    return {k: n for k, n in counts.items() if isinstance(k, str) and isinstance(n, int)}


def _pid(value: Any) -> int | None:
    return value if isinstance(value, int) else None

"""Samples of counters (ph C) in the text of a piece -> rows of the table `counters`.

Two writers of torch 2.15 have them. `torch/profiler/_cuspy/trace.py` names the process "GPU 0
Counters", the metric in `name`, and keys its value by an empty text. Kineto's
`libkineto/src/output_json.cpp` numbers the process by the device and keys values by the metric.
Their keys are the metrics' names, so no fixed column of the wide rows could hold them.
"""

import re
from typing import Any, TypeGuard

import msgspec
import polars as pl

from profiler_core.model.trace import COUNTER_SCHEMA

_PHASE = re.compile(rb'"ph"\s*:\s*"C"')
_DEVICE = re.compile(r"\bGPU (\d{1,9})\b")
_UNNAMED = ("", "value")  # keys that say nothing which the event's name does not


def counter_rows(text: bytes) -> tuple[pl.DataFrame, int]:
    """(samples, how many events they are of), times on the clock of the file.

    Args:
        text: events, from one border between two to another.
    """
    rows: list[dict[str, Any]] = []
    n_events = 0
    for match in _PHASE.finditer(text):
        try:
            event = msgspec.json.decode(_event_around(text, match), type=dict[str, Any])
        except (ValueError, RecursionError):
            continue
        samples = _samples(event)
        n_events += bool(samples)
        rows += samples
    return pl.DataFrame(rows, schema=COUNTER_SCHEMA), n_events


def _event_around(text: bytes, phase: re.Match[bytes]) -> bytes:
    """The text of an event, which holds no object but its arguments, before or after its phase."""
    begin = text.rfind(b"{", 0, phase.start())
    if text.find(b"}", begin, phase.start()) >= 0:
        begin = text.rfind(b"{", 0, max(begin, 0))
    end = text.find(b"}", phase.end())
    if text.find(b"{", phase.end(), end) >= 0:
        end = text.find(b"}", end + 1)
    return text[max(begin, 0) : end + 1]


def _samples(event: dict[str, Any]) -> list[dict[str, Any]]:
    moment, arguments, process = event.get("ts"), event.get("args"), event.get("pid")
    if event.get("ph") != "C" or not _is_number(moment) or not isinstance(arguments, dict):
        return []
    name = str(event.get("name") or "")
    device = process if isinstance(process, int) else None
    if match := _DEVICE.search(f"{process} {name}"):
        device = int(match[1])
    return [
        {
            "ts_ns": round(moment * 1000),
            "device": device,
            "name": name if key in _UNNAMED else key,
            "value": float(value),
        }
        for key, value in arguments.items()
        if _is_number(value)
    ]


def _is_number(value: object) -> TypeGuard[int | float]:
    return isinstance(value, int | float) and not isinstance(value, bool)

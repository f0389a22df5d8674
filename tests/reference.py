"""Totals of a trace by another route: json.loads and plain loops, nothing of the product.

Written from docs/columns.md, Device time and Launches, alone. Slow and simple on purpose: what the
fast readers and the analyses say is compared with this to the nanosecond.
"""

import bisect
import gzip
import json
from decimal import ROUND_HALF_UP, Decimal
from pathlib import Path
from typing import Any

KINDS = {"kernel": "n_kernels", "gpu_memcpy": "n_memcpy", "gpu_memset": "n_memset"}
CALLS = ("cuda_runtime", "cuda_driver", "hip_runtime", "xpu_runtime", "xpu_driver")

Event = dict[str, Any]


def read_events(path: Path) -> list[Event]:
    """The events of a sound .json or .json.gz, numbers with a fraction as Decimal."""
    data = path.read_bytes()
    if data.startswith(b"\x1f\x8b"):
        data = gzip.decompress(data)
    document = json.loads(data, parse_float=Decimal)
    return document if isinstance(document, list) else document["traceEvents"]


def ns(microseconds: Any) -> int:
    """Decimal microseconds to whole ns; half a nanosecond rounds away from zero."""
    return int((Decimal(str(microseconds)) * 1000).to_integral_value(ROUND_HALF_UP))


def union(intervals: list[tuple[int, int]]) -> int:
    """Instants that at least one of the (start, end) covers."""
    total, until = 0, None
    for start, end in sorted(intervals):
        if until is None or start > until:
            total, until = total + max(0, end - start), max(start, end)
        elif end > until:
            total, until = total + end - until, end
    return total


def reference_totals(path: Path) -> dict[str, Any]:
    """`totals` of a file."""
    return totals(read_events(path))


def totals(events: list[Event]) -> dict[str, Any]:
    """Counts and times of the device work in the window, and counts over the whole file.

    Over the window: n_kernels, n_memcpy, n_memset, kernel_time_ns, device_time_ns, busy_ns,
    idle_ns (busy and idle: the union over all streams of all devices), window_ns, n_steps,
    n_left_over, n_launches, n_graph_launches.
    Over the file: file_n_kernels, file_n_memcpy, file_n_memset, file_kernel_time_ns,
    file_busy_ns, file_n_ops, file_n_calls, file_n_python, file_n_memory.
    """
    ranges = [event for event in events if event.get("ph") == "X"]
    device = [event for event in ranges if event.get("cat") in KINDS]
    result = _file_totals(events, ranges, device)

    steps = sorted(_steps(ranges).values())
    calls = _calls(ranges)
    inside = device
    left_over: list[Event] = []
    if steps:
        inside, left_over = _assign(device, calls, steps)
        start = max([steps[0][0], *(_end(event) for event in left_over)])
        end = max([steps[-1][1], *(_end(event) for event in inside)])
    else:
        first = min((_start(e) for e in device if _correlation(e) in calls), default=0)
        left_over = [e for e in device if _start(e) < first and _correlation(e) not in calls]
        inside = [event for event in device if event not in left_over]
        real = [e for e in ranges if e.get("cat") not in ("Trace", "overhead", None)]
        start = min((_start(event) for event in real if event not in left_over), default=0)
        start = max([start, *(_end(event) for event in left_over)])
        end = max((_end(event) for event in real), default=0)

    for key in KINDS.values():
        result[key] = 0
    for event in inside:
        result[KINDS[event["cat"]]] += 1
    clipped = [(max(start, _start(e)), min(end, _end(e))) for e in inside]
    launches = {_correlation(e) for e in inside} & set(calls)
    result |= {
        "n_steps": len(steps),
        "n_left_over": len(left_over),
        "window_ns": end - start,
        "kernel_time_ns": sum(_length(e) for e in inside if e["cat"] == "kernel"),
        "device_time_ns": sum(_length(e) for e in inside),
        "busy_ns": union([(a, b) for a, b in clipped if b > a]),
        "n_launches": len(launches),
        "n_graph_launches": sum("GraphLaunch" in calls[c]["name"] for c in launches),
    }
    result["idle_ns"] = result["window_ns"] - result["busy_ns"]
    return result


def _file_totals(events: list[Event], ranges: list[Event], device: list[Event]) -> dict[str, int]:
    def count(*categories: str) -> int:
        return sum(event.get("cat") in categories for event in ranges)

    return {
        "file_n_kernels": count("kernel"),
        "file_n_memcpy": count("gpu_memcpy"),
        "file_n_memset": count("gpu_memset"),
        "file_kernel_time_ns": sum(_length(e) for e in device if e["cat"] == "kernel"),
        "file_busy_ns": union([(_start(e), _end(e)) for e in device]),
        "file_n_ops": count("cpu_op"),
        "file_n_calls": count(*CALLS),
        "file_n_python": count("python_function"),
        "file_n_memory": sum(e.get("name") == "[memory]" and e.get("ph") == "i" for e in events),
    }


def _start(event: Event) -> int:
    return ns(event["ts"])


def _length(event: Event) -> int:
    return ns(event.get("dur", 0))


def _end(event: Event) -> int:
    return _start(event) + _length(event)


def _correlation(event: Event) -> int | None:
    number = event.get("args", {}).get("correlation")
    return number if isinstance(number, int) and number > 0 else None


def _steps(ranges: list[Event]) -> dict[str, tuple[int, int]]:
    steps: dict[str, tuple[int, int]] = {}
    for event in ranges:
        if event.get("cat") != "user_annotation" or _length(event) <= 0:
            continue
        if event["name"].startswith("ProfilerStep#"):
            steps.setdefault(event["name"], (_start(event), _end(event)))
    return steps


def _calls(ranges: list[Event]) -> dict[int, Event]:
    """The earliest runtime or driver call of each correlation."""
    calls: dict[int, Event] = {}
    for event in ranges:
        correlation = _correlation(event)
        if event.get("cat") in CALLS and correlation is not None:
            known = calls.get(correlation)
            if known is None or _start(event) < _start(known):
                calls[correlation] = event
    return calls


def _assign(
    device: list[Event], calls: dict[int, Event], steps: list[tuple[int, int]]
) -> tuple[list[Event], list[Event]]:
    """(launched by a step, left over from before the first one).

    An event whose launch is unknown is left over where nothing launched by a step came before
    it on its stream (a stream runs in order); else it belongs to where its predecessor does.
    """
    starts = [start for start, _ in steps]
    last_end = max(end for _, end in steps)
    linked = any(_correlation(event) in calls for event in device)
    inside, left_over = [], []
    state: dict[Any, str] = {}
    for event in sorted(device, key=_start):
        args = event.get("args", {})
        stream = (args.get("device"), args.get("stream"))
        call = calls.get(_correlation(event) or 0)
        if call is None and linked:
            where = state.get(stream, "before")
        else:
            moment = _start(call if call is not None else event)
            step = bisect.bisect_right(starts, moment) - 1
            where = "before" if step < 0 else "after" if moment > last_end else "inside"
            state[stream] = where
        if where == "inside":
            inside.append(event)
        elif where == "before":
            left_over.append(event)
    return inside, left_over

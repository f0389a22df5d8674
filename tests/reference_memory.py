"""Memory of a trace by another route: json.loads and plain loops, nothing of the product.

Written from the definitions in docs/columns.md alone.
"""

from collections import defaultdict
from pathlib import Path
from typing import Any

from tests.reference import ns, read_events


def memory_totals(path: Path) -> dict[tuple[int, int], dict[str, Any]]:
    """(device type, device id) -> peak_allocated, peak_reserved, n, bytes, live, before.

    n and bytes: allocations of the profiled steps; live: bytes made since the first step and not
    freed at the first moment of the allocated peak; before: the rest of that peak.
    """
    events = read_events(path)
    steps = sorted(
        (ns(e["ts"]), ns(e["ts"]) + ns(e["dur"]))
        for e in events
        if e.get("ph") == "X"
        and e.get("cat") == "user_annotation"
        and e["name"].startswith("ProfilerStep#")
    )
    by_device: dict[tuple[int, int], list[dict[str, Any]]] = defaultdict(list)
    for event in events:
        if event.get("name") == "[memory]" and event.get("ph") == "i":
            at = ns(event["ts"])
            if not steps or steps[0][0] <= at <= max(end for _, end in steps):
                key = (event["args"]["Device Type"], event["args"]["Device Id"])
                by_device[key].append({"at": at, **event["args"]})
    return {key: _device(sorted(found, key=lambda e: e["at"])) for key, found in by_device.items()}


def _device(found: list[dict[str, Any]]) -> dict[str, Any]:
    peak = found[0]["Total Allocated"] - found[0]["Bytes"]
    alive: dict[int, int] = {}
    live_at_peak = 0
    for event in found:
        if event["Bytes"] > 0:
            alive[event["Addr"]] = event["Bytes"]
        else:
            alive.pop(event["Addr"], None)
        if event["Total Allocated"] > peak:
            peak, live_at_peak = event["Total Allocated"], sum(alive.values())
    made = [event["Bytes"] for event in found if event["Bytes"] > 0]
    return {
        "peak_allocated": peak,
        "peak_reserved": max(event["Total Reserved"] for event in found),
        "n": len(made),
        "bytes": sum(made),
        "live": live_at_peak,
        "before": peak - live_at_peak,
    }


def made_by_operator(path: Path) -> dict[str, tuple[int, int]]:
    """Of a CPU's trace: outermost operator or generated kernel -> buffers and bytes of all steps.

    A buffer is for the one that its event lies in, else for the thread's next one.
    """
    events = read_events(path)
    spans = [
        (ns(e["ts"]), ns(e["ts"]) + ns(e["dur"]), e["tid"], e["name"])
        for e in events
        if e.get("cat") == "cpu_op" and e["name"].startswith(("aten::", "graph_"))
    ]
    made: dict[str, tuple[int, int]] = {}
    for event in events:
        if event.get("name") != "[memory]" or event["args"]["Bytes"] <= 0:
            continue
        left = [s for s in spans if s[2] == event["tid"] and s[1] > ns(event["ts"])]
        name = min(left, key=lambda span: (span[0], -span[1]))[3]
        n, size = made.get(name, (0, 0))
        made[name] = (n + 1, size + event["args"]["Bytes"])
    return made

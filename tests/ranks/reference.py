"""Overlap and waiting by another route: json.loads and plain loops, nothing of the product.

Communication is what NCCL's kernels do; the window is that of tests/reference.py.
"""

from pathlib import Path

from tests.reference import KINDS, _assign, _calls, _end, _start, _steps, read_events, union


def rank_totals(path: Path) -> dict[str, int]:
    """ns over the window of one rank's trace, all steps together."""
    events = [e for e in read_events(path) if e.get("ph") == "X"]
    device = [e for e in events if e.get("cat") in KINDS]
    steps = sorted(_steps(events).values())
    inside, left_over = _assign(device, _calls(events), steps)
    start = max([steps[0][0], *(_end(e) for e in left_over)])
    end = max([steps[-1][1], *(_end(e) for e in inside)])

    def spans(chosen):
        cut = [(max(start, _start(e)), min(end, _end(e))) for e in device if chosen(e)]
        return [(a, b) for a, b in cut if a < b]

    communication = spans(_is_communication)
    compute = spans(lambda e: e["cat"] == "kernel" and not _is_communication(e))
    both = union(communication + compute)
    everything = union(spans(lambda e: True))
    return {
        "dur_ns": end - start,
        "compute_ns": union(compute),
        "communication_ns": union(communication),
        "exposed_communication_ns": both - union(compute),
        "overlap_ns": union(communication) + union(compute) - both,
        "exposed_copy_ns": everything - both,
        "idle_ns": end - start - everything,
    }


def collective_durations(path: Path) -> list[int]:
    """How long each NCCL kernel of the profiled steps lasted, in launch order."""
    events = [e for e in read_events(path) if e.get("ph") == "X"]
    steps = sorted(_steps(events).values())
    calls = _calls(events)
    device = [e for e in events if e.get("cat") in KINDS]
    inside, _ = _assign(device, calls, steps)
    launched = {e["args"]["correlation"]: e["ts"] for e in events if "cuda" in e.get("cat", "")
                and "correlation" in e.get("args", {})}  # fmt: skip
    ours = [e for e in inside if _is_communication(e)]
    ours.sort(key=lambda e: launched[e["args"]["correlation"]])
    return [_end(e) - _start(e) for e in ours]


def _is_communication(event) -> bool:
    return event["cat"] == "kernel" and event["name"].startswith("nccl")

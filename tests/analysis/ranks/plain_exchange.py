"""What collectives expose and slow, from the JSON of a job's traces: shares no code with ours.

Every function takes {rank: {"traceEvents": […]}} and answers in µs, the unit of the files.
"""

import bisect
import statistics

from tests.analysis.ranks.plain_job import (
    complete,
    is_collective,
    launched_in_steps,
    shapes_of,
    steps,
    waits,
    with_launches,
)


def kind(event):
    """The collective of a kernel, in the words of the product."""
    kinds = ("AllGather", "ReduceScatter", "AllReduce", "Broadcast", "SendRecv")
    words = ("all_gather", "reduce_scatter", "all_reduce", "broadcast", "send_recv")
    name = next(name for name in kinds if name in event["name"])
    return words[kinds.index(name)]


def exposed_transfers(traces, rank):
    """{kind: (exposed, holding up)} per step, µs, instant by instant on a grid of 0.5 µs.

    Exposed: a collective moves data, the last rank having come, and no other kernel runs. Holding
    up: the next kernel starts after its end, and its launch had been made by then. Where several
    collectives move data at once, the instant is of the one that came first.
    """
    grid = 0.5
    launched = {e["ts"]: at for e, at in with_launches(traces[rank]) if not is_collective(e)}
    compute = [e for e in complete(traces[rank], "kernel") if not is_collective(e)]
    starts = [e["ts"] for e in compute]
    busy = _cells([(e["ts"], e["ts"] + e["dur"]) for e in compute], grid)
    waited = {start: until for start, until, _ in waits(traces)[rank]}
    calls = [e for _, e in launched_in_steps(traces[rank]) if is_collective(e)]
    sums, taken, held = {}, set(), set()
    for event in sorted(calls, key=lambda e: max(waited[e["ts"]], e["ts"])):
        end = event["ts"] + event["dur"]
        free = _cells([(max(waited[event["ts"]], event["ts"]), end)], grid) - busy
        last = max((e["ts"] + e["dur"] for e in compute if e["ts"] < end), default=0.0)
        after = bisect.bisect_left(starts, end)
        at = launched[starts[after]] if after < len(starts) else float("inf")
        since = max(last, at or 0.0, waited[event["ts"]], event["ts"])
        holding = _cells([(since, end)], grid) - busy if since < end else set()
        exposed, holding_up = sums.get(kind(event), (0.0, 0.0))
        sums[kind(event)] = (
            exposed + len(free - taken) * grid,
            holding_up + len(holding - held) * grid,
        )
        taken |= free
        held |= holding
    n = len(steps(traces[rank]))
    return {name: (exposed / n, holding / n) for name, (exposed, holding) in sums.items()}


def products_beside(traces, rank):
    """µs per step that a rank's products take longer beside collectives than with none beside.

    By name, grid, block and shapes. Alone: the mean of those that ran with no collective beside
    them, of the rank's own where half of them did, else of all ranks'. Left out: products that
    never did, and those of which two such calls differ by more than 30 %: they are not of one size.
    """
    alone, own, beside = {}, {}, {}
    for number, trace in traces.items():
        spans = sorted(
            (e["ts"], e["ts"] + e["dur"]) for _, e in launched_in_steps(trace) if is_collective(e)
        )
        shapes = shapes_of(trace)
        for _, event in launched_in_steps(trace):
            if is_collective(event) or "gemm" not in event["name"].lower():
                continue
            end = event["ts"] + event["dur"]
            is_beside = any(s < end and e > event["ts"] for s, e in spans)
            args = event["args"]
            dims = shapes.get(args.get("External id"))
            key = (event["name"], tuple(args["grid"]), tuple(args["block"]), dims)
            if not is_beside:
                alone.setdefault(key, []).append(event["dur"])
            if number == rank:
                (beside if is_beside else own).setdefault(key, []).append(event["dur"])
    typical = {
        key: own[key] if len(own.get(key, [])) >= max(1, len(beside.get(key, []))) else durations
        for key, durations in alone.items()
    }
    longer = {
        key: max(0.0, sum(durations) - len(durations) * statistics.mean(typical[key]))
        for key, durations in beside.items()
        if key in alone and max(alone[key]) <= 1.3 * min(alone[key])
    }
    n = len(steps(traces[rank]))
    return {key: us / n for key, us in longer.items()}


def _cells(spans, grid):
    return {cell for s, e in spans for cell in range(round(s / grid), round(e / grid))}

"""What collectives expose and slow, from the JSON of a job's traces: shares no code with ours.

Every function takes {rank: {"traceEvents": […]}} and answers in µs, the unit of the files.
"""

import bisect
import itertools
import statistics

from tests.analysis.ranks.plain_job import (
    compute,
    is_collective,
    launched_in_steps,
    length,
    merged,
    outside,
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
    """{kind: (exposed, holding up)} per step, µs.

    Exposed: a collective moves data, the last rank having come, and no other kernel runs. Holding
    up: the next kernel starts after its end, and its launch had been made by then. Where several
    collectives move data at once, the instant is of the one that came first.
    """
    launched = {e["ts"]: at for e, at in with_launches(traces[rank]) if not is_collective(e)}
    spans = sorted(compute(traces[rank]))
    starts = [start for start, _ in spans]
    over_at = list(itertools.accumulate((end for _, end in spans), max))
    busy = merged(spans)
    waited = {start: until for start, until, _ in waits(traces)[rank]}
    calls = [e for _, e in launched_in_steps(traces[rank]) if is_collective(e)]
    sums, taken, held = {}, [], []
    for event in sorted(calls, key=lambda e: max(waited[e["ts"]], e["ts"])):
        begin, end = max(waited[event["ts"]], event["ts"]), event["ts"] + event["dur"]
        free = outside(outside([(begin, end)], busy), taken)
        after = bisect.bisect_left(starts, end)
        at = launched[starts[after]] if after < len(starts) else float("inf")
        last = over_at[after - 1] if after else 0.0
        since = max(last, at or 0.0, begin)
        holding = outside(outside([(since, end)], busy), held) if since < end else []
        exposed, holding_up = sums.get(kind(event), (0.0, 0.0))
        sums[kind(event)] = (exposed + length(free), holding_up + length(holding))
        taken, held = merged(taken + free), merged(held + holding)
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

"""A job of ranks computed from the JSON of its traces, in plain Python: shares no code with ours.

Every function takes {rank: {"traceEvents": […]}} and answers in µs, the unit of the files.
"""

import bisect
import functools
import itertools
import statistics


def once_per_trace(compute):
    """A function of a trace as it was read, which nobody changes: its answer is kept in it."""

    @functools.wraps(compute)
    def answer(trace, *more):
        kept = trace.setdefault("kept answers", {})
        if (compute, more) not in kept:
            kept[compute, more] = compute(trace, *more)
        return kept[compute, more]

    return answer


@once_per_trace
def complete(trace, *categories):
    """The complete events of some categories, by their start."""
    events = [e for e in trace["traceEvents"] if e.get("ph") == "X" and e.get("cat") in categories]
    return sorted(events, key=lambda event: event["ts"])


@once_per_trace
def steps(trace):
    """(start, end) of the profiled steps."""
    ranges = [
        (e["ts"], e["ts"] + e["dur"])
        for e in complete(trace, "user_annotation")
        if e["name"].startswith("ProfilerStep#")
    ]
    return sorted(set(ranges))


def is_collective(event):
    return event["name"].startswith("nccl")


@once_per_trace
def with_launches(trace):
    """The device's events, each with the time at which the host launched it, or None."""
    launches = {
        e["args"]["correlation"]: e["ts"]
        for e in complete(trace, "cuda_runtime", "cuda_driver")
        if e.get("args", {}).get("correlation")
    }
    device = complete(trace, "kernel", "gpu_memcpy", "gpu_memset")
    return [(event, launches.get(event["args"].get("correlation"))) for event in device]


@once_per_trace
def launched_in_steps(trace):
    """The device's events with the number of the step in which the host launched them."""
    ranges = steps(trace)
    events = []
    for event, at in with_launches(trace):
        number = bisect.bisect_right([start for start, _ in ranges], at) - 1 if at else -1
        if number >= 0 and at <= ranges[-1][1]:
            events.append((number, event))
    return events


def cuts(trace):
    """Where the steps begin and end: each with the last event that it launched, or its host."""
    ranges = steps(trace)
    launched = launched_in_steps(trace)
    early = [
        e["ts"] + e["dur"] for e, at in with_launches(trace) if at is None or at < ranges[0][0]
    ]
    at = [max([ranges[0][0], *early])]
    for number, (_, end) in enumerate(ranges):
        ends = [e["ts"] + e["dur"] for step, e in launched if step == number]
        at.append(max([end, at[-1], *ends]))
    return at


def step_time(traces):
    """The mean over the steps of the slowest rank."""
    at = [cuts(trace) for trace in traces.values()]
    durations = [[end - start for start, end in itertools.pairwise(c)] for c in at]
    return statistics.mean(max(of_ranks) for of_ranks in zip(*durations, strict=True))


def waits(traces):
    """{rank: [(start, end of the waiting, rank that came last)]}; n-th of its kind with n-th."""
    calls = {}
    for rank, trace in traces.items():
        counts = {}
        for step, event in launched_in_steps(trace):
            if is_collective(event):
                key = (step, event["name"].split("_Sum")[0].split("_RING")[0])
                counts[key] = counts.get(key, 0) + 1
                calls.setdefault((*key, counts[key]), {})[rank] = event
    waiting = {rank: [] for rank in traces}
    for of_ranks in calls.values():
        last = min(of_ranks, key=lambda rank: of_ranks[rank]["dur"])
        for rank, event in of_ranks.items():
            until = event["ts"] + event["dur"] - of_ranks[last]["dur"]
            waiting[rank].append((event["ts"], until, last))
    return waiting


def transfer(traces, rank):
    """Per step: what the collectives of a rank last once the last rank has come."""
    kernels = sum(e["dur"] for _, e in launched_in_steps(traces[rank]) if is_collective(e))
    waited = sum(until - start for start, until, _ in waits(traces)[rank])
    return (kernels - waited) / len(steps(traces[rank]))


def exposed_waiting(traces, rank):
    """Per step: time in which the rank waits, computes nothing and moves no data either."""
    waiting = [(start, until) for start, until, _ in waits(traces)[rank]]
    busy = merged([*compute(traces[rank]), *transfers(traces, rank)])
    return length(outside(merged(waiting), busy)) / len(steps(traces[rank]))


def exposed_transfer(traces, rank):
    """Per step: time in which a collective moves data, the last rank having come, and no other
    kernel of the rank runs; calls that overlap count once."""
    free = outside(merged(transfers(traces, rank)), merged(compute(traces[rank])))
    return length(free) / len(steps(traces[rank]))


def exposed_communication(traces, rank):
    """Per step: time in which a collective runs, waiting or not, and no other kernel does."""
    calls = [
        (e["ts"], e["ts"] + e["dur"])
        for _, e in launched_in_steps(traces[rank])
        if is_collective(e)
    ]
    return length(outside(merged(calls), merged(compute(traces[rank])))) / len(steps(traces[rank]))


def compute(trace):
    """(start, end) of every kernel that is no collective."""
    kernels = complete(trace, "kernel")
    return [(e["ts"], e["ts"] + e["dur"]) for e in kernels if not is_collective(e)]


def transfers(traces, rank):
    """(start, end) of what each collective of a rank lasts once the last rank has come."""
    arrived = {start: until for start, until, _ in waits(traces)[rank]}
    return [
        (arrived[e["ts"]], e["ts"] + e["dur"])
        for _, e in launched_in_steps(traces[rank])
        if is_collective(e)
    ]


def merged(spans):
    """The union of spans, as spans that touch no other, by their start."""
    union = []
    for start, end in sorted(span for span in spans if span[1] > span[0]):
        if union and start <= union[-1][1]:
            union[-1] = (union[-1][0], max(union[-1][1], end))
        else:
            union.append((start, end))
    return union


def outside(spans, others):
    """What of merged spans lies in none of other merged spans."""
    ends = [end for _, end in others]
    free = []
    for start, end in spans:
        at = start
        for other_start, other_end in others[bisect.bisect_right(ends, start) :]:
            if other_start >= end:
                break
            if other_start > at:
                free.append((at, other_start))
            at = other_end
        if at < end:
            free.append((at, end))
    return free


def length(spans):
    """The sum of the lengths of spans."""
    return sum(end - start for start, end in spans)


def idle(trace):
    """Per step: instants inside the steps in which the device runs nothing at all."""
    free = 0.0
    for start, end in itertools.pairwise(cuts(trace)):
        at = start
        for event in complete(trace, "kernel", "gpu_memcpy", "gpu_memset"):
            begin, stop = (
                min(max(t, start), end) for t in (event["ts"], event["ts"] + event["dur"])
            )
            if stop > at:
                free += max(0.0, begin - at)
                at = stop
        free += end - at
    return free / len(steps(trace))


def costs(traces):
    """{rank: [(step, event, µs that it costs with nothing beside it)]}; collectives transfer only.

    Calls of a kernel (name, grid, block, shapes) beside a collective take together what as many
    calls alone take: the rank's own where half of its calls run alone, else those of all ranks. Of
    a kernel that never runs alone, and of one whose calls alone differ by more than 30 %, it is the
    mean of the rank where all calls are shortest. Those that last longer than one lose equal parts
    of what they last longer.
    """
    events, alone = {}, {}
    for rank, trace in traces.items():
        shapes = shapes_of(trace)
        events[rank] = [
            (step, {**event, "kind": _kind(event, shapes)})
            for step, event in launched_in_steps(trace)
        ]
        spans = [(e["ts"], e["ts"] + e["dur"]) for _, e in events[rank] if is_collective(e)]
        alone[rank] = [
            e["cat"] != "kernel"
            or not any(e["ts"] < end and start < e["ts"] + e["dur"] for start, end in spans)
            for _, e in events[rank]
        ]
    durations = {}  # kind -> rank -> (of calls alone, of calls beside a collective)
    for rank, of_rank in events.items():
        for (_, event), is_alone in zip(of_rank, alone[rank], strict=True):
            lists = durations.setdefault(event["kind"], {}).setdefault(rank, ([], []))
            lists[0 if is_alone else 1].append(event["dur"])
    until = {(rank, start): end for rank, every in waits(traces).items() for start, end, _ in every}
    answer = {rank: [] for rank in traces}
    for rank, of_rank in events.items():
        for (step, event), is_alone in zip(of_rank, alone[rank], strict=True):
            cost = event["dur"]
            if is_collective(event):
                cost -= until.get((rank, event["ts"]), event["ts"]) - event["ts"]
            elif not is_alone:
                one, part = _lost(durations[event["kind"]], rank)
                cost -= part * max(0.0, cost - one)
            answer[rank].append((step, event, cost))
    return answer


def _kind(event, shapes):
    args = event.get("args", {})
    dims = shapes.get(args.get("External id"))
    return event["name"], str(args.get("grid")), str(args.get("block")), dims


def shapes_of(trace):
    """{external id: shapes of the operator's arguments}, where they were recorded."""
    return {
        e["args"]["External id"]: str(e["args"]["Input Dims"])
        for e in complete(trace, "cpu_op")
        if {"External id", "Input Dims"} <= e.get("args", {}).keys()
    }


def _lost(by_rank, rank):
    """What one call costs alone, and the part that is lost of what calls take longer."""
    own, beside = by_rank[rank]
    every = [duration for alone, _ in by_rank.values() for duration in alone]
    if not every or max(every) > 1.3 * min(every):
        one = min(statistics.mean(alone + slow) for alone, slow in by_rank.values())
    elif len(own) >= len(beside):
        one = statistics.mean(own)
    else:
        one = statistics.mean(every)
    longer = sum(max(0.0, duration - one) for duration in beside)
    lost = max(0.0, sum(beside) - one * len(beside))
    return one, lost / longer if longer else 0.0


def group_times(traces, labels, rank, reference):
    """{label: µs per step on a rank}; the n-th of a name in a step is as on the reference rank.

    Args:
        labels: {(start µs of an event of the reference rank, name): its group}.
    """
    every = costs(traces)
    named = {}
    for step, event, _ in sorted(every[reference], key=lambda each: each[1]["ts"]):
        at = named.setdefault((step, event["name"]), [])
        at.append(labels[event["ts"], event["name"]])
    sums, counts = {}, {}
    for step, event, cost in sorted(every[rank], key=lambda each: each[1]["ts"]):
        key = (step, event["name"])
        counts[key] = counts.get(key, 0) + 1
        label = named[key][counts[key] - 1]
        sums[label] = sums.get(label, 0.0) + cost / len(steps(traces[rank]))
    return sums

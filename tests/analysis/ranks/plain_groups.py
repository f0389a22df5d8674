"""Who waits for whom in each process group, from the JSON of the traces: shares no code with ours.

Takes {rank: {"traceEvents": […]}}, answers in µs per step.
"""

import json

from tests.analysis.ranks.plain_job import complete, steps


def calls_of(trace, rank):
    """[(step, ranks that take part, is between two, µs)] in the order of their launches."""
    begins = [start for start, _ in steps(trace)]
    kernels = {e["args"]["correlation"]: e for e in complete(trace, "kernel")}
    launches = [e for e in complete(trace, "cuda_runtime") if e["name"].startswith("cudaLaunch")]
    calls = []
    for record in complete(trace, "cpu_op"):
        args = record.get("args", {})
        if record["name"] != "record_param_comms" or "Process Group Ranks" not in args:
            continue
        inside = [e for e in launches if 0 <= e["ts"] - record["ts"] <= record["dur"]]
        ranks = json.loads(args["Process Group Ranks"])
        other = args.get("Dst Rank", args.get("Src Rank"))
        members = tuple(ranks) if other is None else tuple(sorted((rank, ranks[other])))
        for launch in inside:
            kernel = kernels[launch["args"]["correlation"]]
            step = sum(start <= record["ts"] for start in begins) - 1
            if step >= 0:
                calls.append((step, members, other is not None, kernel["dur"]))
    return calls


def waits(traces):
    """[(ranks that take part, is between two, the rank that came last, {rank: µs it waited})]."""
    same = {}
    for rank, trace in traces.items():
        counts = {}
        for step, members, between_two, us in calls_of(trace, rank):
            number = counts[step, members] = counts.get((step, members), 0) + 1
            same.setdefault((step, members, between_two, number), {})[rank] = us
    answer = []
    for (_, members, between_two, _), of_ranks in same.items():
        if len(of_ranks) > 1:
            last = min(of_ranks, key=of_ranks.get)
            waited = {rank: us - of_ranks[last] for rank, us in of_ranks.items()}
            answer.append((members, between_two, last, waited))
    return answer


def awaited(traces):
    """{rank: how long others wait for it}: the most over its groups of collectives.

    Of a group it is what one of the others waits for it, and no more than by how much longer one
    of them waits in all. Of two that send and receive, what the other waits less its own waiting.
    """
    n_steps = len(steps(next(iter(traces.values()))))
    made, own = {}, dict.fromkeys(traces, 0.0)
    for members, between_two, last, of_ranks in waits(traces):
        of_group = made.setdefault((members, between_two), {})
        of_group[last] = of_group.get(last, 0.0) + sum(of_ranks.values())
        for rank, us in of_ranks.items():
            own[rank] += us
    answer = {rank: [] for rank in traces}
    for (members, between_two), of_group in made.items():
        for rank in members:
            each = of_group.get(rank, 0.0) / (len(members) - 1)
            others = sum(own[other] for other in members if other != rank) / (len(members) - 1)
            more = each - own[rank] if between_two else min(each, others - own[rank])
            answer[rank].append((between_two, more / n_steps))
    return answer

"""A made-up job on a mesh of dp × pp × tp, played through kernel by kernel: the truth is known.

Each stage of a pipeline (GPipe) works on its microbatches, sums over its tp group after each, sends
to the next stage and receives from it; after the last one the gradients are summed over dp. What
is planted on one rank is taken out by playing the same job without it. Times in µs.
"""

import gzip
import json
from collections import deque
from typing import NamedTuple

STEPS, MICROBATCHES = 2, 4
FORWARD, BACKWARD, OPTIMIZER = 1000.0, 2000.0, 500.0  # of one microbatch, of a step
TRANSFERS = {"allreduce": 100.0, "send": 20.0, "recv": 20.0}
KERNELS = {
    "work": "ampere_sgemm_128x64_nn",
    "spin": "at::cuda::spin_kernel(long)",
    "optimizer": "multi_tensor_apply_kernel",
    "allreduce": "ncclDevKernel_AllReduce_Sum_f32_RING_LL",
    "send": "ncclDevKernel_SendRecv",
    "recv": "ncclDevKernel_SendRecv",
}
_BASE_NS = 1_790_000_000_000_000_000


class Mesh(NamedTuple):
    """Sizes; ranks are neighbours in tp, then in pp."""

    dp: int
    pp: int
    tp: int

    @property
    def n(self):
        return self.dp * self.pp * self.tp

    def place(self, rank):
        """(dp, pp, tp) of a rank."""
        return rank // (self.tp * self.pp), rank // self.tp % self.pp, rank % self.tp

    def rank(self, d, p, t):
        return (d * self.pp + p) * self.tp + t

    def group(self, rank, dimension):
        """The ranks that differ from this one along one dimension alone."""
        d, p, t = self.place(rank)
        if dimension == "tp":
            return tuple(self.rank(d, p, other) for other in range(self.tp))
        if dimension == "pp":
            return tuple(self.rank(d, other, t) for other in range(self.pp))
        return tuple(self.rank(other, p, t) for other in range(self.dp))


class Planted(NamedTuple):
    """What one rank does more, once per step before its first work."""

    rank: int
    kind: str  # "spin" of its device, "sleep" of its host
    us: float
    slower: float = 1.0  # how many times as long its kernels take: a lower clock


class Event(NamedTuple):
    """One kernel."""

    kind: str
    start: float
    end: float
    ranks: tuple = ()  # of its collective, the sender or receiver last
    pause: float = 0.0  # of the host before its launch


def _program(mesh, rank, planted, stretch, only):
    """One step of a rank: (kind, its own duration, ranks that take part)."""
    _, stage, _ = mesh.place(rank)
    pipeline = mesh.group(rank, "pp")
    own = planted if planted and planted.rank == rank else None
    steps = [(own.kind, own.us, ())] if own and own.us else []
    slower = own.slower if own else 1.0

    def talk(kind, dimension, ranks):
        if len(ranks) > 1 and only in ("", dimension):
            steps.append((kind, TRANSFERS[kind], ranks))

    for us, before, after in ((FORWARD, stage - 1, stage + 1), (BACKWARD, stage + 1, stage - 1)):
        for _ in range(MICROBATCHES):
            if 0 <= before < mesh.pp:
                talk("recv", "pp", (rank, pipeline[before]))
            steps.append(("work", us * stretch.get(stage, 1.0) * slower, ()))
            talk("allreduce", "tp", mesh.group(rank, "tp"))
            if 0 <= after < mesh.pp:
                talk("send", "pp", (rank, pipeline[after]))
    talk("allreduce", "dp", mesh.group(rank, "dp"))
    return [*steps, ("optimizer", OPTIMIZER * slower, ())]


def play(mesh, planted=None, stretch=None, only=""):
    """{rank: [[events of a step] for each step]}; a collective ends once all its ranks have come.

    Args:
        mesh: of the job.
        planted: on one rank.
        stretch: {stage: how many times as long its work takes}.
        only: the one dimension in which ranks talk at all; "": in all of them.
    """
    queues = {
        rank: deque(
            (step, *each)
            for step in range(STEPS)
            for each in _program(mesh, rank, planted, stretch or {}, only)
        )
        for rank in range(mesh.n)
    }
    events = {rank: [[] for _ in range(STEPS)] for rank in queues}
    now, pause = dict.fromkeys(queues, 0.0), dict.fromkeys(queues, 0.0)
    arrived = {}  # of a collective: {rank: when}

    def over(rank, event, step):
        events[rank][step].append(event)
        now[rank] = event.end
        pause[rank] = 0.0
        queues[rank].popleft()

    moved = True
    while moved:
        moved = False
        for rank, queue in queues.items():
            while queue:
                step, kind, us, ranks = queue[0]
                if kind == "sleep":
                    now[rank] += us
                    pause[rank] += us
                    queue.popleft()
                elif not ranks:
                    over(rank, Event(kind, now[rank], now[rank] + us, (), pause[rank]), step)
                else:
                    key = (step, kind == "allreduce", tuple(sorted(ranks)))
                    came = arrived.setdefault(key, {})
                    came.setdefault(rank, now[rank])
                    if len(came) < len(ranks):
                        break
                    del arrived[key]
                    end = max(came.values()) + us
                    for member in ranks:
                        own_step, own, _, with_whom = queues[member][0]
                        over(member, Event(own, came[member], end, with_whom, pause[member]),
                             own_step)  # fmt: skip
                moved = True
    assert not any(queues.values()), "the ranks wait for each other for ever"
    return events


def step_us(events):
    """The mean over the steps of the slowest rank, from the end of the step before to its end."""
    ends = {rank: [0.0, *(step[-1].end for step in of_rank)] for rank, of_rank in events.items()}
    return sum(max(e[n + 1] - e[n] for e in ends.values()) for n in range(STEPS)) / STEPS


def trace_of(mesh, rank, of_rank):
    """Kineto's JSON of one rank: its host launches a step at once, and waits for the device."""
    listed, begins, number = [], 0.0, 0
    for step, own in enumerate(of_rank):
        end = own[-1].end
        listed.append(_event("user_annotation", f"ProfilerStep#{step}", begins, end - begins))
        at = begins
        for event in own:
            number += 1
            at = max(at + 1.0, event.start - 5.0 if event.pause else 0.0)
            if event.ranks:
                listed.append(_event("cpu_op", "record_param_comms", at, 0.8,
                                     **_record(mesh, rank, event)))  # fmt: skip
            listed.append(
                _event("cuda_runtime", "cudaLaunchKernel", at + 0.1, 0.5, correlation=number)
            )
            listed.append(
                _event("kernel", KERNELS[event.kind], event.start, event.end - event.start, pid=0,
                       tid=7, correlation=number, stream=7, device=0)
            )  # fmt: skip
        listed.append(_event("cuda_runtime", "cudaDeviceSynchronize", at + 1, end - at - 2))
        begins = end
    groups = [
        {"pg_name": f"{name}-{ranks[0]}", "pg_desc": f"mesh_{name}", "ranks": list(ranks)}
        for name in ("tp", "pp", "dp")
        for ranks in [mesh.group(rank, name)]
        if len(ranks) > 1
    ]
    info = {"backend": "nccl", "rank": rank, "world_size": mesh.n, "pg_config": groups}
    # No two hosts share a clock.
    return {"schemaVersion": 1, "distributedInfo": info, "traceEvents": listed,
            "baseTimeNanoseconds": _BASE_NS + 1_003_000_000 * rank}  # fmt: skip


def _record(mesh, rank, event):
    two = event.kind != "allreduce"
    ranks = mesh.group(rank, "pp") if two else event.ranks
    record = {"Collective name": event.kind, "dtype": "Float", "In msg nelems": 1000,
              "Out msg nelems": 1000, "Group size": len(ranks), "Process Group Ranks":
              str(list(ranks)), "Process Group Name": f"group-{ranks[0]}"}  # fmt: skip
    if two:
        record["Dst Rank" if event.kind == "send" else "Src Rank"] = ranks.index(event.ranks[1])
    return record


def _event(cat, name, ts, dur, pid=1, tid=1, **args):
    return {"ph": "X", "cat": cat, "name": name, "ts": ts, "dur": dur, "pid": pid, "tid": tid,
            "args": args}  # fmt: skip


def write(folder, mesh, events):
    """The traces of all ranks in a folder; {rank: its JSON}."""
    folder.mkdir(parents=True, exist_ok=True)
    traces = {rank: trace_of(mesh, rank, of_rank) for rank, of_rank in events.items()}
    for rank, trace in traces.items():
        (folder / f"rank{rank}.json.gz").write_bytes(gzip.compress(json.dumps(trace).encode(), 1))
    return traces

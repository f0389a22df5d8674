"""Replayed device events joined with the calls of the captures that made their graphs.

A replay runs the nodes of a graph in the order of their capture, on one stream; on several the
order holds for each kernel's name. Where the calls say what they launch (ROCm) the names decide;
where they do not (CUDA) the number of nodes, and which of them are copies, must agree exactly.
"""

import re
from bisect import bisect_right
from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from enum import Enum

import polars as pl

from profiler_core.analysis.graph_replays.captured import (
    CapturedCall,
    CapturedGraph,
    captured_graphs,
)
from profiler_core.analysis.graph_replays.servers import server_steps
from profiler_core.analysis.launches import is_graph_launch
from profiler_core.analysis.ledger.alignment import align
from profiler_core.analysis.per_name import per_name
from profiler_core.analysis.work import host_steps
from profiler_core.model.trace import KERNEL, Trace

# Of a replay's nodes: below it a capture is of another graph.
_LEAST_SHARED = 0.8

# What a copy or a fill inside of a graph is called as a kernel on ROCm.
_COPY_KERNEL = re.compile(r"copyBuffer|fillBuffer|Memcpy|Memset", re.IGNORECASE)


class NotJoined(Enum):
    """Why replayed device time has no call of a capture."""

    NO_CAPTURE = "no capture"  # no trace at hand shows a capture
    OTHER_GRAPH = "another graph"  # none of the captures has these kernels
    NO_NODE = "no node"  # the graph is there, and this kernel is not in its capture


@dataclass(frozen=True, slots=True)
class ReplayJoin:
    """How much of the replayed device time has the call that was captured, over the trace, ns."""

    replayed_ns: int
    joined_ns: int
    ambiguous_ns: int  # of joined_ns: equal graphs, told apart by their order alone and not surely
    missing_ns: dict[NotJoined, int]
    n_graphs: int  # graphs whose capture is at hand
    n_captured_here: int  # calls that this trace itself captured
    n_replays: int  # graph launches that started device work


@dataclass(frozen=True, slots=True)
class ReplayedCalls:
    """calls: event (row of trace.device), source, row (of the source's runtime table)."""

    calls: pl.DataFrame
    join: ReplayJoin
    buckets: tuple[int, ...]  # batch sizes that graphs at hand were captured for, rising

    def estimated_size(self) -> int | float:
        """About how many bytes it holds."""
        return self.calls.estimated_size()


@dataclass(frozen=True, slots=True)
class _Replay:
    """What one graph launch replays."""

    ts_ns: int
    events: tuple[int, ...]
    names: tuple[str, ...]
    kinds: tuple[str, ...]


# Kernels, their categories, and the tokens of the step: what replays of equal graphs share.
_Form = tuple[tuple[str, ...], tuple[str, ...], int | None]

_SCHEMA = {"event": pl.UInt32(), "source": pl.UInt32(), "row": pl.UInt32()}


def replayed_calls(trace: Trace) -> ReplayedCalls:
    """The captured call of each replayed device event of a trace."""
    return trace.derived("replayed calls", _replayed_calls)


def sources(trace: Trace) -> tuple[Trace, ...]:
    """The traces that `ReplayedCalls.calls` speaks of, by number."""
    return (trace, *trace.graph_captures)


def _replayed_calls(trace: Trace) -> ReplayedCalls:
    replays = _replays(trace)
    graphs = [
        graph
        for number, source in enumerate(sources(trace))
        for graph in captured_graphs(source, number)
    ]
    durations = trace.device["dur_ns"]
    missing: Counter[NotJoined] = Counter()
    pairs: list[tuple[int, int, int]] = []
    ambiguous = joined = 0
    for replay, choice in zip(replays, _choices(trace, replays, graphs), strict=True):
        total = int(durations.gather(list(replay.events)).sum())
        if choice is None:
            missing[NotJoined.OTHER_GRAPH if graphs else NotJoined.NO_CAPTURE] += total
            continue
        graph, is_sure = choice
        nodes = _aligned(replay, graph.calls)
        pairs += [(event, graph.source, call.row) for event, call in nodes]
        own = int(durations.gather([event for event, _ in nodes]).sum())
        joined += own
        ambiguous += 0 if is_sure else own
        missing[NotJoined.NO_NODE] += total - own
    calls = pl.DataFrame(pairs, schema=_SCHEMA, orient="row").sort("event")
    join = ReplayJoin(
        replayed_ns=joined + missing.total(),
        joined_ns=joined,
        ambiguous_ns=ambiguous,
        missing_ns={reason: ns for reason, ns in missing.items() if ns},
        n_graphs=len(graphs),
        n_captured_here=sum(len(graph.calls) for graph in graphs if graph.source == 0),
        n_replays=len(replays),
    )
    return ReplayedCalls(calls, join, _buckets(graphs))


def _replays(trace: Trace) -> list[_Replay]:
    """The graph launches of a trace with their device events, in order of time."""
    is_launch = per_name(trace.runtime["name"], is_graph_launch, pl.Boolean)
    launches = trace.runtime.select("correlation", launched="ts_ns").filter(is_launch)
    if launches.height == 0 or trace.device.height == 0:
        return []
    launches = launches.drop_nulls("correlation").unique("correlation", keep="first")
    events = (
        trace.device.with_row_index("event")
        .join(launches, on="correlation", how="inner", maintain_order="left")
        .with_columns(pl.col("name", "cat").cast(pl.String))
        .group_by("correlation", "launched", maintain_order=True)
        .agg("event", "name", "cat")
        .sort("launched", maintain_order=True)
    )
    return [
        _Replay(ts, tuple(rows), tuple(kernels), tuple(kinds))
        for _, ts, rows, kernels, kinds in events.iter_rows()
    ]


def _choices(
    trace: Trace, replays: Sequence[_Replay], graphs: Sequence[CapturedGraph]
) -> list[tuple[CapturedGraph, bool] | None]:
    """The graph that each replay runs, and whether nothing else would explain it as well.

    Layers that are captured one by one give equal graphs: a step replays them in the order of
    their capture. That is sure only of a step that replays each of them equally often.
    """
    steps = _steps(trace) if replays else []
    equal_of: dict[_Form, list[CapturedGraph]] = {}
    in_step: defaultdict[tuple[int | None, _Form], list[int]] = defaultdict(list)
    for number, replay in enumerate(replays):
        step, tokens = _step_of(steps, replay.ts_ns)
        form = (replay.names, replay.kinds, tokens)
        if form not in equal_of:
            equal_of[form] = _of_bucket(_best(replay, graphs), tokens)
        in_step[step, form].append(number)
    result: list[tuple[CapturedGraph, bool] | None] = [None] * len(replays)
    for (_, form), numbers in in_step.items():
        equal = equal_of[form]
        for turn, number in enumerate(numbers if equal else ()):
            result[number] = (equal[turn % len(equal)], len(numbers) % len(equal) == 0)
    return result


def _best(replay: _Replay, graphs: Sequence[CapturedGraph]) -> list[CapturedGraph]:
    """The graphs that explain a replay equally well, and better than all others."""
    shares = [_shared(replay, graph) for graph in graphs]
    most = max(shares, default=0.0)
    if most < _LEAST_SHARED:
        return []
    return [graph for graph, share in zip(graphs, shares, strict=True) if share == most]


def _shared(replay: _Replay, graph: CapturedGraph) -> float:
    """Which share of the nodes of both has a counterpart; 0 where calls without names disagree."""
    if _fits(replay, graph.calls):
        return 1.0
    if not _says_kernels(graph.calls):
        return 0.0
    names = Counter(_node(name, kind) for name, kind in _nodes(replay))
    calls = Counter(_node(call.kernel, call.kind) for call in graph.calls)
    return 2 * (names & calls).total() / (names.total() + calls.total())


def _fits(replay: _Replay, calls: Sequence[CapturedCall]) -> bool:
    return len(replay.events) == len(calls) and all(
        _agree(name, kind, call) for (name, kind), call in zip(_nodes(replay), calls, strict=True)
    )


def _nodes(replay: _Replay) -> Iterable[tuple[str, str]]:
    return zip(replay.names, replay.kinds, strict=True)


def _node(kernel: str | None, kind: str) -> str:
    """What two sides of one node have in common."""
    if kind != KERNEL or _COPY_KERNEL.search(kernel or ""):
        return "copy"
    return kernel or ""


def _agree(name: str, kind: str, call: CapturedCall) -> bool:
    if call.kernel is not None or call.kind != KERNEL:
        return _node(name, kind) == _node(call.kernel, call.kind)
    return kind == KERNEL


def _says_kernels(calls: Sequence[CapturedCall]) -> bool:
    return all(call.kernel is not None or call.kind != KERNEL for call in calls)


def _aligned(replay: _Replay, calls: Sequence[CapturedCall]) -> list[tuple[int, CapturedCall]]:
    """(event, its captured call), for those that have one."""
    if _fits(replay, calls):
        return list(zip(replay.events, calls, strict=True))
    names = [_node(name, kind) for name, kind in _nodes(replay)]
    captured = [_node(call.kernel, call.kind) for call in calls]
    if Counter(names) == Counter(captured):  # streams beside each other: in order for each name
        queues: defaultdict[str, list[CapturedCall]] = defaultdict(list)
        for name, call in zip(captured, calls, strict=True):
            queues[name].append(call)
        turns: Counter[str] = Counter()
        pairs_by_name = []
        for event, name in zip(replay.events, names, strict=True):
            pairs_by_name.append((event, queues[name][turns[name]]))
            turns[name] += 1
        return pairs_by_name
    pairs = align(names, captured, lambda name, its: int(name == its))
    return [(replay.events[i], calls[j]) for i, j in pairs]


def _buckets(graphs: Sequence[CapturedGraph]) -> tuple[int, ...]:
    return tuple(sorted({graph.bucket for graph in graphs if graph.bucket is not None}))


def _of_bucket(graphs: list[CapturedGraph], tokens: int | None) -> list[CapturedGraph]:
    """Of equal graphs those of the batch size that the step is padded to."""
    buckets = _buckets(graphs)
    if tokens is None or len(buckets) < 2:
        return graphs
    bucket = next((size for size in buckets if size >= tokens), buckets[-1])
    return [graph for graph in graphs if graph.bucket == bucket]


_Step = tuple[int, int, int | None]  # begin, end, tokens where the server says them


def _steps(trace: Trace) -> list[_Step]:
    """The steps of a server, else those of the profiler."""
    steps: list[_Step] = [(step.ts_ns, step.end_ns, step.batch) for step in server_steps(trace)]
    if steps:
        return steps
    return [(ts, end, None) for ts, end in host_steps(trace).select("ts_ns", "end_ns").iter_rows()]


def _step_of(steps: Sequence[_Step], ts_ns: int) -> tuple[int | None, int | None]:
    """(begin, tokens) of the step around an instant."""
    after = bisect_right(steps, ts_ns, key=lambda step: step[0])
    if not after or ts_ns >= steps[after - 1][1]:
        return None, None
    begin, _, tokens = steps[after - 1]
    return begin, tokens

"""Graphs that DDP cut into parts, each compiled on its own under one compile id.

`torch._dynamo.backends.distributed.DDPOptimizer` cuts a graph where a bucket of gradients is full,
so that its exchange begins before the backward is over. The log has the whole graph, then each part
in the order of the program (`optimize_ddp_split_child`), whose nodes are named anew. Forwards are
compiled in that order; backwards when they first run, the last part's first.
"""

from collections.abc import Sequence

from profiler_core.ingest.inductor.graphs import read_graph


def most_similar(texts: Sequence[str], graph: str) -> int | None:
    """Index of the printed graph that has most of its nodes in common with `graph`.

    Of equal ones it is the last: parts that look alike are gone through backwards.

    Returns:
        None: there is none, or none has a node of it.
    """
    nodes = _nodes(graph)
    best, most = None, 0.0
    for index, text in enumerate(texts):
        candidate = _nodes(text)
        shared = len(nodes & candidate) / max(1, len(nodes | candidate))
        if shared and shared >= most:
            best, most = index, shared
    return best


def _nodes(text: str) -> set[tuple[str, str]]:
    return {(node.name, node.target) for node in read_graph(text)}

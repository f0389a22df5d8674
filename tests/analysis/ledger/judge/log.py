"""Structured logs (TORCH_TRACE), read for the judge: one Module for each generated module."""

import gzip
import json
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from tests.analysis.ledger.judge.code import Module
from tests.analysis.ledger.judge.flow import read_module
from tests.analysis.ledger.judge.graphs import Graph, read_graph

_EMPTY = Graph((), {})
_KINDS = (
    "dynamo_output_graph", "aot_forward_graph", "aot_backward_graph", "aot_inference_graph",
    "inductor_post_grad_graph", "inductor_output_code",
    "inductor_provenance_tracking_node_mappings", "optimize_ddp_split_child",
)  # fmt: skip


def _records(path: Path) -> Iterator[tuple[str, str, str]]:
    """(kind, compile id, payload)."""
    with (gzip.open if path.suffix == ".gz" else open)(path, "rt", errors="replace") as lines:
        head: dict[str, Any] | None = None
        payload: list[str] = []
        for line in (*lines, "end"):
            if line.startswith("\t"):
                payload.append(line[1:])
                continue
            if head is not None:
                artifact = head.get("artifact") or {}
                kind = artifact.get("name") or next((k for k in _KINDS if k in head), "")
                if kind in _KINDS:
                    number = f"{head.get('frame_id')}/{head.get('frame_compile_id')}"
                    yield kind, number, "".join(payload)
            payload = []
            start = line.find("{")
            try:
                head = json.loads(line[start:]) if start >= 0 else None
            except json.JSONDecodeError:
                head = None


def read_log(paths: Sequence[Path]) -> list[Module]:
    """The generated modules, in the order in which they were compiled."""
    modules: list[Module] = []
    pending: dict[str, tuple[str, bool, dict[str, str], list[str]]] = {}
    seen: dict[str, dict[str, str]] = {}
    parts: dict[str, list[str]] = {}  # of a graph that DDP cut
    for path in paths:
        for kind, compile_id, text in _records(path):
            texts = seen.setdefault(compile_id, {})
            if kind == "dynamo_output_graph":
                texts.clear()
                parts.pop(compile_id, None)
            if kind in ("optimize_ddp_split_child", "aot_backward_graph"):
                parts.setdefault(compile_id, []).append(text)
            if kind == "inductor_output_code":
                if compile_id in pending:
                    modules.append(_module(compile_id, *pending.pop(compile_id), {}))
                start = text.find("def call(")
                backward = "tangents_" in text[start : start + 400_000].partition("args.clear")[0]
                cut = list(parts.get(compile_id, ()))
                pending[compile_id] = (text, backward, dict(texts), cut)
            elif kind == "inductor_provenance_tracking_node_mappings":
                if compile_id in pending:
                    mappings = json.loads(text)
                    modules.append(_module(compile_id, *pending.pop(compile_id), mappings))
            else:
                texts[kind] = text
    modules += [_module(compile_id, *rest, {}) for compile_id, rest in pending.items()]
    return modules


def _module(
    compile_id: str,
    code: str,
    backward: bool,
    texts: dict[str, str],
    parts: list[str],
    mappings: dict[str, Any],
) -> Module:
    def graph(kind: str) -> Graph:
        return read_graph(texts[kind]) if kind in texts else _EMPTY

    post = graph("inductor_post_grad_graph")
    calls, kernels = read_module(code, post, mappings)
    dynamo = graph("dynamo_output_graph")
    origins = {k: tuple(v) for k, v in (mappings.get("postToPre") or {}).items()}
    if not origins and not backward:
        names = {node.name for node in dynamo.nodes}
        for kernel in kernels.values():
            for source, nodes in kernel.mapped.items():
                if source in names:
                    for node in nodes:
                        origins[node] = (*origins.get(node, ()), source)
    for part in map(read_graph, parts):  # the part that has the names of this module's nodes
        names = {node.name for node in part.nodes}
        if origins and {name for every in origins.values() for name in every} <= names:
            dynamo = part
    aot = graph("aot_forward_graph")
    if backward:  # where DDP cut the graph there are several: the one with this module's nodes
        own = {(node.name, node.op, node.shape) for node in post.nodes}
        aot = max(
            map(read_graph, parts),
            key=lambda part: len(own & {(node.name, node.op, node.shape) for node in part.nodes}),
            default=_EMPTY,
        )
    return Module(compile_id, backward, calls, dynamo, post, aot, origins)

"""Where the mask of compiled attention comes from, by the graph that Dynamo traced.

Not every mask is the caller's: code that leaves out a mask in eager may make one while it is
traced, and then no argument takes it away.
"""

import re
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Literal

from profiler_core.analysis.attention_masks import traced_masks
from profiler_core.analysis.graph_arguments import is_of_module
from profiler_core.analysis.ledger.operators import KERNEL_FREE, operator
from profiler_core.analysis.ledger.result import FusionGroup
from profiler_core.model.inductor import CompiledGraph, GraphNode, InductorLog

_BY_SIZE = re.compile(r"(?:^|[._])new_\w+$|_like$|\.(?:size|dim|numel|stride)$")
_NO_WORK = KERNEL_FREE | {"cast", "contiguous", "clone", "copy"}
_SYMBOLIC_SIZE = re.compile(r"[su]\d+$")
_PACKAGE = re.compile(r"/(?:site|dist)-packages/([^/]+)/")
_IN_PLACE = re.compile(r"\.\w*[A-Za-z0-9]_$")  # ".masked_fill_"

_Kind = Literal["input", "buffer", "parameter", "made"]
_OWN: tuple[tuple[_Kind, str], ...] = (("parameter", "_parameters_"), ("buffer", "_buffers_"))


@dataclass(frozen=True)
class MakingLine:
    """A line of Python that makes a mask, as the graph names it."""

    source: str  # "masking_utils.py:90"
    code: str  # "return q_idx >= 0"; "": not logged
    library: str  # the installed package that it is of; "": of none, as the user's own code


@dataclass(frozen=True)
class MaskOrigin:
    """Where the mask of one or several attentions comes from.

    `input`: an argument of the graph is the mask, or its name says that it is a mask. `buffer`,
    `parameter`: the module's own is in it. `made`: nodes of the graph make it.
    """

    kind: _Kind
    names: tuple[str, ...]  # arguments in it: "attention_mask", "bias", of `made` "input_ids"
    lines: tuple[MakingLine, ...] = ()  # of `made`: last what makes the mask, first what of


def mask_origin(code: InductorLog | None, groups: Iterable[FusionGroup]) -> MaskOrigin | None:
    """Of the masks of all these groups; None where no graph says it, or it differs.

    Args:
        code: what Inductor wrote down of the run that compiled them.
        groups: with attention among their generated calls.
    """
    if code is None:
        return None
    masks = {
        (place, mask): (graph, mask)
        for group in groups
        for place, graph, mask in traced_masks(code, group)
        if mask
    }
    origins = {_origin(graph, mask) for graph, mask in masks.values()}
    return origins.pop() if len(origins) == 1 else None


def _origin(graph: CompiledGraph, mask: str) -> MaskOrigin | None:
    reached = _reached(graph, mask)
    nodes = [node for node in graph.dynamo_nodes if node.name in reached]
    if not _is_whole(graph, mask, nodes):
        return None
    given = [name for name in graph.placeholders if name.lower() in reached]
    making = [node for node in nodes if operator(node.target) not in _NO_WORK]
    handed = [name for name in given if not is_of_module(name)]
    masks = [name for name in handed if "mask" in name.lower()] or ([] if making else handed)
    if masks:
        return MaskOrigin("input", tuple(map(_bare, masks)))
    if of_module := _of_module(given):
        return of_module
    lines = [_line(node) for node in making or nodes if node.file]
    ends = tuple(dict.fromkeys((*lines[:1], *lines[-1:])))
    return MaskOrigin("made", tuple(map(_bare, handed)), ends) if ends else None


def _is_whole(graph: CompiledGraph, mask: str, nodes: Iterable[GraphNode]) -> bool:
    """Does the log have all that a mask is made of, and no value of another graph or a constant?"""
    known = {name.lower() for name in graph.placeholders}
    known |= {node.name for node in graph.dynamo_nodes}
    used = {node.owner for node in nodes if node.owner and not _BY_SIZE.search(node.target)}
    return all(name in known or _SYMBOLIC_SIZE.match(name) for name in (mask, *used))


def _of_module(given: Iterable[str]) -> MaskOrigin | None:
    """By the module's own among the arguments that are in a mask; the learned ones first."""
    for kind, mark in _OWN:
        names = tuple(name.rpartition(mark)[2].rstrip("_") for name in given if mark in name)
        if names:
            return MaskOrigin(kind, names)
    return None


def _reached(graph: CompiledGraph, mask: str) -> set[str]:
    """Names of all whose values are in a mask, itself among them."""
    nodes = {node.name: node for node in graph.dynamo_nodes}
    changes: dict[str, list[str]] = {}
    for node in graph.dynamo_nodes:
        if node.owner and _IN_PLACE.search(node.target):
            changes.setdefault(node.owner, []).append(node.name)
    reached: set[str] = set()
    waiting = [mask]
    while waiting:
        name = waiting.pop()
        if name in reached:
            continue
        reached.add(name)
        waiting += [*graph.written_parts.get(name, ()), *changes.get(name, ())]
        made_by = nodes.get(name)
        if made_by is not None and not _BY_SIZE.search(made_by.target):
            waiting += [*made_by.arguments, *([made_by.owner] if made_by.owner else ())]
    return reached


def _line(node: GraphNode) -> MakingLine:
    package = _PACKAGE.search(node.file.replace("\\", "/"))
    return MakingLine(node.source, node.code, package[1] if package else "")


def _bare(placeholder: str) -> str:
    """`L_kwargs_attention_mask_` -> attention_mask."""
    return re.sub(r"^L_(?:kwargs_)?|_$", "", placeholder)

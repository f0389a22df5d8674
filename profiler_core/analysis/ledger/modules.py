"""In which nn.Module a node of a graph, an operator or a whole group lies.

Dynamo's graphs name parameters by their path (`L_self_modules_layer1_modules_0_modules_conv1_…`,
torch 2.5 on) and the source line that uses them. A line that says `self.conv1(x)` and is handed
`layer1.0.conv1`'s weight ran in the frame of `layer1.0`; lines without a parameter belong to the
frame of their neighbours. A trace with Python calls names modules by class and number instead.
"""

import re
from bisect import bisect_right
from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import polars as pl

from profiler_core.analysis.ledger.alignment import align_codes
from profiler_core.analysis.ledger.callers import where_called
from profiler_core.analysis.ledger.operators import INFIX, operator
from profiler_core.analysis.ledger.work_units import HostStep, Unit
from profiler_core.model.inductor import CompiledGraph, GraphNode
from profiler_core.model.trace import Trace

ROOT = "(model)"  # the module that was compiled: its own path is empty

Path = tuple[str, ...]

# `l_self_modules_layer1_modules_0_parameters_weight_`, `l_model_parameters_position_`. Without
# inlined modules (torch before 2.5) it is `l__self___layer1_0`, which cannot be split again.
_PARAMETER = re.compile(
    r"^[lLgG]_.*?(?:_modules_(?P<path>.+))?_(?:parameters|buffers)_(?P<leaf>\w+?)_$"
)
_LONGEST_PARAMETER = 500  # characters
_MEMBERS = re.compile(r"\b[A-Za-z_]\w*\.([A-Za-z_][\w.]*)")  # self is not always called so
_ONE_CALL = re.compile(r"^(?:[\w, ]+ = |return )?self\.([A-Za-z_]\w*)\(([^()]*)\)$")
_SIGN = re.compile(r"[-+*/@]")
_CALLED = re.compile(r"\bself\.([A-Za-z_][\w.]*)(?:\[[^\]]*\])?\(")
_FARTHEST = 256  # known lines looked back for a call's own
_MODULE_RANGE = "nn.Module: "


@dataclass(frozen=True, slots=True)
class _Visit:
    """A line that was traced, and the module in whose frame."""

    place: int
    file: str
    function: str
    line: int
    frame: Path


def node_modules(graph: CompiledGraph) -> dict[str, str]:
    """Dynamo node -> path of its module; {} where the graph has no parameters with a path."""
    nodes = graph.dynamo_nodes
    spelled = {_key(name): name for name in graph.placeholders}
    own = {
        node.name: path
        for node in nodes
        if (path := _own_module(node, spelled)) is not None and not _is_tied(node, *path)
    }
    if not own:
        return {}
    visits = [
        _Visit(position, node.file, node.function, node.line, frame)
        for position, node in enumerate(nodes)
        if node.name in own and (frame := _frame(node, *own[node.name])) is not None
    ]
    bodies = {(visit.file, visit.function) for visit in visits}
    nodes = where_called(graph, nodes, own, bodies)
    frames = _frames(nodes, visits)
    modules = {}
    above = tuple(graph.module.split(".")) if graph.module else ()
    for node, frame in zip(nodes, frames, strict=True):
        if node.name in own:
            modules[node.name] = ".".join((*above, *own[node.name][0])) or ROOT
        elif frame is not None:
            # The innermost line of user code hides torch.nn's own frames: it calls such a module.
            call = _ONE_CALL.match(node.code)
            is_told = (node.file, node.function) in bodies
            called = (call[1],) if is_told and call and not _is_argument(node, call[2]) else ()
            modules[node.name] = ".".join((*above, *frame, *called)) or ROOT
    return modules


def backward_modules(graph: CompiledGraph, forward: Mapping[str, str]) -> dict[str, str]:
    """Node of a backward graph -> path of its forward operator's module, by their source lines.

    A backward visits the lines of the forward in reverse; of a line of several modules it is what
    holds them all.

    Args:
        graph: the backward's, with the dynamo graph that it was made from.
        forward: module of each dynamo node.
    """
    lines: list[tuple[str, list[str]]] = []
    for node in reversed(graph.dynamo_nodes):
        if node.name in forward and node.source:
            if not lines or lines[-1][0] != node.source:
                lines.append((node.source, []))
            lines[-1][1].append(forward[node.name])
    visits: list[tuple[str, list[str]]] = []
    source = ""
    for node in graph.post_nodes:
        source = node.source or source  # a nameless node goes with the last
        if not visits or visits[-1][0] != source:
            visits.append((source, []))
        visits[-1][1].append(node.name)
    numbers = {
        name: position for position, name in enumerate(dict.fromkeys(line for line, _ in lines))
    }
    modules = {}
    table = np.eye(len(numbers) + 1, dtype=np.int32)
    table[-1, -1] = 0  # a line that the forward does not have
    codes = np.array([numbers[line] for line, _ in lines], dtype=np.int32)
    others = np.array([numbers.get(line, len(numbers)) for line, _ in visits], dtype=np.int32)
    for i, j in align_codes(codes, others, table) if lines and visits else ():
        module = holding(lines[i][1])
        if module is not None:
            modules.update(dict.fromkeys(visits[j][1], module))
    return modules


def _own_module(node: GraphNode, spelled: Mapping[str, str]) -> tuple[Path, str] | None:
    """The module whose parameter the node is handed, and the parameter's name."""
    for argument in node.arguments:
        name = spelled.get(_key(argument), argument)
        # The pattern takes the cube of the length.
        parameter = _PARAMETER.match(name) if len(name) <= _LONGEST_PARAMETER else None
        if parameter is not None:
            path = parameter["path"]
            return tuple(path.split("_modules_")) if path else (), parameter["leaf"]
    return None


def _is_tied(node: GraphNode, path: Path, leaf: str) -> bool:
    """Is the parameter another module's too? The line calls a member, and none that has it."""
    called = _CALLED.findall(node.code)
    names = {part for member in called for part in member.split(".")}
    return bool(called) and not names.intersection(path) and f".{leaf}" not in node.code


def _is_argument(node: GraphNode, arguments: str) -> bool:
    """Is it the sum or product in `self.norm(x + y)`, which the frame computes before the call?"""
    return operator(node.target) in INFIX and _SIGN.search(arguments) is not None


def _key(name: str) -> str:
    """In the graph's body `LayerNorm` is written `layer_norm`."""
    return name.replace("_", "").lower()


def _frame(node: GraphNode, path: Path, leaf: str) -> Path | None:
    """The module whose `forward` has the node's line, as far as the line names its member."""
    if not node.code:  # torch.nn alone, such as the members of a Sequential that was compiled
        return path[:-1]
    best: Path | None = None
    for member in _MEMBERS.findall(node.code):
        parts = tuple(member.split("."))
        if parts[0] == leaf:
            return path
        for start in range(len(path) - 1, -1, -1):
            if path[start] == parts[0] and (best is None or start > len(best)):
                best = path[:start]
                break
    return best


def _frames(nodes: Sequence[GraphNode], visits: Sequence[_Visit]) -> list[Path | None]:
    """The frame of every node: its own, that of its function's lines around it, or what holds both.

    Lines of one call of a function ascend, so a known line before it that is lower, or one after
    it that is higher, is of the same call; where both are and differ, the nearer line is. Several
    classes of a file have a `forward`, so a line belongs to none of them that another one's lines
    stand between, or that is further off than a line of which this is so.
    """
    lines = _Lines(visits)
    homeless: dict[tuple[str, str], set[int]] = {}
    around: list[list[_Visit]] = []
    for position, node in enumerate(nodes):
        near = lines.near(position, node)
        around.append([visit for visit in near if not lines.between(visit, node)])
        if near and not around[-1]:
            homeless.setdefault((node.file, node.function), set()).add(node.line)
    all_places = [visit.place for visit in visits]
    at = {visit.place: visit.frame for visit in visits}
    frames: list[Path | None] = []
    last: dict[tuple[str, str], tuple[int, Path]] = {}  # of a body without a known line
    for position, node in enumerate(nodes):
        if position in at:
            frames.append(at[position])
            continue
        key = (node.file, node.function)
        strangers = homeless.get(key, ())
        near = [v for v in around[position] if not _is_beyond(v.line, node.line, strangers)]
        if near:
            frames.append(min(near, key=lambda visit: abs(visit.line - node.line)).frame)
            continue
        before = last.get(key)
        number = bisect_right(all_places, position)
        beside = (*visits[max(0, number - 1) : number], *visits[number : number + 1])
        frame = _common([visit.frame for visit in beside]) if beside else None
        if frame is not None and before is not None and before[0] < node.line:
            frame = _further_down(before[1], visits[:number][-1:]) or frame
        frames.append(frame)
        if frame is not None:
            last[key] = (node.line, frame)
    return frames


def _further_down(before: Path, last: Sequence[_Visit]) -> Path | None:
    """The frame of an earlier line of one body, where the last visit lies in it."""
    inner = _common([before, last[0].frame]) if last else ()
    return before if inner == before else None


def _is_beyond(visited: int, line: int, strangers: Iterable[int]) -> bool:
    """Does a stranger stand nearer to a line than the visited one, on its other side?"""
    return any(
        abs(stranger - line) < abs(stranger - visited)
        and min(visited, stranger) <= line <= max(visited, stranger)
        and abs(stranger - line) < abs(visited - line)
        for stranger in strangers
    )


class _Lines:
    """Known lines by function: which are near a node, and which stand between two others."""

    def __init__(self, visits: Sequence[_Visit]) -> None:
        self._visits: dict[tuple[str, str], list[_Visit]] = {}
        kinds: dict[tuple[str, str], dict[int, set[Path]]] = {}
        for visit in visits:
            key = (visit.file, visit.function)
            self._visits.setdefault(key, []).append(visit)
            kinds.setdefault(key, {}).setdefault(visit.line, set()).add(_kind(visit.frame))
        self._places = {key: [v.place for v in every] for key, every in self._visits.items()}
        self._classes = {key: _classes(by_line) for key, by_line in kinds.items()}

    def near(self, position: int, node: GraphNode) -> list[_Visit]:
        """The last known line before a node and the first after it, where they may be its call.

        Before it, calls of members may stand between: their frames lie in the call's own.
        """
        key = (node.file, node.function)
        same = self._visits.get(key, [])
        number = bisect_right(self._places.get(key, []), position)
        near = [v for v in same[max(0, number - 1) : number] if v.line <= node.line]
        passed: Path | None = None
        for visit in reversed(same[max(0, number - _FARTHEST) : number]):
            passed = visit.frame if passed is None else _common([passed, visit.frame])
            if passed == visit.frame and visit.line <= node.line and not self.between(visit, node):
                near = [visit]
                break
        return [*near, *(v for v in same[number : number + 1] if v.line >= node.line)]

    def between(self, visit: _Visit, node: GraphNode) -> bool:
        """Does a line of another class stand between the two?"""
        low, high = sorted((visit.line, node.line))
        classes = self._classes[visit.file, visit.function]
        own = classes[visit.line]
        return any(low < line < high and other != own for line, other in classes.items())


def _classes(kinds: Mapping[int, Collection[Path]]) -> dict[int, int]:
    """Line -> number of the class whose it is.

    Kinds that run one line are one class: the first layers of a ResNet's four stages, of which
    only some have a shortcut with weights.
    """
    classes: list[tuple[set[Path], set[int]]] = []  # the kinds of each, and its lines
    for line, line_kinds in kinds.items():
        own_kinds, own_lines, others = set(line_kinds), {line}, []
        for class_kinds, class_lines in classes:
            if own_kinds.isdisjoint(class_kinds):
                others.append((class_kinds, class_lines))
            else:
                own_kinds, own_lines = own_kinds | class_kinds, own_lines | class_lines
        classes = [*others, (own_kinds, own_lines)]
    return {line: number for number, (_, lines) in enumerate(classes) for line in lines}


def _kind(frame: Path) -> Path:
    """The same for all layers: numbers are left out, and what stands before the last of them."""
    last = max((position for position, part in enumerate(frame) if part.isdigit()), default=-1)
    return frame[last + 1 :] if last + 1 < len(frame) else frame[:last]


def _common(paths: Sequence[Path]) -> Path:
    shared: list[str] = []
    for parts in zip(*paths, strict=False):
        if len(set(parts)) > 1:
            break
        shared.append(parts[0])
    return tuple(shared)


def module_of_all(modules: Iterable[str]) -> tuple[str | None, str]:
    """The deepest module that holds all of these, and a note where that would be the whole model.

    Then it is the one that most of them lie in: a filter by module needs an answer.
    """
    counts = Counter(modules)
    if not counts:
        return None, ""
    paths = [() if name == ROOT else tuple(name.split(".")) for name in counts]
    shared = _common(paths)
    if shared:
        return ".".join(shared), ""
    deep = {name: n for name, n in counts.items() if name != ROOT}
    if not deep:
        return ROOT, ""
    most = max(deep, key=deep.__getitem__)
    others = [name for name in counts if name != most]
    return most, f"also does a part of {', '.join(others[:3])}" if others else ""


def holding(modules: Iterable[str]) -> str | None:
    """The deepest module that holds all of these, be it the whole model; None without any."""
    names = set(modules)
    paths = [() if name == ROOT else tuple(name.split(".")) for name in names]
    return ".".join(_common(paths)) or ROOT if names else None


def lies_in(module: str, holder: str) -> bool:
    """Is it the other one, or a part of it?"""
    return holder in (ROOT, module) or module.startswith(f"{holder}.")


def unit_modules(trace: Trace, steps: Sequence[HostStep]) -> list[dict[int, str]]:
    """For each step: unit -> "ResNet_0.Sequential_1.Bottleneck_3", from a trace with Python calls.

    torch names a module by its class and a number (with_stack or with_modules); ranges nest. What
    the capture of a graph showed of a replayed unit wins.
    """
    ranges = _module_ranges(trace)
    return [_modules_around(step.units, ranges) | _captured_modules(step.units) for step in steps]


_Thread = tuple[int, int]
_ModuleRange = tuple[int, int, str]  # begin, end, class and number


def _captured_modules(units: Sequence[Unit]) -> dict[int, str]:
    return {n: unit.module for n, unit in enumerate(units) if unit.module is not None}


def _module_ranges(trace: Trace) -> dict[_Thread, list[_ModuleRange]]:
    """The calls of modules, by thread, in order of time."""
    if trace.python.height == 0:
        return {}
    ranges: dict[_Thread, list[_ModuleRange]] = {}
    calls = trace.python.with_columns(pl.col("name").cast(pl.String)).filter(
        pl.col("name").str.starts_with(_MODULE_RANGE)
    )
    for pid, tid, ts, dur, name in calls.select(
        "pid", "tid", "ts_ns", "dur_ns", "name"
    ).iter_rows():
        of_thread = ranges.setdefault((pid or 0, tid or 0), [])
        of_thread.append((ts, ts + dur, name.removeprefix(_MODULE_RANGE)))
    return ranges


def _modules_around(
    units: Sequence[Unit], ranges: Mapping[_Thread, Sequence[_ModuleRange]]
) -> dict[int, str]:
    """Unit -> the modules whose calls are open when it begins."""
    modules: dict[int, str] = {}
    for thread, calls in ranges.items():
        mine = [(unit.ts_ns, n) for n, unit in enumerate(units) if unit.thread == thread]
        open_: list[_ModuleRange] = []
        n_begun = 0
        for ts, number in sorted(mine):
            while n_begun < len(calls) and calls[n_begun][0] <= ts:
                open_ = [call for call in open_ if call[1] > calls[n_begun][0]]
                open_.append(calls[n_begun])
                n_begun += 1
            open_ = [call for call in open_ if call[1] > ts]
            if open_:
                modules[number] = ".".join(call[2] for call in open_)
    return modules

"""Compile time as a tree: compilation → phase → phase inside it, for the icicle."""

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Literal

from profiler_core.analysis.compilation.compile_time import length_ns, slowest_rank, uncovered_ns
from profiler_core.model.compilation import Compilation, CompileLog

Stage = Literal["dynamo", "aot", "inductor", "codegen", "autotune", "cache", "other"]

_STAGES: tuple[tuple[Stage, re.Pattern[str]], ...] = (
    ("autotune", re.compile(r"autotun|benchmark")),
    ("cache", re.compile(r"cache|triton_bundler|remote")),
    ("codegen", re.compile(r"code_?gen|async_compile|PyCodeCache|triton|compile_to_module"
                           r"|precompile")),
    ("inductor", re.compile(r"inductor|compile_fx|GraphLowering|Scheduler|post_grad|pre_grad"
                            r"|joint_graph|pass\.|fx_passes|fw_compiler|bw_compiler")),
    ("aot", re.compile(r"aot|create_aot_dispatcher|backward")),
    ("dynamo", re.compile(r"dynamo|bytecode|guards|compile_attempt|entire_frame|gc$|variable")),
)  # fmt: skip
# A phase below this share of all compile time is part of its parent's own time.
MIN_SHARE = 0.004
MAX_NODES = 600


@dataclass(frozen=True)
class Node:
    """One box: its time holds that of all boxes whose parent it is."""

    key: str
    parent: str  # "" for the root
    label: str
    stage: Stage
    dur_ns: int
    n: int
    compile_id: str


def compile_phases(log: CompileLog) -> tuple[Node, ...]:
    """The boxes, parents before children; empty without compilations that were timed.

    They come to `compile_time`, with what the first calls took: of the rank that compiled longest,
    each instant of compiling once, in the box of what began first. A structured log without phases
    (torch 2.4) gives one box for each compilation.
    """
    timed = _joined(_each_instant_once(slowest_rank(log)))
    total = sum(_length(c) for c in timed)
    if total == 0:
        return ()
    with_first_calls = any(c.direction == "runtime" for c in timed)
    label = "compiling and autotuning" if with_first_calls else "all compilations"
    nodes = [Node("all", "", label, "other", total, len(timed), "")]
    for number, compilation in enumerate(sorted(timed, key=_length, reverse=True)):
        nodes += _of_compilation(compilation, f"all/{number}", total)
        if len(nodes) > MAX_NODES:
            break
    first_nodes = nodes[:MAX_NODES]
    present = {node.key for node in first_nodes}
    return tuple(node for node in first_nodes if not node.parent or node.parent in present)


def stage_of(phase: str) -> Stage:
    """Which part of the compiler a phase belongs to, by its name."""
    for stage, pattern in _STAGES:
        if pattern.search(phase):
            return stage
    return "other"


def _each_instant_once(timed: Sequence[Compilation]) -> list[Compilation]:
    """The same without what others cover, and without those of which nothing is left."""
    compiling = [c for c in timed if c.direction != "runtime"]
    left = [
        *(replace(c, dur_ns=ns) for c, ns in zip(compiling, uncovered_ns(compiling), strict=True)),
        *(replace(c, dur_ns=length_ns(c)) for c in timed if c.direction == "runtime"),
    ]
    return [compilation for compilation in left if compilation.dur_ns]


def _joined(compilations: Sequence[Compilation]) -> list[Compilation]:
    """What was compiled in several pieces as one.

    The backward of a graph that DistributedDataParallel splits is compiled piece by piece, and
    kernels are autotuned call by call: each piece is logged with its own duration, and with the
    phases of all of them, which the log does not tell apart.
    """
    pieces: dict[tuple[str, str, int | None], list[Compilation]] = {}
    for compilation in compilations:
        key = (compilation.compile_id, compilation.direction, compilation.rank)
        pieces.setdefault(key, []).append(compilation)
    return [
        replace(each[0], dur_ns=sum(piece.dur_ns or 0 for piece in each))
        for each in pieces.values()
    ]


def _length(compilation: Compilation) -> int:
    return compilation.dur_ns or 0


def _label(phase: str) -> str:
    """A phase in words: "entire frame compile"; what is named after code keeps its underscores."""
    return phase if "." in phase else phase.replace("_", " ").strip()


def _of_compilation(compilation: Compilation, key: str, total: int) -> list[Node]:
    name = f"{compilation.compile_id} {compilation.function or ''}".strip()
    if compilation.direction != "forward":
        name += f" ({compilation.direction})"
    nodes = [Node(key, "all", name, "other", _length(compilation), 1, compilation.compile_id)]
    keys: dict[tuple[str, ...], str] = {(): key}
    room = {key: _length(compilation)}
    for phase in sorted(compilation.phases, key=lambda p: (len(p.path), -p.dur_ns)):
        parent = keys.get(phase.path[:-1])
        if parent is None or phase.dur_ns < MIN_SHARE * total:
            continue
        phase_key = f"{parent}/{phase.path[-1]}"
        # Phases of several threads may sum to more than their parent: they are cut to its room.
        dur_ns = min(phase.dur_ns, room[parent])
        if dur_ns <= 0:
            continue
        room[parent] -= dur_ns
        room[phase_key] = dur_ns
        keys[phase.path] = phase_key
        label = _label(phase.path[-1])
        nodes.append(
            Node(
                phase_key,
                parent,
                label,
                stage_of(phase.path[-1]),
                dur_ns,
                phase.n,
                compilation.compile_id,
            )
        )
    return nodes

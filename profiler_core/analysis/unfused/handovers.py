"""Which generated calls pass which buffers to which, through the device's memory.

Read off the generated code alone: a kernel's pointers say by their names whether they are read
(`in_ptr0`), written (`out_ptr0`) or both (`in_out_ptr0`), a library call returns its result or
takes it as `out=`.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from math import prod

from profiler_core.analysis.ledger.buffers import NO_BUFFER, Memory, memory_of, viewed
from profiler_core.analysis.ledger.fragments import pointer_roles
from profiler_core.analysis.ledger.operator_call import ITEM_BYTES
from profiler_core.model.inductor import CompiledGraph, GeneratedCall

_RETURNED = re.compile(r"^\s+return \((.*)\)\s*$", re.MULTILINE)
_NAME = re.compile(r"[A-Za-z_]\w*")
_VALUE = re.compile(r"(?:reinterpret_tensor\()?([A-Za-z_]\w*)")


@dataclass(frozen=True, slots=True)
class Handover:
    """Buffers that one call of a graph writes and a later one reads, bytes of one execution."""

    writer: int  # places among the graph's calls
    reader: int
    buffers: tuple[str, ...]
    bytes_read: int
    # What nobody else reads and the graph does not return: fused, it need not be written at all.
    own_bytes: int
    made_bytes: int  # the buffers as a whole

    @property
    def saved_bytes(self) -> int:
        """What need not go through the memory if the two calls were one kernel."""
        return self.bytes_read + self.own_bytes


def between(graph: CompiledGraph) -> dict[tuple[int, int], int]:
    """(Writer, reader) -> a call that needs the writer and that the reader needs.

    Such a pair cannot be one kernel: a part of it would have to wait for what lies between. What
    is needed counts at any size: the tuple that an attention returns has none in the code.
    """
    readers: dict[int, set[int]] = {}
    for (writer, _), by_reader in _readers(graph, memory_of(graph.code))[0].items():
        readers.setdefault(writer, set()).update(by_reader.keys() - {writer})
    reached: dict[int, set[int]] = {}
    for call in sorted(readers, reverse=True):  # a reader comes after its writer
        reached[call] = readers[call].union(*(reached.get(r, set()) for r in readers[call]))
    middle: dict[tuple[int, int], int] = {}
    for writer, direct in readers.items():
        for first in sorted(direct):
            for reader in direct & reached.get(first, set()):
                middle.setdefault((writer, reader), first)
    return middle


@dataclass(frozen=True, slots=True)
class Use:
    """A buffer that a call is handed, and what it does with it."""

    buffer: str
    reads: bool
    writes: bool


def handovers(graph: CompiledGraph) -> tuple[Handover, ...]:
    """All of a graph, in the order of the readers. Buffers of unknown size are left out."""
    memory = memory_of(graph.code)
    readers, writer_of = _readers(graph, memory)
    returned = {memory.name(name) for name in returned_names(graph.code)}
    passed: dict[tuple[int, int], list[Handover]] = {}
    for (writer, buffer), by_reader in readers.items():
        # What a later call stores in the same place is returned, not what this one wrote.
        is_returned = buffer in returned and writer_of[buffer] == writer
        is_kept = is_returned or len(by_reader) > 1
        for reader, names in by_reader.items():
            size = _size(buffer, graph) or max(_size(name, graph) for name in names)
            if size and reader != writer:
                views = viewed(graph.code, graph.calls[reader].line)
                n_read = sum(_size(name, graph, views) or size for name in names)
                own = 0 if is_kept else size
                passed.setdefault((writer, reader), []).append(
                    Handover(writer, reader, (buffer,), min(n_read, size), own, size)
                )
    ordered = sorted(passed.items(), key=lambda item: item[0][::-1])
    return tuple(_together(writer, reader, parts) for (writer, reader), parts in ordered)


def _readers(
    graph: CompiledGraph, memory: Memory
) -> tuple[dict[tuple[int, str], dict[int, set[str]]], dict[str, int]]:
    """(writer, its buffer) -> reader -> by which names; and buffer -> its last writer."""
    writer_of: dict[str, int] = {}
    readers: dict[tuple[int, str], dict[int, set[str]]] = {}
    for call in graph.calls:
        uses = tuple(buffer_uses(call, graph, memory))
        for use in uses:
            buffer = _written_as(use.buffer, writer_of, memory)
            if use.reads and buffer in writer_of:
                of_buffer = readers.setdefault((writer_of[buffer], buffer), {})
                of_buffer.setdefault(call.index, set()).add(use.buffer)
        for use in uses:
            if use.writes:
                writer_of[memory.name(use.buffer)] = call.index
    return readers, writer_of


def _together(writer: int, reader: int, parts: Sequence[Handover]) -> Handover:
    """What one call leaves for another in several buffers."""
    return Handover(
        writer,
        reader,
        tuple(buffer for part in parts for buffer in part.buffers),
        sum(part.bytes_read for part in parts),
        sum(part.own_bytes for part in parts),
        sum(part.made_bytes for part in parts),
    )


def _written_as(name: str, writer_of: Mapping[str, int], memory: Memory) -> str:
    """The buffer whose content a call reads by this name: that of the memory it took over."""
    buffer = memory.name(name)
    passed = set()
    while buffer not in writer_of and buffer in memory.took_over and buffer not in passed:
        passed.add(buffer)
        buffer = memory.name(memory.took_over[buffer])
    return buffer


def buffer_uses(call: GeneratedCall, graph: CompiledGraph, memory: Memory) -> Iterator[Use]:
    """The buffers of a call, by the names that the code has there."""
    names = [name for name in call.arguments if name not in NO_BUFFER]
    tensors = [name for name in names if _is_tensor(name, graph, memory)]
    definition = graph.kernels.get(call.name)
    pointers = pointer_roles(definition.source) if definition is not None else ()
    if pointers:
        for name, role in zip(names, pointers, strict=False):
            yield Use(name, reads=role != "written", writes=role != "read")
        return
    result = _out_argument(call)
    for name in tensors:
        if name != result:
            # Without a result it works in place, on what it is handed first.
            in_place = not call.result and not result and name == tensors[0]
            yield Use(name, reads=True, writes=in_place)
    if call.result or result:
        yield Use(call.result or result, reads=False, writes=True)


def moved_bytes(graph: CompiledGraph) -> dict[int, int]:
    """Generated kernel's call -> bytes that it reads and writes at least, where all are known.

    Products are left out: be they a library's or a template's, they need not wait for the memory.
    """
    memory = memory_of(graph.code)
    moved = {}
    for call in graph.calls:
        if call.kind in ("triton", "cpp"):
            sizes = [
                (use.reads + use.writes)
                * (_size(use.buffer, graph) or _size(memory.name(use.buffer), graph))
                for use in buffer_uses(call, graph, memory)
            ]
            if all(sizes):
                moved[call.index] = sum(sizes)
    return moved


def _out_argument(call: GeneratedCall) -> str:
    """The buffer after `out=`."""
    names = call.arguments
    for name, following in pairwise(names):
        if name == "out":
            return following
    return ""


def _is_tensor(name: str, graph: CompiledGraph, memory: Memory) -> bool:
    return name in graph.buffers or memory.name(name) in graph.buffers or name.startswith("buf")


def returned_values(code: str) -> list[str]:
    """The names that a generated module returns, in order; "" for what has none, such as None.

    A view is `reinterpret_tensor(buf6, (2, 16), (16, 1), 0)`.
    """
    lines = _RETURNED.findall(code)
    values, depth, begin = [], 0, 0
    text = lines[-1] if lines else ""
    for position, letter in enumerate(f"{text},"):
        depth += (letter == "(") - (letter == ")")
        if letter == "," and not depth:
            values.append(text[begin:position].strip())
            begin = position + 1
    if values and not values[-1]:
        values.pop()  # behind the last comma
    names = [_VALUE.match(value) for value in values]
    return [name[1] if name is not None and name[1] != "None" else "" for name in names]


def returned_names(code: str) -> set[str]:
    """What a generated module returns."""
    lines = _RETURNED.findall(code)
    return set(_NAME.findall(" ".join(lines)))


def _size(name: str, graph: CompiledGraph, views: Mapping[str, int] = {}) -> int:
    """Bytes of a buffer, of those that a call is handed in views alone of these; 0: not known."""
    shape, dtype = graph.buffers.get(name, ((), ""))
    return views.get(name, prod(shape)) * ITEM_BYTES.get(dtype, 0)

"""Bytes that an operator or kernel must read and write at least, from shapes and dtypes.

Each tensor is counted once, as large as its shape, of what is expanded without the repeats; a table
that is only looked up counts as what is looked up, and what a window slides over without the values
that its stride skips. Of an operator that calls others, such as a convolution that casts its inputs
under autocast, each call that launches kernels counts with its own tensors. Caches are not
considered: bytes over time is an effective bandwidth and may exceed the memory's
(docs/counters.md). None where a shape is not known, never 0.
"""

import re
from collections.abc import Mapping, Sequence
from dataclasses import replace
from math import prod

from profiler_core.analysis.ledger.buffers import NO_BUFFER, given_by_name, viewed
from profiler_core.analysis.ledger.bytes_of_call import Moved, beside_its_fill, bytes_of_call
from profiler_core.analysis.ledger.fragments import PointerRole, pointer_roles
from profiler_core.analysis.ledger.graph_calls import generated_name, is_generated
from profiler_core.analysis.ledger.library_kernels import is_helper
from profiler_core.analysis.ledger.looked_up import LOOKUPS, values_looked_up
from profiler_core.analysis.ledger.operator_call import ITEM_BYTES, OperatorCall, Shape
from profiler_core.analysis.ledger.operator_kinds import (
    GRADIENTS_OF_PADDING,
    GRADIENTS_OF_POOLING,
)
from profiler_core.analysis.ledger.operators import (
    KERNEL_FREE,
    bare_name,
    operator,
    operators_of_kernel,
)
from profiler_core.analysis.ledger.unread import unread, unread_names
from profiler_core.analysis.ledger.work_units import Unit, WindowCall, parts_of
from profiler_core.analysis.operator_arguments import n_operands
from profiler_core.analysis.sliding_windows import gradients_asked, in_their_places, result_shape
from profiler_core.analysis.window_reads import values_read
from profiler_core.model.inductor import CompiledGraph, GeneratedCall

_CONVOLUTION = "aten::convolution"
_INDEX_BYTES = ITEM_BYTES["long int"]  # of where a maximum was
_FILLS = frozenset((
    "arange", "iota", "fill", "full", "full_like", "new_full", "new_ones", "new_zeros", "ones",
    "ones_like", "zero", "zeros", "zeros_like",
))  # fmt: skip
# Some add into a result that is filled with zeros first: where a kernel or a memset does so.
_ADD_INTO_ZEROS = GRADIENTS_OF_POOLING | GRADIENTS_OF_PADDING
_FILL = re.compile("FillFunctor|memset", re.IGNORECASE)


def counts_once(unit: Unit) -> bool:
    """Is it a generated kernel without its code, so that what it changes in place counts once?"""
    return unit.call is None and is_generated(unit.name) and len(_handed(unit) or ()) > 1


def bytes_of(
    unit: Unit,
    graph: CompiledGraph | None,
    output: tuple[Shape, str] | None = None,
) -> Moved | None:
    """Bytes of one call of an operator or kernel.

    Args:
        unit: with the shapes that the trace recorded; a replay's have none.
        graph: of the generated call that the unit is, if it is one.
        output: shape and dtype of the result, where a graph's node says them.
    """
    call = graph.calls[unit.call] if graph is not None and unit.call is not None else None
    if call is not None and call.kind != "library":
        return _of_kernel(unit, call, graph)
    if call is not None and graph is not None and not _fills_for(unit, call):
        tensors = _tensors(unit)
        if not tensors:
            return _of_buffers(call, graph)
        output = graph.buffers.get(call.result, output)
        if not call.result and len(tensors) > 1:  # handed its result as the last tensor, `out=`
            sizes = [prod(shape) * item for shape, item in tensors]
            return sum(sizes[:-1]), sizes[-1]
    return _of_lists(unit) if unit.lists else _of_operator(unit, output)


def bytes_by_call(
    unit: Unit,
    names: Mapping[int, str],
    graph: CompiledGraph | None,
    output: tuple[Shape, str] | None = None,
) -> list[tuple[Unit, Moved | None]]:
    """The calls that launch the kernels of an operator, each with the bytes of one execution.

    Of an operator that calls others the innermost ones around its launches, as far as all of them
    are known: casts under autocast, a bias that is added, zeros that are filled in. Else itself.

    Args:
        unit: an operator or kernel.
        names: of the device events, as far as they are known.
        graph: as `bytes_of` takes it.
        output: likewise.
    """
    parts = parts_of(unit)
    if parts[0] is not unit:
        known = [(part, moved) for part in parts if (moved := bytes_of(part, None)) is not None]
        if len(known) == len(parts):
            return [(part, _of_own_kernels(part, names, moved)) for part, moved in known]
    whole = bytes_of(unit, graph, output)
    if whole is None:
        return [(unit, None)]
    return _beside_zeros(unit, names, whole) or [(unit, _of_own_kernels(unit, names, whole))]


def _beside_zeros(
    unit: Unit, names: Mapping[int, str], moved: Moved
) -> list[tuple[Unit, Moved | None]]:
    """A gradient, and the zeros that it is added into, where only kernels tell that it has them.

    A replay has no `aten::fill_` inside of its operators. Empty where none of its kernels fills.
    """
    fills = [event for event in unit.events if _FILL.search(names.get(event, ""))]
    if bare_name(unit.name) not in _ADD_INTO_ZEROS or not 0 < len(fills) < len(unit.events):
        return []
    own = [event for event in unit.events if event not in fills]
    zeros = replace(unit, name="aten::fill_", call=None, events=fills, launched_in=[])
    return [(zeros, (0, moved[1])), (replace(unit, events=own, launched_in=[]), moved)]


def _of_own_kernels(unit: Unit, names: Mapping[int, str], moved: Moved) -> Moved:
    """Of the bytes of a call those of its own kernels, where others fill its result before."""
    helps = any(is_helper(names.get(event, "")) for event in unit.events)
    return moved if helps else beside_its_fill(_recorded(unit), moved)


def _fills_for(unit: Unit, call: GeneratedCall) -> bool:
    """Is it a fill beside a library call's operator, whose result is not what it writes?"""
    return unit.common in _FILLS and unit.common != operator(call.name)


def _of_kernel(unit: Unit, call: GeneratedCall, graph: CompiledGraph | None) -> Moved | None:
    definition = graph.kernels.get(call.name) if graph is not None else None
    if definition is None or graph is None:
        return None
    roles = pointer_roles(definition.source)
    sizes = _of_pointers(unit, call, graph, len(roles))
    if not roles or len(sizes) < len(roles):
        return None
    n_values = [prod(shape) for shape, _ in sizes]
    n_read = n_values
    if operators_of_kernel(call.name) & LOOKUPS:
        n_read = _looked_up(n_values, roles, call, graph)
    items = [item for _, item in sizes]
    read = zip(roles, n_read, items, strict=True)
    written_values = zip(roles, n_values, items, strict=True)
    return (
        sum(n * item for role, n, item in read if role != "written"),
        sum(n * item for role, n, item in written_values if role != "read"),
    )


def _looked_up(
    n_values: Sequence[int], roles: Sequence[PointerRole], call: GeneratedCall, graph: CompiledGraph
) -> list[int]:
    """Values that a kernel with lookups reads of each tensor: no more than it looks up there.

    Where no node says how many, no more than it writes.
    """
    written = (n for n, role in zip(n_values, roles, strict=True) if role != "read")
    largest, looked_up = max(written, default=0), values_looked_up(graph, call)
    names = [name for name in call.arguments if name in graph.buffers]
    names += [""] * (len(n_values) - len(names))
    return [min(n, looked_up.get(name, largest)) for n, name in zip(n_values, names, strict=False)]


def _of_pointers(
    unit: Unit, call: GeneratedCall, graph: CompiledGraph, n: int
) -> list[tuple[Shape, int]]:
    """Shapes with item sizes of the first tensors: by the trace, else by the log's buffers."""
    given = _tensors(unit)
    if given is not None and len(given) >= n:
        return given[:n]
    buffers = (graph.buffers.get(name) for name in call.arguments)
    tensors = (entry for entry in buffers if entry is not None and entry[1] in ITEM_BYTES)
    return [(shape, ITEM_BYTES[dtype]) for shape, dtype in tensors][:n]


def _tensors(unit: Unit) -> list[tuple[Shape, int]] | None:
    """Shapes with item sizes of the unit's tensor arguments; None for an unknown dtype."""
    tensors = []
    for shape, dtype in zip(unit.shapes, unit.dtypes, strict=False):
        if shape is None:
            continue
        if dtype not in ITEM_BYTES:
            return None
        tensors.append((shape, ITEM_BYTES[dtype]))
    return tensors


def _handed(unit: Unit) -> list[tuple[Shape, int]] | None:
    """Those of `_tensors`, and those of one value, of which a trace has the type and no shape.

    Numbers that a generated kernel is handed beside its tensors have the type "Scalar".
    """
    tensors = _tensors(unit)
    if tensors is None:
        return None
    pairs = zip(unit.shapes, unit.dtypes, strict=False)
    single = [ITEM_BYTES[dtype] for shape, dtype in pairs if shape is None and dtype in ITEM_BYTES]
    return [*tensors, *(((), item) for item in single)]


def _of_buffers(call: GeneratedCall, graph: CompiledGraph) -> Moved | None:
    """A library call in a replay: what it is handed of buffers; the last one is the result."""
    names = dict.fromkeys((*call.arguments, call.result))
    if any(name.startswith("buf") and name not in graph.buffers for name in names):
        return None  # the rest would be too few
    read = {**_read_by_windows(call, graph), **viewed(graph.code, call.line)}
    handed = tuple(name for name in call.arguments if name not in NO_BUFFER)
    needed = names.keys() - unread_names(call.name, handed)
    entries = [(name, *graph.buffers[name]) for name in names if name in graph.buffers]
    sizes = [
        min(prod(shape), read.get(name, prod(shape))) * ITEM_BYTES[dtype]
        for name, shape, dtype in entries
        if dtype in ITEM_BYTES and name in needed
    ]
    return (sum(sizes[:-1]), sizes[-1]) if len(sizes) >= 2 else None


def _read_by_windows(call: GeneratedCall, graph: CompiledGraph) -> Mapping[str, int]:
    """Values that a convolution reads of the buffers that it is handed whole."""
    given = in_their_places(_CONVOLUTION, given_by_name(graph.code, call.line))
    names = call.arguments[:2]
    if operator(call.name) != operator(_CONVOLUTION) or not graph.buffers.keys() >= set(names):
        return {}  # another, or of a view, whose shape is not the buffer's
    shapes = [graph.buffers[name][0] for name in names]
    return dict(zip(names, values_read(_CONVOLUTION, shapes, given) or (), strict=False))


def _of_operator(unit: Unit, output: tuple[Shape, str] | None) -> Moved | None:
    if is_generated(unit.name):
        handed = _handed(unit)
        return _of_unread_kernel(unit.name, handed) if handed else None
    tensors = _tensors(unit)
    if tensors is None:
        return None
    sizes = [prod(shape) * item for shape, item in tensors]
    if unit.common in KERNEL_FREE:
        is_copied = bool(sizes) and "clone" in unit.inner  # `reshape` of what is not contiguous
        return (sizes[0], sizes[0]) if is_copied else (0, 0)
    if n_operands(unit.name, len(sizes)) < len(sizes):
        return sum(sizes[:-1]), sizes[-1]
    if unit.common == "convolution_backward":
        return _of_gradients(unit.window, tensors)
    read, written = _of_call(unit)
    of_window = _of_window(unit)
    if of_window is not None:
        written = of_window
    elif output is not None and output[1] in ITEM_BYTES:
        written = prod(output[0]) * ITEM_BYTES[output[1]]
    if written is None or not unit.name.startswith("aten::"):
        return None  # of another library: what it is handed may be a whole cache
    if read is None and unit.common in LOOKUPS:
        read = min(sizes[0], written) + sum(sizes[1:])
    read = sum(sizes) if read is None else read
    return max(0, read - _not_read(unit)), written


def _of_lists(unit: Unit) -> Moved | None:
    """Of an operator with lists; else of the calls inside it that start its kernels.

    `einsum` calls `bmm`. What a node says of the result is not all that such an operator takes.
    """
    read, written = _of_call(unit)
    if read is not None and written is not None:
        return read, written
    parts = [part for part in parts_of(unit) if part.name != unit.name]
    moved = [bytes_of_part for part in parts if (bytes_of_part := bytes_of(part, None)) is not None]
    if not moved or len(moved) < len(parts):
        return None
    return sum(read for read, _ in moved), sum(written for _, written in moved)


def _not_read(unit: Unit) -> int:
    """Bytes of its tensors that are repeats or that no window of a convolution or pooling meets.

    What `expand` shows several times has a stride of 0.
    """
    call = unit.window
    met = None if call is None else values_read(call.name, call.shapes, call.concrete)
    n_bytes, left_out = 0, unread(_recorded(unit))
    for position, (shape, dtype) in enumerate(zip(unit.shapes, unit.dtypes, strict=False)):
        if shape is None or position in left_out:
            continue
        strides = unit.strides[position] if position < len(unit.strides) else None
        read = prod(shape)
        if strides is not None and len(strides) == len(shape):
            read = prod(n for n, stride in zip(shape, strides, strict=True) if stride)
        if call is not None and met is not None and position < len(met):
            read = read * met[position] // max(1, prod(call.shapes[position] or ()))
        n_bytes += (prod(shape) - read) * ITEM_BYTES.get(dtype, 0)
    return n_bytes


def _of_call(unit: Unit) -> Moved | tuple[None, None]:
    """By the arguments of the call, the result as wide as what computes it, under autocast."""
    moved = bytes_of_call(_recorded(unit))
    if moved is None:
        return None, None
    read, written = moved
    own, inside = _item(unit.dtypes), _item(unit.inner_dtypes)
    if own and inside and unit.common != "cast" and not unit.name.endswith("_"):
        written = written * inside // own
    return read, written


def _recorded(unit: Unit) -> OperatorCall:
    return OperatorCall.recorded(
        unit.name, unit.shapes, unit.dtypes, unit.scalars, unit.lists, unit.list_item
    )


def _item(dtypes: Sequence[str]) -> int | None:
    """Bytes of a value of the first tensor; None where there is none."""
    return next((ITEM_BYTES[dtype] for dtype in dtypes if dtype in ITEM_BYTES), None)


def _of_unread_kernel(name: str, tensors: Sequence[tuple[Shape, int]]) -> Moved | None:
    """A generated kernel whose code is not known: it is handed its results, too, the largest here.

    Which of several tensors it changes in place only the code tells: each counts once. None where
    it looks something up: which of its tensors are tables only the code tells.
    """
    operators = operators_of_kernel(generated_name(name))
    if operators & LOOKUPS:
        return None
    sizes = sorted(prod(shape) * item for shape, item in tensors)
    if len(sizes) == 1 and not operators & _FILLS:
        return sizes[0], sizes[0]  # what it reads and what it writes: in place
    return sum(sizes[:-1]), sizes[-1]


def _of_window(unit: Unit) -> int | None:
    """Bytes of a convolution's or pooling's result, a maximum's with its indices."""
    call = unit.window
    shape = None if call is None else result_shape(call.name, call.shapes, call.concrete)
    # As wide as what computes it, under autocast; complex numbers are convolved as real ones.
    is_complex = any("complex" in dtype for dtype in unit.dtypes)
    item = _item(unit.dtypes if is_complex else unit.inner_dtypes or unit.dtypes)
    if call is None or shape is None or item is None:
        return None
    return prod(shape) * (item + (_INDEX_BYTES if call.name.endswith("_with_indices") else 0))


def _of_gradients(call: WindowCall | None, tensors: Sequence[tuple[Shape, int]]) -> Moved | None:
    """A convolution's backward: what the gradients that are asked for take, and these."""
    if len(tensors) < 3 or len(tensors[0][0]) < 2:
        return None
    gradient, values, weight = (prod(shape) * item for shape, item in tensors[:3])
    name, concrete = (call.name, call.concrete) if call is not None else ("", ())
    of_input, of_weight, of_bias = gradients_asked(name, concrete)
    read = None if call is None else values_read(name, call.shapes, concrete)
    if read is None:
        n_bytes = gradient + of_weight * values + of_input * weight
    else:
        n_bytes = sum(n * item for n, (_, item) in zip(read, tensors, strict=False))
    (_, n_channels, *_), item = tensors[0]
    return n_bytes, of_input * values + of_weight * weight + of_bias * n_channels * item

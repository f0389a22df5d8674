"""Bytes that an operator or kernel must read and write at least, from shapes and dtypes.

Each tensor is counted once, as large as its shape; a table that is only looked up counts as what
is looked up. Caches are not considered: bytes over time is an effective bandwidth and may exceed
the memory's (docs/counters.md). None where a shape is not known, never 0.
"""

from collections.abc import Sequence
from math import prod

from profiler_core.analysis.ledger.buffers import viewed
from profiler_core.analysis.ledger.fragments import pointer_roles
from profiler_core.analysis.ledger.graph_calls import generated_name, is_generated
from profiler_core.analysis.ledger.operators import (
    KERNEL_FREE,
    operator,
    operators_of_kernel,
)
from profiler_core.analysis.ledger.work_units import Unit, WindowCall
from profiler_core.analysis.sliding_windows import gradients_asked, result_shape
from profiler_core.model.inductor import CompiledGraph, GeneratedCall

Moved = tuple[int, int]  # read, written
Shape = tuple[int, ...]

# Kineto's names of C++ types, and the short names of printed graphs.
ITEM_BYTES = {
    "float": 4, "double": 8, "c10::Half": 2, "c10::BFloat16": 2, "long int": 8, "long": 8, "int": 4,
    "short int": 2, "short": 2, "signed char": 1, "unsigned char": 1, "bool": 1,
    "c10::complex<float>": 8, "c10::Float8_e4m3fn": 1, "c10::Float8_e5m2": 1,
    "f64": 8, "f32": 4, "f16": 2, "bf16": 2, "i64": 8, "i32": 4, "i16": 2, "i8": 1, "u8": 1,
    "b8": 1, "c64": 8, "f8e4m3fn": 1, "f8e5m2": 1,
}  # fmt: skip
_INDEX_BYTES = ITEM_BYTES["long int"]  # of where a maximum was
_OVERWRITES = frozenset(("clone", "fill", "zero"))  # in place they read nothing of their result
# Tensors that a product reads; one more is its result, `out=`, as generated code calls it.
_OPERANDS = {"aten::mm": 2, "aten::bmm": 2, "aten::addmm": 3, "aten::baddbmm": 3}
_FILLS = frozenset((
    "arange", "iota", "fill", "full", "full_like", "new_full", "new_ones", "new_zeros", "ones",
    "ones_like", "zero", "zeros", "zeros_like",
))  # fmt: skip
_TRUTHS = frozenset((
    "eq", "ne", "gt", "ge", "lt", "le", "logical_and", "logical_or", "logical_xor", "logical_not",
    "isnan", "isinf", "isfinite",
))  # fmt: skip
_LOOKUPS = frozenset(("embedding", "gather", "index", "index_select", "embedding_bag"))


def counts_once(unit: Unit) -> bool:
    """Is it a generated kernel without its code, so that what it changes in place counts once?"""
    n_tensors = sum(shape is not None for shape in unit.shapes)
    return unit.call is None and is_generated(unit.name) and n_tensors > 1


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
    if call is not None and graph is not None:
        tensors = _tensors(unit)
        if not tensors:
            return _of_buffers(call, graph)
        output = graph.buffers.get(call.result, output)
        if not call.result and len(tensors) > 1:  # handed its result as the last tensor, `out=`
            sizes = [prod(shape) * item for shape, item in tensors]
            return sum(sizes[:-1]), sizes[-1]
    return _of_operator(unit, output)


def _of_kernel(unit: Unit, call: GeneratedCall, graph: CompiledGraph | None) -> Moved | None:
    definition = graph.kernels.get(call.name) if graph is not None else None
    if definition is None or graph is None:
        return None
    roles = pointer_roles(definition.source)
    sizes: list[tuple[Shape, int]] = []
    given = _tensors(unit)
    if given is None or len(given) < len(roles):
        buffers = [graph.buffers.get(name) for name in call.arguments]
        given = [
            (entry[0], ITEM_BYTES[entry[1]])
            for entry in buffers
            if entry is not None and entry[1] in ITEM_BYTES
        ]
    sizes = given[: len(roles)]
    if not roles or len(sizes) < len(roles):
        return None
    largest_written = max(
        (prod(shape) for role, (shape, _) in zip(roles, sizes, strict=True) if role != "read"),
        default=0,
    )
    looks_up = bool(operators_of_kernel(call.name) & _LOOKUPS)
    read = written = 0
    for role, (shape, item) in zip(roles, sizes, strict=True):
        count = prod(shape)
        if role != "read":
            written += count * item
        if role != "written":
            read += (min(count, largest_written) if looks_up else count) * item
    return read, written


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


def _of_buffers(call: GeneratedCall, graph: CompiledGraph) -> Moved | None:
    """A library call in a replay: what it is handed of buffers; the last one is the result."""
    names = dict.fromkeys((*call.arguments, call.result))
    if any(name.startswith("buf") and name not in graph.buffers for name in names):
        return None  # the rest would be too few
    views = viewed(graph.code, call.line)
    entries = [(name, *graph.buffers[name]) for name in names if name in graph.buffers]
    sizes = [
        min(prod(shape), views.get(name, prod(shape))) * ITEM_BYTES[dtype]
        for name, shape, dtype in entries
        if dtype in ITEM_BYTES
    ]
    return (sum(sizes[:-1]), sizes[-1]) if len(sizes) >= 2 else None


def _of_operator(unit: Unit, output: tuple[Shape, str] | None) -> Moved | None:
    tensors = _tensors(unit)
    if not tensors:
        return None
    common = unit.common
    if common in KERNEL_FREE:
        return 0, 0
    if is_generated(unit.name):
        return _of_unread_kernel(unit.name, tensors)
    if operator(unit.name) in _OVERWRITES and unit.name.endswith("_"):  # handed its result first
        first, *others = [prod(shape) * item for shape, item in tensors]
        return sum(others), first
    if len(tensors) - 1 == _OPERANDS.get(unit.name):
        *operands, result = [prod(shape) * item for shape, item in tensors]
        return sum(operands), result
    if common == "convolution_backward":
        return _of_gradients(unit.window, tensors)
    written = _written(unit, tensors, output)
    if written is None:
        return None
    sizes = [prod(shape) * item for shape, item in tensors]
    if common in _LOOKUPS:
        sizes[0] = min(sizes[0], written)
    return sum(sizes), written


def _written(
    unit: Unit, tensors: Sequence[tuple[Shape, int]], output: tuple[Shape, str] | None
) -> int | None:
    """Bytes of an operator's result; None where nothing tells its shape."""
    item = _item_of_result(unit)
    of_window = None if item is None else _of_window(unit, item)
    if of_window is not None:
        return of_window
    if output is not None and output[1] in ITEM_BYTES:
        return prod(output[0]) * ITEM_BYTES[output[1]]
    # One of another library may be handed a whole cache.
    is_foreign = "::" in unit.name and not unit.name.startswith("aten::")
    if is_foreign or unit.window is not None or item is None:
        return None
    return _result(unit.common, [shape for shape, _ in tensors], item)


def _of_unread_kernel(name: str, tensors: Sequence[tuple[Shape, int]]) -> Moved | None:
    """A generated kernel whose code is not known: it is handed its results, too, the largest here.

    Which of several tensors it changes in place only the code tells: each counts once. None where
    it looks something up: which of its tensors are tables only the code tells.
    """
    operators = operators_of_kernel(generated_name(name))
    if operators & _LOOKUPS:
        return None
    sizes = sorted(prod(shape) * item for shape, item in tensors)
    if len(sizes) == 1 and not operators & _FILLS:
        return sizes[0], sizes[0]  # what it reads and what it writes: in place
    return sum(sizes[:-1]), sizes[-1]


def _looked_up(common: str, table: Shape, indices: Shape) -> int:
    """Values that a lookup takes out of a table."""
    n = prod(indices)
    if common == "gather":  # one for each index
        return n
    if common == "embedding":  # a row for each
        return n * table[-1]
    # Along which dimension is not recorded: the longest, as of a table of tokens or of a cache.
    return n * prod(table) // max(*table, 1)


def _of_attention(common: str, shapes: Sequence[Shape]) -> int | None:
    """Values of its result, or of its three gradients."""
    if common == "attention":  # query, key, value: a row for each query, as wide as a value
        return prod((*shapes[0][:-1], *shapes[2][-1:])) if len(shapes) > 2 else None
    # The gradient of the result, then query, key and value.
    return sum(map(prod, shapes[1:4])) if len(shapes) > 3 else None


def _of_window(unit: Unit, item: int) -> int | None:
    """Bytes of a convolution's or pooling's result, a maximum's with its indices."""
    call = unit.window
    shape = None if call is None else result_shape(call.name, call.shapes, call.concrete)
    if call is None or shape is None:
        return None
    return prod(shape) * (item + (_INDEX_BYTES if call.name.endswith("_with_indices") else 0))


def _item_of_result(unit: Unit) -> int | None:
    """Bytes of a value of an operator's result: under autocast of what computes it."""
    if unit.common in _TRUTHS and not unit.name.endswith("_"):
        return ITEM_BYTES["bool"]
    # Complex numbers are convolved as real ones.
    is_complex = any("complex" in dtype for dtype in unit.dtypes)
    dtypes = unit.dtypes if is_complex else unit.inner_dtypes or unit.dtypes
    if unit.common == "where":
        dtypes = dtypes[1:]  # what it chooses from, not by what
    return next((ITEM_BYTES[dtype] for dtype in dtypes if dtype in ITEM_BYTES), None)


def _of_gradients(call: WindowCall | None, tensors: Sequence[tuple[Shape, int]]) -> Moved | None:
    """A convolution's backward: what the gradients that are asked for take, and these."""
    if len(tensors) < 3 or len(tensors[0][0]) < 2:
        return None
    gradient, values, weight = (prod(shape) * item for shape, item in tensors[:3])
    name, concrete = (call.name, call.concrete) if call is not None else ("", ())
    of_input, of_weight, of_bias = gradients_asked(name, concrete)
    (_, n_channels, *_), item = tensors[0]
    return (
        gradient + of_weight * values + of_input * weight,
        of_input * values + of_weight * weight + of_bias * n_channels * item,
    )


def _result(common: str, shapes: Sequence[Shape], item: int) -> int | None:
    """Bytes of the result of an operator whose node is not known, `item` a value."""
    if common == "matmul":
        matrices = [shape for shape in shapes if len(shape) >= 2]
        if len(matrices) < 2:
            return None
        left, right = matrices[-2:]
        columns = right[-1] if left[-1] == right[-2] else right[-2]
        return prod(left[:-1]) * columns * item
    if common in _LOOKUPS and len(shapes) > 1 and shapes[0] and (shapes[1] or common != "index"):
        return _looked_up(common, shapes[0], shapes[1]) * item  # a list of indices has no shape
    if common in ("attention", "attention_backward"):
        n_values = _of_attention(common, shapes)
        return None if n_values is None else n_values * item
    if common == "convolution":
        return None  # it depends on its stride and padding
    if common in (
        "sum",
        "mean",
        "amax",
        "amin",
        "all",
        "any",
        "argmax",
        "nll_loss",
        "cross_entropy",
    ):
        return 0  # small against what is read
    return max(prod(shape) for shape in shapes) * item

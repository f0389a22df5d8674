"""How many bytes a call of an operator reads and writes at least, from what a trace records of it.

Each tensor counts once, as large as its shape; of a table that is looked up, and of a tensor that
a few values are put into, only these. None where the arguments do not tell.
"""

from collections.abc import Callable, Mapping
from math import prod

from profiler_core.analysis.ledger.bytes_of_lists import bytes_of_lists
from profiler_core.analysis.ledger.operator_call import ITEM_BYTES, TYPE_NUMBERS, OperatorCall
from profiler_core.analysis.ledger.operator_kinds import (
    ELEMENTWISE,
    LIKE_FIRST,
    LIKE_SECOND,
    OF_A_LOSS,
    PADDED,
    PRODUCTS,
    TRIANGLES,
    UPDATES,
    UPSAMPLED,
)
from profiler_core.analysis.ledger.operators import operator
from profiler_core.analysis.ledger.results import (
    WRITTEN,
    WRITTEN_BY_COMMON,
    Written,
    upsampled_lengths,
)
from profiler_core.analysis.ledger.unread import SCALARS_SAY, unread

Moved = tuple[int, int]  # bytes read, bytes written

_FLOAT = ITEM_BYTES["float"]
_Rule = Callable[[OperatorCall], Moved | None]


def _and_reads_all(written: Written) -> _Rule:
    """A rule for operators that read all of their arguments once, but for those of `unread`."""

    def rule(call: OperatorCall) -> Moved | None:
        read = call.all_bytes - call.bytes_of(unread(call))
        n_bytes = call.size(0) if call.is_in_place else written(call)
        return None if n_bytes is None else (read, n_bytes)

    return rule


def _lookup(call: OperatorCall, n_values: int) -> Moved:
    """What a lookup of so many values moves: no more of the table than is looked up."""
    n_bytes = n_values * call.item(0)
    others = call.all_bytes - call.size(0) - call.bytes_of(unread(call))
    return min(call.size(0), n_bytes) + others, n_bytes


def _embedding(call: OperatorCall) -> Moved | None:
    table, indices = call.shape(0), call.shape(1)
    if table is None or indices is None:
        return None
    return _lookup(call, prod(indices) * table[-1])


def _gather(call: OperatorCall) -> Moved | None:
    position = 1 if call.bare in ("take_along_dim", "take") else 2
    indices = call.shape(position)
    return None if indices is None else _lookup(call, prod(indices))


def _index_select(call: OperatorCall) -> Moved | None:
    indices, length = call.shape(2), call.length_along(1)
    if indices is None or not length:
        return None
    return _lookup(call, prod(call.shape(0) or ()) // length * prod(indices))


def _likelihood(call: OperatorCall) -> Moved | None:
    """`nll_loss`: of each row the value of its class, the weights of classes once."""
    targets, written = call.shape(1), WRITTEN[call.bare](call)
    if targets is None or written is None:
        return None
    read, _ = _lookup(call, prod(targets))
    return read, written


def _embedding_bag(call: OperatorCall) -> Moved | None:
    table, indices, offsets = (call.shape(n) for n in range(3))
    if table is None or indices is None or offsets is None:
        return None
    read, _ = _lookup(call, prod(indices) * table[-1])
    return read, prod(offsets) * table[-1] * call.item(0)


def _update(call: OperatorCall) -> Moved | None:
    """Values put into a tensor; out of place the rest of it is copied."""
    position = 3 if call.bare.startswith("index_") else 2  # of `scatter` as many as indices
    values = call.shape(2 if "index_put" in call.bare else position)
    if values is None:
        return None
    if not call.is_in_place:
        return call.all_bytes, call.size(0)
    n_bytes = min(prod(values) * call.item(0), call.size(0))
    adds = "add" in call.bare or call.given(3) == "True"  # reads what it adds to
    return call.all_bytes - call.size(0) + (n_bytes if adds else 0), n_bytes


def _resampled(call: OperatorCall) -> Moved | None:
    """An image made smaller: along each dimension so many values for each of the result's."""
    shape, lengths, written = call.shape(0), upsampled_lengths(call), WRITTEN[call.bare](call)
    if shape is None or lengths is None or written is None:
        return None
    n_taps = next((n for kind, n in _TAPS.items() if kind in call.bare), 1)
    before, along = shape[: -len(lengths)], shape[-len(lengths) :]
    met = (min(n, n_taps * length) for n, length in zip(along, lengths, strict=False))
    read = call.all_bytes if call.bare.endswith("_aa") else prod((*before, *met)) * call.item(0)
    return read, written


def _padded(call: OperatorCall) -> Moved | None:
    """With a negative padding it is cut."""
    written = WRITTEN[call.bare](call)
    return None if written is None else (min(call.all_bytes, written), written)


def _triangle(call: OperatorCall) -> Moved | None:
    """`tril` reads what it keeps and `tril_` reads nothing: it writes zeros beside that."""
    shape, diagonal = call.shape(0), call.numbers(1)
    if shape is None or diagonal is None or len(shape) < 2 or shape[-2] > _MOST_ROWS:
        return None
    *batch, n_rows, n_columns = shape
    first = diagonal[0] + (call.bare == "tril")  # in the first row: where the other part begins
    left = sum(min(max(0, first + row), n_columns) for row in range(n_rows))
    kept = left if call.bare == "tril" else n_rows * n_columns - left
    n_bytes = prod(batch) * kept * call.item(0)
    return (0, call.size(0) - n_bytes) if call.is_in_place else (n_bytes, call.size(0))


def _overwritten(call: OperatorCall) -> Moved | None:
    """`copy_`, `zero_`, `fill_`: nothing of the first argument is read."""
    if not call.is_in_place:
        return None
    return call.all_bytes - call.size(0), call.size(0)


def _filled(call: OperatorCall) -> Moved | None:
    """`zeros(size, dtype=…)` and `full(size, value, dtype=…)`; in torch's default type."""
    shape = call.numbers(0)
    item = TYPE_NUMBERS.get(call.given(2 if call.bare == "full" else 1), _FLOAT)
    return None if shape is None else (0, prod(shape) * item)


def _filled_like(call: OperatorCall) -> Moved | None:
    position = 2 if call.bare == "full_like" else 1
    item = TYPE_NUMBERS.get(call.given(position)) or call.item(0)
    return 0, prod(call.shape(0) or ()) * item


def _new(call: OperatorCall) -> Moved | None:
    shape = call.numbers(1)
    item = TYPE_NUMBERS.get(call.given(3 if call.bare == "new_full" else 2)) or call.item(0)
    return None if shape is None else (0, prod(shape) * item)


# Values of an image that one of the result needs along a dimension; of the nearest one.
_TAPS = {"linear": 2, "cubic": 4}
_MOST_ROWS = 1 << 16  # counted row by row: a file may say anything
_FILLS = ("zeros", "ones", "full", "rand", "randn")
_OVERWRITES = (
    "copy", "zero", "fill", "normal", "uniform", "random", "cauchy", "exponential", "geometric",
    "log_normal",
)  # fmt: skip
_WITH_VALUES = frozenset(("full", "new_full", *_OVERWRITES))
_WITHOUT_TENSORS = OF_A_LOSS.union(_FILLS)  # the first argument may be none

RULES: Mapping[str, _Rule] = {
    **{name: _and_reads_all(written) for name, written in WRITTEN.items()},
    **dict.fromkeys(UPDATES, _update),
    **dict.fromkeys(_OVERWRITES, _overwritten),
    **dict.fromkeys(_FILLS, _filled),
    **dict.fromkeys(("zeros_like", "ones_like", "full_like", "rand_like", "randn_like"),
                    _filled_like),
    **dict.fromkeys(("new_zeros", "new_ones", "new_full"), _new),
    **dict.fromkeys(("gather", "take_along_dim", "take"), _gather),
    **dict.fromkeys(
        ("nll_loss", "nll_loss_forward", "nll_loss_nd", "nll_loss2d_forward"), _likelihood
    ),
    **dict.fromkeys(UPSAMPLED, _resampled),
    **dict.fromkeys(PADDED, _padded),
    **dict.fromkeys(TRIANGLES, _triangle),
    "embedding": _embedding,
    "embedding_bag": _embedding_bag,
    "_embedding_bag": _embedding_bag,
    "index_select": _index_select,
}  # fmt: skip


# Operators whose bytes take arguments that are no tensors. Not those of `full` and `fill_`: their
# value may be another in each step, which would be another form of step for that.
WITH_SCALARS = frozenset(
    f"aten::{name}"
    for name in (*RULES, *(f"{name}_" for name in UPDATES | SCALARS_SAY | TRIANGLES))
    if name not in (ELEMENTWISE | LIKE_FIRST | LIKE_SECOND | PRODUCTS | _WITH_VALUES) - SCALARS_SAY
)

# Their own kernel puts values into a result that another one has filled with zeros: which of their
# arguments has as many values.
_PUT_INTO_ZEROS = {"nll_loss_backward": 2, "nll_loss2d_backward": 2, "embedding_dense_backward": 0}

_BY_COMMON = {name: _and_reads_all(written) for name, written in WRITTEN_BY_COMMON.items()}


def bytes_of_call(call: OperatorCall) -> Moved | None:
    """Bytes that the call reads and writes, each tensor once; None where that does not follow."""
    if any(n >= len(call.dtypes) or call.dtypes[n] not in ITEM_BYTES for n in call.tensors):
        return None
    if call.lists:
        return bytes_of_lists(call)
    rule = RULES.get(call.bare) or _BY_COMMON.get(operator(call.name))
    if rule is None or (call.shape(0) is None and call.bare not in _WITHOUT_TENSORS):
        return None
    try:
        return rule(call)
    except IndexError:
        return None  # no such call has these shapes: a file may say anything


def beside_its_fill(call: OperatorCall, moved: Moved) -> Moved:
    """What a call's own kernel moves, where another one fills its result with zeros before.

    Args:
        call: of any operator.
        moved: by both kernels.
    """
    read, written = moved
    shape = call.shape(_PUT_INTO_ZEROS.get(call.bare, -1))
    return moved if shape is None else (read, min(written, prod(shape) * call.item(0)))

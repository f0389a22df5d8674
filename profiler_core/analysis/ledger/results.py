"""Bytes of an operator's result, from the arguments that a trace records.

Positions of arguments are those of aten/src/ATen/native/native_functions.yaml (torch 2.15). Each
function gives None where the arguments do not tell.
"""

from collections.abc import Callable, Mapping, Sequence
from math import prod

from profiler_core.analysis.ledger.operator_call import (
    FLOATING,
    ITEM_BYTES,
    TYPE_NUMBERS,
    OperatorCall,
    Shape,
    broadcast,
)
from profiler_core.analysis.ledger.operator_kinds import (
    COMPARISONS,
    ELEMENTWISE,
    FLOAT_OF_WHOLE,
    GRADIENTS_OF_NORMS,
    LIKE_FIRST,
    LIKE_SECOND,
    PADDED,
    PRODUCTS,
    UPSAMPLED,
)
from profiler_core.analysis.operator_arguments import truths

Written = Callable[[OperatorCall], int | None]

_INDEX = ITEM_BYTES["long int"]
_FLOAT = ITEM_BYTES["float"]


def _elementwise(call: OperatorCall) -> int | None:
    shape = broadcast([shape for shape in call.shapes if shape is not None])
    return None if shape is None else prod(shape) * _item_of_elements(call, call.tensors)


def _item_of_elements(call: OperatorCall, tensors: Sequence[int]) -> int:
    """Bytes of one value of an elementwise result, by the types of these arguments."""
    if call.bare in COMPARISONS:
        return 1
    # A tensor of one value, as numbers are handed over, makes others floating but not wider.
    larger = [n for n in tensors if call.shape(n)] or list(tensors)
    floating = [n for n in larger if call.dtypes[n] in FLOATING]
    item = max(map(call.item, floating or larger))
    if not floating:
        is_floating = any(call.dtypes[n] in FLOATING for n in tensors)
        return _FLOAT if is_floating or call.bare in FLOAT_OF_WHOLE else item
    return 2 * item if call.bare == "complex" else item


def _like(position: int) -> Written:
    return lambda call: None if call.shape(position) is None else call.size(position)


def _sized_by(position: int, of: int = 0) -> Written:
    """A result whose shape is an argument, of the type of one of the tensors."""

    def written(call: OperatorCall) -> int | None:
        shape = call.numbers(position)
        return None if shape is None else prod(shape) * call.item(of)

    return written


def _cast(call: OperatorCall) -> int | None:
    """`to(dtype, …)`, `to(device, dtype, …)`, `_to_copy(dtype=…)`; a move keeps the type."""
    named = [TYPE_NUMBERS.get(call.given(n)) for n in (1, 2)]
    shape = call.shape(0)
    if shape is None or not call.concrete:
        return None
    return prod(shape) * (named[0] or (named[1] if not call.given(1) else None) or call.item(0))


def _typed_like_second(call: OperatorCall) -> int | None:
    return prod(call.shape(0) or ()) * call.item(1) if call.shape(1) is not None else None


def _typed_like_first(call: OperatorCall) -> int | None:
    """Of `softmax(dim, dtype)` and `cumsum`."""
    shape = call.shape(0)
    return (
        None if shape is None else prod(shape) * (TYPE_NUMBERS.get(call.given(2)) or call.item(0))
    )


# Reductions: where their dimensions are, and the fewest arguments of the overload that has them.
_REDUCED = {
    "sum": (1, 4), "nansum": (1, 4), "mean": (1, 4), "prod": (1, 4), "amax": (1, 1), "amin": (1, 1),
    "argmax": (1, 1), "argmin": (1, 1), "logsumexp": (1, 1), "max": (1, 3), "min": (1, 3),
    "median": (1, 3), "nanmedian": (1, 3), "mode": (1, 3), "kthvalue": (2, 4), "any": (1, 3),
    "all": (1, 3), "std": (1, 3), "var": (1, 3), "std_mean": (1, 3), "var_mean": (1, 3),
    "count_nonzero": (1, 2), "norm": (2, 3), "linalg_vector_norm": (2, 3), "quantile": (2, 3),
}  # fmt: skip
_WITH_INDICES = frozenset(("max", "min", "median", "nanmedian", "mode", "kthvalue"))
_INDICES = frozenset(("argmax", "argmin", "count_nonzero"))
_PAIRS = frozenset(("std_mean", "var_mean"))


def _reduced(call: OperatorCall) -> int | None:
    position, n_arguments = _REDUCED[call.bare]
    shape = call.shape(0)
    if shape is None or not call.concrete:
        return None
    along = call.numbers(position) if len(call.concrete) >= n_arguments else None
    if along is None and call.shape(1) is not None:
        return None  # `max(a, b)`: see _maximum
    if call.bare == "mode" and along is None:
        along = [-1]
    if along is None and call.given(position).strip("[]") not in ("", "None"):
        return None if len(call.concrete) >= n_arguments else call.item(0)
    gone = {n % len(shape) for n in along or range(len(shape))} if shape else ()
    count = prod(length for n, length in enumerate(shape) if n not in gone)
    return count * _item_of_reduction(call, is_along=along is not None)


def _item_of_reduction(call: OperatorCall, *, is_along: bool) -> int:
    """Bytes of one value of a reduction's result: with an index, a pair of values."""
    item = call.item(0)
    if call.bare in _INDICES:
        return _INDEX
    if call.bare in ("any", "all"):
        return 1
    if call.bare in _PAIRS:
        return 2 * item
    if call.bare in _WITH_INDICES and is_along:
        return item + _INDEX
    if call.bare in ("sum", "nansum", "prod", "mean"):
        named = TYPE_NUMBERS.get(call.given(len(call.concrete) - 1))  # the last one is the dtype
        return named or (item if call.dtypes[0] in FLOATING else _INDEX)
    return item


def _maximum(call: OperatorCall) -> int | None:
    """Both `max(a, b)` and a reduction have the name."""
    return _elementwise(call) if call.shape(1) is not None else _reduced(call)


def _product(call: OperatorCall) -> int | None:
    first = 1 if call.bare in ("addmm", "baddbmm", "addbmm", "addmv", "addr") else 0
    left, right = call.shape(first), call.shape(first + 1)
    if left is None or right is None:
        return None
    shape = _product_shape(call.bare, left, right)
    return None if shape is None else prod(shape) * call.item(first)


def _product_shape(bare: str, left: Shape, right: Shape) -> Shape | None:
    if bare == "linear":
        return (*left[:-1], *right[:-1])
    if bare in ("outer", "ger", "addr"):
        return (*left, *right)
    if bare == "addbmm":
        left, right = left[1:], right[1:]
    rows, columns = left[-2:-1], right[-1:] if len(right) > 1 else ()
    batch = broadcast((left[:-2], right[:-2]))
    return None if batch is None else (*batch, *rows, *columns)


def _attention(call: OperatorCall) -> int | None:
    """A row for each query, as wide as a value."""
    query, value = call.shape(0), call.shape(2)
    if query is None or value is None:
        return None
    return prod((*query[:-1], *value[-1:])) * call.item(0)


def _attention_gradients(call: OperatorCall) -> int | None:
    """Of query, key and value, which stand behind the result's gradient."""
    return sum(map(call.size, (1, 2, 3))) if call.shape(3) is not None else None


def _padded(call: OperatorCall) -> int | None:
    shape, padding = call.shape(0), call.numbers(1)
    if shape is None or padding is None or len(padding) // 2 > len(shape):
        return None
    lengths = list(shape)
    for n in range(len(padding) // 2):
        lengths[-1 - n] += padding[2 * n] + padding[2 * n + 1]
    return prod(lengths) * call.item(0)


def _repeated(call: OperatorCall) -> int | None:
    times = call.numbers(1)
    return None if times is None else call.size(0) * prod(times)


def _one_hot(call: OperatorCall) -> int | None:
    classes = call.numbers(1)
    return None if classes is None or classes[0] < 0 else call.size(0) * classes[0]


def upsampled_lengths(call: OperatorCall) -> list[int] | None:
    """Of `(input, output_size, …)`, or `(input, None, …, scale_factors)`, one a dimension."""
    shape, size = call.shape(0), call.numbers(1)
    if shape is None:
        return None
    if size is None:
        try:
            factors = [float(part) for part in call.given(len(call.concrete) - 1)[1:-1].split(",")]
            size = [int(n * f) for n, f in zip(shape[-len(factors) :], factors, strict=True)]
        except (ValueError, OverflowError):
            return None
    return size or None


def _upsampled(call: OperatorCall) -> int | None:
    shape, lengths = call.shape(0), upsampled_lengths(call)
    if shape is None or lengths is None:
        return None
    return prod(shape[: -len(lengths)]) * prod(lengths) * call.item(0)


def _chosen(call: OperatorCall) -> int | None:
    """The k largest of a dimension (the last one, where none is named), with their indices."""
    shape, k = call.shape(0), call.numbers(1)
    length = call.length_along(2) if call.given(2) else (shape or (0,))[-1]
    if shape is None or k is None or not length:
        return None
    return prod(shape) // length * k[0] * (call.item(0) + _INDEX)


def _with_indices(call: OperatorCall) -> int | None:
    return call.size(0) + prod(call.shape(0) or ()) * _INDEX


def _indices(position: int) -> Written:
    def written(call: OperatorCall) -> int | None:
        shape = call.shape(position)
        return None if shape is None else prod(shape) * _INDEX

    return written


def _half(call: OperatorCall) -> int | None:
    return call.size(0) // 2


def _with_mask(call: OperatorCall) -> int | None:
    return call.size(0) + prod(call.shape(0) or ())


def _loss(position: int) -> Written:
    """A loss: one value, or as many as there are targets where nothing is reduced."""

    def written(call: OperatorCall) -> int | None:
        if not call.given(position):
            return None
        if call.given(position) != "0":
            return call.item(0)
        target = call.shape(1)
        return None if target is None else prod(target) * call.item(0)

    return written


def _grid(call: OperatorCall) -> int | None:
    values, grid = call.shape(0), call.shape(1)
    if values is None or grid is None:
        return None
    return prod((*values[:2], *grid[1:-1])) * call.item(0)


def _distances(call: OperatorCall) -> int | None:
    left, right = call.shape(0), call.shape(1)
    batch = broadcast((left[:-2], right[:-2])) if left and right else None
    if batch is None or left is None or right is None:
        return None
    return prod((*batch, left[-2], right[-2])) * call.item(0)


def _norm_gradients(call: OperatorCall) -> int | None:
    """Of input, weight and bias those that are asked for; of the input, where none are recorded."""
    weight, mask = GRADIENTS_OF_NORMS[call.bare]
    sizes = call.size(0), call.size(weight), call.size(weight)
    if call.shape(0) is None or not call.given(mask):
        return _like(0)(call)
    asked = zip(sizes, truths(call.given(mask)), strict=False)
    return sum(n_bytes for n_bytes, is_asked in asked if is_asked)


def _embedding_gradient(call: OperatorCall) -> int | None:
    rows, gradient = call.numbers(2), call.shape(0)
    return None if rows is None or gradient is None else rows[0] * gradient[-1] * call.item(0)


WRITTEN: Mapping[str, Written] = {
    **dict.fromkeys(ELEMENTWISE, _elementwise),
    **dict.fromkeys(LIKE_FIRST, _like(0)),
    **dict.fromkeys(LIKE_SECOND, _like(1)),
    **dict.fromkeys(GRADIENTS_OF_NORMS, _norm_gradients),
    **dict.fromkeys(_REDUCED, _reduced),
    **dict.fromkeys(("max", "min"), _maximum),
    **dict.fromkeys(PRODUCTS, _product),
    **dict.fromkeys(UPSAMPLED, _upsampled),
    **dict.fromkeys((f"{name}_backward" for name in UPSAMPLED), _sized_by(2)),
    **dict.fromkeys(("to", "_to_copy"), _cast),
    "type_as": _typed_like_second,
    **dict.fromkeys(
        ("softmax", "_softmax", "log_softmax", "_log_softmax", "cumsum", "cumprod"),
        _typed_like_first,
    ),
    **dict.fromkeys(PADDED, _padded),
    **dict.fromkeys(("repeat", "tile", "repeat_interleave"), _repeated),
    **dict.fromkeys(("slice_backward", "select_backward", "diagonal_backward"), _sized_by(1)),
    **dict.fromkeys(("index_select_backward", "sum_to_size", "expand_copy"), _sized_by(1)),
    **dict.fromkeys(("sort", "cummax", "cummin"), _with_indices),
    **dict.fromkeys(("mse_loss", "l1_loss", "smooth_l1_loss", "huber_loss", "kl_div"), _loss(2)),
    **dict.fromkeys(
        ("nll_loss", "nll_loss_nd", "nll_loss_forward", "nll_loss2d_forward", "cross_entropy_loss",
         "binary_cross_entropy"),
        _loss(3),
    ),
    "binary_cross_entropy_with_logits": _loss(4),
    "value_selecting_reduction_backward": _sized_by(3),
    "one_hot": _one_hot,
    "topk": _chosen,
    "argsort": _indices(0),
    "searchsorted": _indices(1),
    "bucketize": _indices(0),
    "glu": _half,
    "native_dropout": _with_mask,
    "grid_sampler": _grid,
    "grid_sampler_2d": _grid,
    "grid_sampler_3d": _grid,
    "cdist": _distances,
    "_cdist_forward": _distances,
    "embedding_dense_backward": _embedding_gradient,
}  # fmt: skip

# By the common name (operators.py): what libraries compute has many.
WRITTEN_BY_COMMON: Mapping[str, Written] = {
    "attention": _attention,
    "attention_backward": _attention_gradients,
    **dict.fromkeys(
        ("batch_norm", "batch_norm_backward", "layer_norm", "group_norm", "rms_norm",
         "softmax_backward", "log_softmax_backward"),
        _like(0),
    ),
}  # fmt: skip

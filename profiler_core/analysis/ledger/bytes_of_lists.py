"""Bytes of operators that are handed lists of tensors: `cat`, `_foreach_add_` and their like.

A trace has the shapes of a list's tensors without their types. The kernel that an operator starts
is made for one type, which its name says; on a CPU nothing does.
"""

import re
from collections.abc import Iterable
from math import prod

from profiler_core.analysis.ledger.operator_call import ITEM_BYTES, OperatorCall

_JOINED = frozenset((
    "cat", "concat", "concatenate", "stack", "hstack", "vstack", "dstack", "column_stack",
))  # fmt: skip
_REDUCED = frozenset(("_foreach_norm", "_foreach_max"))  # to one value a tensor
_FOREACH = "_foreach_"
# `CatArrayBatchedCopy_vectorized<at::native::(anonymous namespace)::OpaqueType<4u>, …`; before
# torch 2.1 with a type of C++ in the place of an opaque one of as many bytes.
_OF_JOINED = re.compile(r"CatArrayBatchedCopy\w*<(?:[^<>,]*OpaqueType<(\d+)u?>|([\w:]+))")
# `multi_tensor_apply_kernel<…TensorListMetadata<2>, …BinaryOpListAlphaFunctor<float, 2, 2, 0>, …`
_OF_EACH = re.compile(r"multi_tensor_apply_kernel<.*?Functor\w*<([\w:]+),")
_COPIED = re.compile(r"::Copy<([\w:]+), ([\w:]+)>")


def item_of_lists(kernels: Iterable[str]) -> int:
    """Bytes of one value of the lists that kernels work on, by their names.

    0 where a name does not say it, or they differ.
    """
    items = {_item(name) for name in kernels}
    return items.pop() if len(items) == 1 else 0


def _item(kernel: str) -> int:
    joined = _OF_JOINED.search(kernel)
    if joined is not None:
        return int(joined[1]) if joined[1] else ITEM_BYTES.get(joined[2], 0)
    each, copied = _OF_EACH.search(kernel), _COPIED.search(kernel)
    if each is None or (copied is not None and copied[1] != copied[2]):
        return 0
    return ITEM_BYTES.get(each[1], 0)


def bytes_of_lists(call: OperatorCall) -> tuple[int, int] | None:
    """Bytes that a call with lists reads and writes; None where that does not follow."""
    if not call.list_item or not all(call.lists):
        return None  # of more than 30 tensors torch records no shapes
    sizes = [sum(map(prod, shapes)) * call.list_item for shapes in call.lists]
    if call.bare in _JOINED:
        return sizes[0], sizes[0]
    if not call.bare.startswith(_FOREACH):
        return None
    read = sum(sizes) + call.all_bytes
    if call.bare in _REDUCED:
        return read, len(call.lists[0]) * call.list_item
    if call.bare in ("_foreach_copy", "_foreach_zero") and call.is_in_place:
        read -= sizes[0]  # only overwritten
    return read, sizes[0]

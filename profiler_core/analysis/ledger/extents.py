"""How large a product is, whichever operator it was asked for with: batch, rows, columns, depth.

`aten::linear` on (8, 128, 768), `aten::addmm` on (1024, 768) and a graph's `mm` are one product
of 1024 x 768 x 768. Two products of different extents are not the same work, whatever their order.
"""

import re
from collections.abc import Sequence
from functools import lru_cache
from math import prod

Shape = tuple[int, ...]
Extent = tuple[int, int, int, int]

# Which factors of a product are transposed: cuBLAS's and CUTLASS's kernels have it in their names.
_LAYOUT = re.compile(r"_([tn][tn])_", re.IGNORECASE)

_WITH_WEIGHT = ("linear",)  # the weight is handed over transposed
_AFTER_A_SUMMAND = ("addmm", "baddbmm", "addbmm", "_addmm_activation")
_TWO_FACTORS = ("mm", "bmm", "matmul", "@", "__matmul__")


@lru_cache(maxsize=4096)
def layout_of(kernel: str) -> str:
    """`sm80_xmma_gemm_f32f32_f32f32_f32_tn_n_…` -> "tn"; "": it is not said.

    A product with a vector is "vector": its kernels' names do not say it either.
    """
    if "gemv" in kernel:
        return "vector"
    layout = _LAYOUT.search(kernel)
    return layout[1].lower() if layout else ""


def product_extent(operator: str, shapes: Sequence[Shape]) -> Extent | None:
    """(batch, rows, columns, depth) of a product; None where the shapes do not say it.

    Args:
        operator: `aten::addmm`, `torch.ops.aten.mm.default`, `torch._C._nn.linear`.
        shapes: of its tensors, in order.
    """
    parts = operator.replace("::", ".").split(".")
    names = [part for part in parts[-2:] if part not in ("default", "out", "dtype")]
    name = names[-1] if names else ""
    if name in _WITH_WEIGHT and len(shapes) >= 2 and len(shapes[1]) == 2:
        columns, depth = shapes[1]
        if shapes[0] and shapes[0][-1] == depth:
            return 1, prod(shapes[0][:-1]), columns, depth
        return None
    factors = shapes[1:3] if name in _AFTER_A_SUMMAND else shapes[:2]
    if name not in (*_AFTER_A_SUMMAND, *_TWO_FACTORS) or len(factors) != 2:
        return None
    left, right = factors
    if min(len(left), len(right)) < 2 or left[-1] != right[-2]:
        return None
    if len(right) == 2:
        return 1, prod(left[:-1]), right[-1], right[-2]
    if left[:-2] != right[:-2]:
        return None
    return prod(left[:-2]), left[-2], right[-1], right[-2]

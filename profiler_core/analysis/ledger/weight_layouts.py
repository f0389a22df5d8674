"""Generated kernels that lay a convolution's weight out anew, whatever their names say.

Inductor names such a kernel after all operators that are fused around it: one that only copies the
next convolution's weight to channels_last is `triton_poi_fused_batch_norm_convolution_relu_3`. It
is known by what it is handed: two tensors of the weight's shape and of one type, laid out
differently.
"""

from collections.abc import Sequence

from profiler_core.analysis.ledger.extents import Shape
from profiler_core.analysis.ledger.program import Item
from profiler_core.analysis.ledger.work_units import Unit

_NO_TENSOR = ("Scalar", "")


def mark_weight_layouts(items: Sequence[Item], units: Sequence[Unit]) -> None:
    """Mark those of a segment that lay out the weight of a convolution behind them.

    A shape that a convolution of the segment takes as its input, too, tells nothing.

    Args:
        items: of the segment, in order.
        units: of the step.
    """
    convolutions = [item.shapes for item in items if item.op == "convolution"]
    inputs = {shape for shapes in convolutions for shape in shapes[:1]}
    ahead: set[Shape] = set()
    for item in reversed(items):
        if item.op == "convolution":
            ahead.update(item.shapes[1:2])
        elif item.by_kernel_name and item.unit is not None:
            laid_out = _laid_out(units[item.unit])
            item.lays_out_weight = laid_out in ahead and laid_out not in inputs


def _laid_out(unit: Unit) -> Shape | None:
    """The shape of both tensors of a kernel that is handed no others, in another layout each."""
    if not len(unit.shapes) == len(unit.dtypes) == len(unit.strides):
        return None
    tensors = [
        (shape, dtype, strides)
        for shape, dtype, strides in zip(unit.shapes, unit.dtypes, unit.strides, strict=True)
        if dtype not in _NO_TENSOR
    ]
    if len(tensors) != 2:
        return None
    (shape, dtype, strides), (other_shape, other_dtype, other_strides) = tensors
    is_same = shape == other_shape and dtype == other_dtype
    return shape if is_same and strides and other_strides and strides != other_strides else None

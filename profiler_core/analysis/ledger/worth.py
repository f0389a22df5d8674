"""Scores of the alignment: how likely two items are the same operator, as whole numbers."""

from math import prod

from profiler_core.analysis.ledger.operators import ANCHORS, KERNEL_FREE, SOFTMAX
from profiler_core.analysis.ledger.program import COPYING, Item, Phase

# Worth of a match. An alignment is worth most in all, so only the order of these counts, and how
# many of one make up for one of another: an operator is worth more than views, which come and go
# between it and the next, and in a backward one of the same source line outweighs some of others.
VIEW = 2
ONLY_THE_LINE = 3
PART_OF_ANOTHER = 1  # but Inductor says that the node is part of other operators
MISSHAPEN = 1  # the name has the operator, but no tensor of its size, or of its index's
NAMED_IN_KERNEL = 4
NEWLY_NAMED = 2  # and no generated kernel just before has it in its name
OF_ITS_SIZE = 2  # and a tensor as large as the operator's
OPERATOR = 7
SAME_KERNEL = 12
POINTWISE = 19  # a product's kernel for a convolution whose weight is 1x1
LIBRARY = 20  # more than two kernels by their names: fusing leaves what libraries compute as it is
OPERATOR_OF_THE_LINE = 20
PART = 1  # less where it is part of another operator: of two alike the one that is none counts


def worth(a: Item, b: Item, phase: Phase) -> int:
    """How sure it is that two items are one operator; 0: they are not."""
    if a.by_kernel_name or b.by_kernel_name:
        return worth_of_names(a, b)
    if a.extent and b.extent and a.extent != b.extent:
        return 0  # two products of different sizes, whatever stands between them
    if (
        a.layouts
        and b.layouts
        and (a.library_kernel or b.library_kernel)
        and not (a.layouts & b.layouts)
    ):
        return 0  # a linear layer hands its weight over transposed, attention's products do not
    same_line = bool(a.labels & b.labels)
    if not related(a, b):
        if phase == "backward":
            return _of_one_line(a, b) if same_line else 0
        return _worth_of_libraries(a, b)
    value = _of_one_name(a, b, phase)
    if a.extent and b.extent:
        return value  # their shapes agree, however they are written
    return max(1, value + shape_bonus(a, b))


def _of_one_line(a: Item, b: Item) -> int:
    """Of a gradient and a node of its source line, which may be what it was decomposed into."""
    for operator, node in ((a, b), (b, a)):
        if node.part_of:
            return ONLY_THE_LINE if operator.op in node.part_of else PART_OF_ANOTHER
    return ONLY_THE_LINE


def _of_one_name(a: Item, b: Item, phase: Phase) -> int:
    """Of an operator and its namesake, whatever their shapes are."""
    if phase != "backward":
        return VIEW if a.op in KERNEL_FREE else LIBRARY if a.is_anchor else OPERATOR
    value = OPERATOR_OF_THE_LINE if a.labels & b.labels else OPERATOR
    return value - PART if a.is_part or b.is_part else value


def related(a: Item, b: Item) -> bool:
    """Is one the operator of the other, or part of it?"""
    return (bool(a.op) and a.op == b.op) or a.op in b.inner or b.op in a.inner


def worth_of_names(a: Item, b: Item) -> int:
    """Kernels known by name only: equal ones, or an operator that the name mentions."""
    if _is_a_weights_layout_alone(a, b) or _is_a_weights_layout_alone(b, a):
        return 0
    if a.op == b.op:
        return SAME_KERNEL
    if a.by_kernel_name and b.by_kernel_name:
        common = len(a.inner & b.inner)
        return 2 * common if common and 2 * common >= min(len(a.inner), len(b.inner)) else 0
    name, plain = (a, b) if a.by_kernel_name else (b, a)
    if plain.op == "attention" and name.inner & SOFTMAX:
        return SAME_KERNEL  # attention in several kernels: nothing else has its softmax
    if not (plain.op in name.inner or plain.inner & name.inner):
        return 0
    return _named(plain, name)


def _is_a_weights_layout_alone(kernel: Item, other: Item) -> bool:
    """Does a kernel only lay out a weight, and the other do what is no copy, for all it says?"""
    copies = other.inner <= COPYING if other.by_kernel_name else other.op in COPYING
    return kernel.lays_out_weight and not (other.lays_out_weight or copies)


def _named(plain: Item, name: Item) -> int:
    """Of an operator and a kernel that has it in its name."""
    if plain.is_anchor and name.inner - ANCHORS - COPYING:
        return MISSHAPEN  # a library computes that; what else is in the name is this kernel's
    sizes = {prod(shape) for shape in name.shapes}
    size = max((prod(shape) for shape in plain.shapes), default=0)
    if sizes and size and not {size, *plain.index_sizes} <= sizes:
        return _of_another_size(plain, name)
    of_its_size = OF_ITS_SIZE if sizes and size else 0
    behind = sum(_mentioned(op, name) for op in plain.chain & name.inner)
    return _mentioned(plain.op, name) + of_its_size + behind


def _mentioned(op: str, name: Item) -> int:
    return NAMED_IN_KERNEL + (NEWLY_NAMED if op in name.fresh else 0)


def _of_another_size(plain: Item, name: Item) -> int:
    """Of an operator and a kernel with it in its name, but no tensor of its size."""
    if name.only_copies and plain.op not in name.fresh:
        return 0  # another tensor is laid out anew: the name has what it is fused with besides
    of_its_table = bool(plain.index_sizes) and plain.shapes[0] in name.shapes
    return MISSHAPEN + of_its_table  # the rows' numbers may be computed in it


def _worth_of_libraries(a: Item, b: Item) -> int:
    """CuDNN computes 1x1 convolutions with kernels that are named as products."""
    if {a.op, b.op} != {"matmul", "convolution"}:
        return 0
    weight = (a if a.op == "convolution" else b).shapes[1:2]
    is_pointwise = bool(weight) and set(weight[0][2:]) == {1}
    return POINTWISE if is_pointwise else 0


def shape_bonus(a: Item, b: Item) -> int:
    """Equal shapes of the first two tensors speak for a match, others against it."""
    shared = list(zip(a.shapes[:2], b.shapes[:2], strict=False))
    if not shared:
        return 0
    equal = sum(x == y for x, y in shared)
    return equal - 2 * (len(shared) - equal)

"""Second halves of split reductions are known by the shape that they are handed."""

from profiler_core.analysis.ledger.operators import operators_of_kernel
from profiler_core.analysis.ledger.program import Item
from profiler_core.analysis.ledger.split_reductions import first_halves


def kernel(name: str, *shapes: tuple[int, ...]) -> Item:
    return Item(name, operators_of_kernel(name), (0,), shapes=shapes, by_kernel_name=True)


FIRST = kernel("triton_red_fused_sum_6", (20000, 128), (1, 128, 157))
# Inductor shares a kernel between reductions of one shape: the name is another operator's.
SECOND = kernel("triton_red_fused_native_layer_norm_backward_5", (1, 128, 157), (1, 128))


def test_chunks_that_nothing_else_has_lead_to_the_first_half():
    other = kernel("triton_poi_fused_relu_7", (20000, 128), (20000, 128))
    assert first_halves([other, FIRST, other, SECOND]) == {3: 1}


def test_the_halves_stand_at_most_twelve_kernels_apart():
    other = kernel("triton_poi_fused_relu_7", (20000, 128), (20000, 128))
    assert first_halves([FIRST, *[other] * 11, SECOND]) == {12: 0}
    assert first_halves([FIRST, *[other] * 12, SECOND]) == {}


def test_a_sum_of_sums_has_three_parts():
    first = kernel("triton_per_fused_sum_8", (32, 64, 32, 32), (32, 8, 64))
    middle = kernel("triton_per_fused_sum_9", (32, 8, 64), (32, 8))
    last = kernel("triton_per_fused_sum_10", (32, 8), (32,))
    assert first_halves([first, middle, last]) == {1: 0, 2: 1}


def test_a_sum_of_everything_has_a_result_without_a_shape():
    first = kernel("triton_red_fused_sum_1", (256, 1024), (32,))
    assert first_halves([first, kernel("triton_per_fused_sum_2", (32,))]) == {1: 0}


def test_what_a_library_computes_too_is_no_chunk():
    product = Item("matmul", frozenset(), (0,), shapes=((1, 128, 157),))
    assert first_halves([FIRST, product, SECOND]) == {}


def test_a_reduction_of_a_whole_tensor_is_no_second_half():
    assert first_halves([FIRST, FIRST]) == {}
    assert first_halves([SECOND, FIRST]) == {}


def test_a_kernel_point_by_point_is_no_half():
    point = kernel("triton_poi_fused_sum_6", (20000, 128), (1, 128, 157))
    assert first_halves([point, SECOND]) == {}

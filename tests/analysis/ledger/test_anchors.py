"""Library operators that face each other by their sizes."""

from profiler_core.analysis.ledger.anchors import (
    between,
    in_doubt,
    kernels_by_size,
    pairs_by_size,
    rising,
)
from profiler_core.analysis.ledger.attention_parts import parts_by_name, products_of
from profiler_core.analysis.ledger.extents import product_extent
from profiler_core.analysis.ledger.operators import operators_of_kernel
from profiler_core.analysis.ledger.program import Item


def product(left: tuple[int, ...], right: tuple[int, ...], dtype: str = "float") -> Item:
    shapes = (left, right)
    extent = product_extent("aten::mm", shapes)
    return Item("matmul", frozenset(), (0,), shapes=shapes, extent=extent, dtypes=(dtype,))


def attention(*shapes: tuple[int, ...]) -> Item:
    return Item("attention", frozenset(), (0,), shapes=shapes)


def test_gradients_that_changed_places_face_their_own_size():
    """Eager asks for the input's gradient first, Inductor for the weight's."""
    of_input, of_weight = product((64, 8), (8, 16)), product((8, 64), (64, 16))
    assert pairs_by_size([of_input, of_weight] * 2, [of_weight, of_input] * 2) == [
        (0, 1), (1, 0), (2, 3), (3, 2)]  # fmt: skip


def test_a_batched_product_never_faces_a_gradient_of_a_weight():
    batched = Item("matmul", frozenset(), (0,), extent=(96, 128, 128, 64))
    assert pairs_by_size([batched], [product((128, 64), (64, 128))]) == []


def test_types_tell_products_of_one_size_apart():
    half, single = product((4, 4), (4, 4), "c10::Half"), product((4, 4), (4, 4), "float")
    assert pairs_by_size([half, single], [single, half]) == [(0, 1), (1, 0)]


def test_where_the_numbers_differ_the_order_says_nothing():
    same = product((64, 8), (8, 16))
    assert pairs_by_size([same, same], [same, same, same]) == []


def test_an_attention_faces_the_two_products_that_it_became():
    heads = (8, 12, 128, 64)
    one = attention(heads, heads, heads)
    assert products_of(one) == [(96, 128, 128, 64), (96, 128, 64, 128)]
    left, right = product((96, 128, 64), (96, 64, 128)), product((96, 128, 128), (96, 128, 64))
    softmax = kernel("triton_per_fused__softmax_5", (8, 12, 128, 128))
    other = product((64, 8), (8, 16))
    assert parts_by_name([other, one], [left, softmax, other, right], [(0, 2)]) == [
        (1, 0), (1, 1), (1, 3)]  # fmt: skip


def test_the_products_of_an_attention_stand_at_most_eight_items_from_its_softmax():
    heads = (8, 12, 128, 64)
    left, right = product((96, 128, 64), (96, 64, 128)), product((96, 128, 128), (96, 128, 64))
    softmax = kernel("triton_per_fused__softmax_5", (8, 12, 128, 128))
    other = product((64, 8), (8, 16))

    def parts(n: int) -> list[tuple[int, int]]:
        items = [left, *[other] * n, softmax, *[other] * n, right]
        return parts_by_name([attention(heads, heads, heads)], items, [])

    assert parts(7) == [(0, 0), (0, 8), (0, 16)]
    assert parts(8) == [(0, 9)]


def test_pairs_of_one_size_are_in_doubt_where_the_second_crossed_others_at_most_eight_apart():
    def doubts(n: int) -> list[tuple[tuple[int, int], tuple[int, int]]]:
        """Of two products of one size with n - 1 others between them, behind them there."""
        others = [product((64, size), (size, 16)) for size in range(100, 99 + n)]
        items = [product((64, 8), (8, 16)), *others, product((64, 8), (8, 16))]
        pairs = [(0, 0), *((number, number + 1) for number in range(1, n)), (n, 1)]
        return in_doubt(items, pairs)

    assert doubts(1) == []  # they crossed nothing
    assert doubts(8) == [((0, 0), (8, 1))]
    assert doubts(9) == []


def test_the_frame_is_the_longest_part_that_rises():
    assert rising([(0, 1), (1, 0), (2, 3), (3, 2), (4, 4)]) in (
        [(0, 1), (2, 3), (4, 4)],
        [(1, 0), (2, 3), (4, 4)], [(1, 0), (3, 2), (4, 4)], [(0, 1), (3, 2), (4, 4)],
    )  # fmt: skip
    assert rising([]) == []


def kernel(name: str, *shapes: tuple[int, ...], dtype: str = "float") -> Item:
    return Item(
        name,
        operators_of_kernel(name),
        (0,),
        shapes=shapes,
        dtypes=(dtype,) * max(1, len(shapes)),
        by_kernel_name=True,
    )


def cast(*shape: int, dtype: str = "c10::BFloat16") -> Item:
    return Item("cast", frozenset(), (0,), shapes=(shape,), dtypes=(dtype,))


def test_casts_at_the_end_face_those_of_their_size_wherever_they_were():
    relu = Item("relu", frozenset(), (0,), shapes=((8, 8),), dtypes=("float",))
    eager = [cast(64, 64), relu, cast(8, 3), cast(64, 64)]
    compiled = [
        kernel("triton_poi_fused_relu_0", (8, 8), (8, 8)),
        *(
            kernel(f"triton_poi_fused__to_copy_{n}", shape, shape, dtype="c10::BFloat16")
            for n, shape in enumerate([(8, 3), (64, 64), (64, 64)], start=1)
        ),
    ]
    assert kernels_by_size(eager, compiled, []) == [(0, 2), (1, 0), (2, 1), (3, 3)]


def test_a_cast_to_another_type_is_another_cast():
    down = kernel("triton_poi_fused__to_copy_0", (64, 64), (64, 64), dtype="float")
    assert kernels_by_size([cast(64, 64)], [down], []) == []


def test_counters_without_axes_face_each_other():
    add = Item("add", frozenset(), (0,), dtypes=("long int", "Scalar"))
    kernels = [kernel("triton_poi_fused_add_copy__11", dtype="long int")] * 2
    assert kernels_by_size([add, add], kernels, []) == [(0, 0), (1, 1)]
    assert kernels_by_size([add], kernels, []) == []


def test_a_list_of_tensors_says_no_size():
    joined = Item("cat", frozenset(), (0,), dtypes=("TensorList", "Scalar"))
    assert joined.size is None


def test_an_operator_that_is_fused_elsewhere_too_is_left_to_the_order():
    eager, alone = [cast(64, 64)], kernel("triton_poi_fused__to_copy_0", (64, 64), (64, 64),
                                          dtype="c10::BFloat16")  # fmt: skip
    fused = kernel("triton_poi_fused__to_copy_add_1", (64, 64), (64, 64), dtype="c10::BFloat16")
    assert kernels_by_size(eager, [alone], []) == [(0, 0)]
    assert kernels_by_size(eager, [alone, fused], []) == []


def test_the_frame_takes_in_what_crosses_none_of_it():
    assert between([(2, 2), (5, 6)], [(0, 3), (1, 1), (3, 4), (4, 3), (6, 7)]) == [
        (1, 1), (2, 2), (3, 4), (5, 6), (6, 7)]  # fmt: skip


HEADS = (8, 12, 128, 64)


def test_attentions_that_stay_one_function_count_beside_those_that_do_not():
    """T5 in FP32: with a bias of its own it becomes products, without one it stays."""
    both = [attention(HEADS, HEADS, HEADS), product((64, 8), (8, 16)),
            attention(HEADS, HEADS, HEADS)]  # fmt: skip
    scaled = kernel("triton_poi_fused_clone_mul_transpose_view_3", (1024, 768), HEADS)
    softmax = kernel("triton_per_fused__safe_softmax_add_5", (8, 12, 128, 128))
    of_loss = kernel("triton_red_fused__log_softmax_prepare_softmax_online_1", (64, 16))
    compiled = [
        scaled, product((96, 128, 64), (96, 64, 128)), softmax,
        product((64, 8), (8, 16)), product((96, 128, 128), (96, 128, 64)),
        attention(HEADS, HEADS, HEADS), of_loss,
    ]  # fmt: skip
    assert parts_by_name(both, compiled, [(1, 3)]) == [(0, 0), (0, 1), (0, 2), (0, 4), (2, 5)]
    assert parts_by_name(both, compiled[:5], [(1, 3)]) == []

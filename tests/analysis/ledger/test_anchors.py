"""Library operators that face each other by their sizes."""

from profiler_core.analysis.ledger.anchors import (
    pairs_by_size,
    rising,
)
from profiler_core.analysis.ledger.attention_parts import parts_by_size, products_of
from profiler_core.analysis.ledger.extents import product_extent
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
    other = product((64, 8), (8, 16))
    assert parts_by_size([other, one], [left, other, right], [(0, 1)]) == [(1, 0), (1, 2)]


def test_the_frame_is_the_longest_part_that_rises():
    assert rising([(0, 1), (1, 0), (2, 3), (3, 2), (4, 4)]) in (
        [(0, 1), (2, 3), (4, 4)],
        [(1, 0), (2, 3), (4, 4)], [(1, 0), (3, 2), (4, 4)], [(0, 1), (3, 2), (4, 4)],
    )  # fmt: skip
    assert rising([]) == []

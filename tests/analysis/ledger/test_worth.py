"""What speaks for a match more than something else: the scores on items made by hand."""

from profiler_core.analysis.ledger.match import Match
from profiler_core.analysis.ledger.matching import _align
from profiler_core.analysis.ledger.program import Item
from profiler_core.analysis.ledger.worth import worth
from tests.analysis.ledger.test_anchors import kernel


def operator(op: str, *shapes: tuple[int, ...], index_sizes=()) -> Item:
    return Item(op, frozenset(), (0,), shapes=shapes, index_sizes=frozenset(index_sizes))


def test_a_kernel_of_the_operators_size_is_worth_more_than_one_without_shapes():
    add = operator("add", (8, 64))
    sized, unknown, other = (
        kernel("triton_poi_fused_add_0", (512,)),
        kernel("triton_poi_fused_add_1"),
        kernel("triton_poi_fused_add_2", (7,)),
    )
    other.fresh = frozenset(("add",))
    assert worth(add, sized, "forward") > worth(add, unknown, "forward")
    assert worth(add, unknown, "forward") > worth(add, other, "forward") > 0


def test_a_kernel_that_lays_out_a_weight_is_no_operator_before_the_product():
    """Inductor names it after what the product reads: 16 relus of ResNet-50 were such kernels."""
    relu = operator("relu", (32, 128, 56, 56))
    name = "triton_poi_fused__native_batch_norm_legit_no_training_convolution_relu_9"
    of_weight = kernel(name, (128, 128, 3, 3), (128, 128, 3, 3))
    of_weight.fresh = frozenset(("convolution",))
    assert worth(relu, of_weight, "forward") == 0
    of_another_size = kernel(name, (128, 128, 3, 3))
    of_another_size.fresh = frozenset(("relu", "convolution"))
    assert worth(relu, of_another_size, "forward") > 0


def test_rows_are_taken_by_a_kernel_that_is_handed_their_numbers():
    """`zeros` of three scatters are one kernel, named after what is scattered into them."""
    take = operator("index_select", (20000, 128), (120000,), index_sizes=[120000])
    fills = kernel("triton_poi_fused_index_put_index_select_7", (20000, 128), (20000, 128))
    scatters = kernel("triton_poi_fused_index_put_index_select_8", (120000,), (20000, 128))
    assert worth(take, scatters, "backward") > worth(take, fills, "backward")


def test_a_table_that_is_there_is_worth_more_than_one_that_is_not():
    """The numbers of the rows may be computed in the kernel: positions."""
    look_up = operator("embedding", (32, 8), (256, 256), index_sizes=[65536])
    of_mask = kernel("triton_per_fused_softmax_embedding_5", (8, 8, 256, 256), (32, 8))
    of_words = kernel("triton_per_fused_embedding_mean_0", (8, 256), (4000, 512))
    assert worth(look_up, of_mask, "forward") > worth(look_up, of_words, "forward")


def test_a_kernel_of_unknown_size_is_worth_more_than_one_that_has_the_table_alone():
    look_up = operator("embedding", (32, 8), (256, 256), index_sizes=[65536])
    of_table = kernel("triton_per_fused_softmax_embedding_5", (8, 8, 256, 256), (32, 8))
    unknown = kernel("triton_per_fused_softmax_embedding_5")
    assert worth(look_up, unknown, "forward") > worth(look_up, of_table, "forward")


def test_to_be_newly_named_is_worth_what_the_size_is():
    """Neither outweighs the other: the order decides between such kernels."""
    add = operator("add", (8, 64))
    name = "triton_poi_fused_add_0"
    sized, newly, both = kernel(name, (512,)), kernel(name), kernel(name, (512,))
    newly.fresh = both.fresh = frozenset(("add",))
    assert worth(add, newly, "forward") == worth(add, sized, "forward")
    assert worth(add, newly, "forward") > worth(add, kernel(name), "forward")
    assert worth(add, both, "forward") > worth(add, newly, "forward")


def test_a_view_of_unknown_shape_is_worth_more_than_one_of_another_shape():
    view = operator("view", (8, 64))
    same, unknown, other = operator("view", (8, 64)), operator("view"), operator("view", (4, 4))
    assert worth(view, same, "forward") > worth(view, unknown, "forward")
    assert worth(view, unknown, "forward") > worth(view, other, "forward") > 0


def test_one_kernel_on_both_sides_is_itself_and_no_neighbour_of_its_operators():
    """Two compiled runs without logs."""
    names = [f"triton_poi_fused_add_gelu_mul_relu_{n}" for n in range(4)]
    left, right = [kernel(names[1])], [kernel(names[0]), kernel(names[1]), kernel(names[2])]
    assert _align(left, right, "forward", Match()) == [(0, 1)]


def test_a_product_is_a_convolution_only_where_that_is_pointwise():
    product = operator("matmul")
    assert worth(operator("convolution", (8, 64, 7, 7), (64, 64, 1, 1)), product, "forward") > 0
    assert worth(operator("convolution", (8, 64, 7, 7), (64, 64, 3, 3)), product, "forward") == 0


def test_an_operator_is_worth_more_than_the_views_around_it():
    """Views come and go between two operators; only their order differs here."""
    views = [operator("view", (8, 64)), operator("transpose", (8, 64))]
    add = operator("add", (8, 64), (8, 64))
    assert _align([*views, add], [add, *views], "forward", Match()) == [(2, 0)]


def test_in_a_backward_a_source_line_alone_is_less_than_the_operator():
    """Autograd's decompositions have other operators than the forward line that they stand for."""
    total, mean = on_line("sum", "model.py:7"), on_line("mean", "model.py:7")
    assert _align([total], [mean], "backward", Match()) == [(0, 0)]
    assert _align([total], [mean], "forward", Match()) == []
    elsewhere = on_line("sum", "model.py:9")
    assert _align([total], [mean, elsewhere], "backward", Match()) == [(0, 1)]


def test_of_equal_operators_the_one_with_equal_shapes_is_the_same():
    sizes = [(4, 4), (8, 64), (16, 16)]
    candidates = [operator("add", size, size) for size in sizes]
    for index, size in enumerate(sizes):
        add = operator("add", size, size)
        assert _align([add], candidates, "forward", Match()) == [(0, index)]


def on_line(op: str, line: str) -> Item:
    return Item(op, frozenset(), (0,), frozenset((line,)), shapes=((8, 64),))

"""Pairs of as many elements: split reductions, and orders of loops, by code that Inductor made.

Inductor's own word for the first halves was "no shared data" (torch 2.11, H200, --logs fusion);
with `split_reductions = False` it fused the same pairs.
"""

import msgspec
import pytest

from profiler_core.analysis.unfused.handovers import handovers
from profiler_core.analysis.unfused.loop_order import reads_in_order
from profiler_core.analysis.unfused.reasons import reason_in_code
from profiler_core.resources import sample_traces_directory
from profiler_core.session.run import Run
from tests.larger import LARGER

BREAKY = LARGER / "captures" / "breaky.default"
TRAINING = sample_traces_directory() / "simplecnn-training" / "default"
GELU, SUM = "triton_poi_fused_addmm_gelu_0", "triton_red_fused_sum_1"
BIAS = "triton_poi_fused_convolution_0"
MEAN = "triton_red_fused__native_batch_norm_legit_functional_1"


def graph_with(path, name):
    return next(g for g in Run.open(path).material.ledger_side.log.graphs if name in g.kernels)


def reason(graph, writer, reader):
    first, second = (next(c for c in graph.calls if c.name == name) for name in (writer, reader))
    (passed,) = (
        handover
        for handover in handovers(graph)
        if (handover.writer, handover.reader) == (first.index, second.index)
    )
    return reason_in_code(graph, first, second, buffers=passed.buffers)


def unsplit(graph, reader):
    """The same graph without what comes after a call: the other half of its reduction."""
    end = next(call.index for call in graph.calls if call.name == reader) + 1
    return msgspec.structs.replace(graph, calls=graph.calls[:end])


@pytest.mark.parametrize(
    ("path", "writer", "reader", "pieces"),
    [
        (BREAKY, GELU, SUM, ("32 results of 8 192 elements each", "262 144 elements")),
        (TRAINING, BIAS, MEAN, ("256 results of 8 192 elements each", "2 097 152 elements")),
    ],
)
def test_the_first_half_of_a_split_reduction_is_no_other_layout(path, writer, reader, pieces):
    """Both walk through one contiguous buffer, of which it was said that one was transposed."""
    split = reason(graph_with(path, writer), writer, reader)
    assert split.key == "split_reduction"
    assert all(text in split.text for text in pieces)
    assert "layout" not in split.text + split.change
    assert split.change == ""


def test_an_order_is_told_where_the_indices_differ():
    """The mean of a channel goes through 64 images at strides of 32 768; the bias goes straight."""
    other = reason(unsplit(graph_with(TRAINING, BIAS), MEAN), BIAS, MEAN)
    assert other.key == "order"
    assert "loop_ordering_after_fusion" in other.change


def test_where_the_indices_agree_nothing_is_claimed():
    same = reason(unsplit(graph_with(BREAKY, GELU), SUM), GELU, SUM)
    assert same.key == "unknown"
    assert same.text.endswith("as many elements, and in the same order.")
    assert "--logs fusion" in same.change


def test_where_an_index_cannot_be_read_nothing_is_claimed():
    graph = unsplit(graph_with(TRAINING, BIAS), MEAN)
    first, second = (next(c for c in graph.calls if c.name == name) for name in (BIAS, MEAN))
    unread = reason_in_code(graph, first, second)
    assert (unread.key, "order" in unread.text) == ("unknown", False)


def source_of(numels, *lines):
    loops = "".join(f"    {axis}numel = {n}\n" for axis, n in numels.items())
    return loops + "".join(f"    {line}\n" for line in lines)


LINEAR = source_of({"x": 4096}, "x0 = xindex", "tl.store(out_ptr0 + (x0), tmp0, None)")


@pytest.mark.parametrize(
    ("numels", "lines", "expected"),
    [
        ({"x": 64, "r0_": 64}, ("r0_1 = r0_index", "x0 = xindex", "r0_1 + 64*x0"), True),
        ({"x": 64, "r0_": 64}, ("r0_1 = r0_index", "x0 = xindex", "x0 + 64*r0_1"), False),
        # torch before 2.6 has `rindex`.
        ({"x": 64, "r": 64}, ("r1 = rindex", "x0 = xindex", "r1 + 64*x0"), True),
        ({"y": 64, "x": 64}, ("x1 = xindex", "y0 = yindex", "x1 + 64*y0"), True),
        ({"y": 64, "x": 64}, ("x1 = xindex", "y0 = yindex", "y0 + 64*x1"), False),
        ({"x": 4096}, ("x0 = (xindex % 64)", "x1 = xindex // 64", "x0 + 64*x1"), True),
        ({"x": 4096}, ("x0 = (xindex % 64)", "x1 = xindex // 64", "x1 + 64*x0"), False),
        ({"x": 4096}, ("x0 = xindex", "4096 + x0"), True),  # of a buffer that it has a part of
        ({"x": 4096}, ("x0 = xindex", "((-1)*x0) + 4095"), False),
        ({"x": 4096}, ("x0 = xindex", "tmp4 + x0"), None),  # by what it looked up
        ({"x": 4096}, ("x0 = x1", "x1 = x0", "x0"), None),
        ({"x": 4096}, ("x0 = xindex", "x0 // 0"), None),
        ({"x": 4096}, ("x0 = xindex", "x0 +"), None),
        ({"x": 2048}, ("x0 = xindex", "x0"), None),
    ],
)
def test_orders_by_hand(numels, lines, expected):
    *defined, index = lines
    reader = source_of(numels, *defined, f"tmp0 = tl.load(in_ptr0 + ({index}), None)")
    assert reads_in_order(LINEAR, "out_ptr0", reader, "in_ptr0") is expected


def test_a_buffer_read_at_two_places_has_no_one_order():
    lines = ("tmp0 = tl.load(in_ptr0 + (x0), None)", "tmp1 = tl.load(in_ptr0 + (1 + x0), None)")
    twice = source_of({"x": 4096}, "x0 = xindex", *lines)
    assert reads_in_order(LINEAR, "out_ptr0", twice, "in_ptr0") is None
    assert reads_in_order(LINEAR, "out_ptr0", twice, "in_ptr1") is None


def test_numbers_that_grow_without_end_are_not_worked_out():
    squares = [f"x{n} = x{n + 1}*x{n + 1}" for n in range(200)]
    grows = source_of(
        {"x": 4096}, *squares, "x200 = xindex", "tmp0 = tl.load(in_ptr0 + (x0), None)"
    )
    assert reads_in_order(LINEAR, "out_ptr0", grows, "in_ptr0") is None


def test_code_of_any_length_is_not_followed_to_its_end():
    """A file may hold any number of numbers, and expressions of any length."""
    reading = ("x0 = xindex", "tmp0 = tl.load(in_ptr0 + (x0), None)")
    many = source_of({"x": 4096}, *reading, *(f"tmp{n} = {n}" for n in range(2000)))
    sum_of_zeros = " + ".join(["xindex", *["0"] * 1000])
    long = source_of({"x": 4096}, f"x0 = {sum_of_zeros}", reading[1])
    few = source_of({"x": 4096}, "x0 = xindex + 0", reading[1])
    answers = [reads_in_order(LINEAR, "out_ptr0", code, "in_ptr0") for code in (few, many, long)]
    assert answers == [True, None, None]

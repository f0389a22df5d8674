"""Which values of its arguments a convolution or pooling reads, against a count of all meetings.

By hand each place of each window is visited; torch says itself which values a result depends on.
"""

from itertools import product
from math import prod

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from profiler_core.analysis.finding_rules.op_work import OpWork
from profiler_core.analysis.window_reads import values_read
from tests.lazily import Lazily

torch = Lazily("torch")
F = Lazily("torch.nn.functional")

ALONG = st.tuples(
    st.integers(1, 12),  # length of the image, or of a transposed convolution's
    st.integers(1, 4),  # window
    st.integers(1, 6),  # stride
    st.integers(0, 5),  # padding
    st.integers(1, 4),  # dilation
)


def met_by_hand(length, n_places, window, stride, padding, dilation):
    """Values, places and values of the window that meet another, each place visited."""
    meetings = [
        (at, place, tap)
        for place, tap in product(range(n_places), range(window))
        if 0 <= (at := stride * place + dilation * tap - padding) < length
    ]
    return tuple(len({meeting[n] for meeting in meetings}) for n in range(3))


def concrete_of(along, *, transposed, mask=None):
    lists = [
        "[" + ", ".join(map(str, numbers)) + "]" for numbers in list(zip(*along, strict=True))[2:]
    ]
    rest = [str(transposed), "[" + ", ".join("0" for _ in along) + "]", "1"]
    if mask is None:
        return ("", "", "", *lists, *rest)
    return ("", "", "", "[5]", *lists, *rest, "[" + ", ".join(map(str, mask)) + "]")


def results_of(along, *, transposed):
    lengths = []
    for length, window, stride, padding, dilation in along:
        reach = dilation * (window - 1) - 2 * padding
        if transposed:
            lengths.append((length - 1) * stride + reach + 1)
        else:
            lengths.append((length - reach - 1) // stride + 1)
    assume(min(lengths) > 0)
    return lengths


@given(st.lists(ALONG, min_size=1, max_size=3), st.booleans(), st.tuples(*[st.booleans()] * 3))
def test_a_convolution_and_its_gradients_read_what_meets_in_a_window(along, transposed, mask):
    results, values = results_of(along, transposed=transposed), [each[0] for each in along]
    windows = [each[1] for each in along]
    over, places = (results, values) if transposed else (values, results)
    met = [
        met_by_hand(*lengths, *each[1:])
        for lengths, each in zip(zip(over, places, strict=True), along, strict=True)
    ]
    n_over, n_places, n_taps = (prod(numbers) for numbers in zip(*met, strict=True))
    n_values, n_results = (n_places, n_over) if transposed else (n_over, n_places)
    image, weight, gradient = (2, 3, *values), (3, 5, *windows), (2, 5, *results)
    if not transposed:
        weight = (5, 3, *windows)
    read = values_read(
        "aten::convolution", (image, weight, (5,)), concrete_of(along, transposed=transposed)
    )
    assert read == (2 * 3 * n_values, 15 * n_taps, 5)
    concrete = concrete_of(along, transposed=transposed, mask=mask)
    read = values_read("aten::convolution_backward", (gradient, image, weight), concrete)
    of_input, of_weight, of_bias = mask
    needed = 10 * n_results if of_input or of_weight else 0
    assert read == (
        prod(gradient) if of_bias else needed,
        6 * n_values if of_weight else 0,
        15 * n_taps if of_input else 0,
    )


@given(ALONG, st.booleans())
def test_pooling_reads_what_lies_in_a_window(along, ceil_mode):
    length, window, stride, padding, dilation = along
    assume(2 * padding <= window)
    reach = length + 2 * padding - dilation * (window - 1) - 1
    assume(reach >= 0)
    places = reach // stride + 1
    if ceil_mode:
        places = -(-reach // stride) + 1
        places -= (places - 1) * stride >= length + padding
    concrete = ("", f"[{window}]", f"[{stride}]", f"[{padding}]", f"[{dilation}]", str(ceil_mode))
    n_read, _, _ = met_by_hand(length, places, window, stride, padding, dilation)
    assert values_read("aten::max_pool1d", ((2, 3, length),), concrete) == (6 * n_read,)


IMAGE = (7, 10)
CALLS = {
    "a window of 1×1": ("conv2d", (1, 1, 1, 1), {"stride": 2}),
    "rows left behind": ("conv2d", (1, 1, 3, 3), {"stride": 3}),
    "a dilated window": ("conv2d", (1, 1, 2, 2), {"stride": (5, 4), "dilation": (2, 3)}),
    "a window in the padding": ("conv2d", (1, 1, 1, 1), {"stride": 4, "padding": 2}),
    "transposed, cut": ("conv_transpose2d", (1, 1, 1, 2), {"stride": 1, "padding": 2}),
    "mean": ("avg_pool2d", None, {"kernel_size": 2, "stride": 3}),
    "largest": ("max_pool2d", None, {"kernel_size": 1, "stride": 3, "ceil_mode": True}),
    "largest, dilated": ("max_pool2d", None, {"kernel_size": 2, "stride": 4, "dilation": 2}),
}


@pytest.mark.parametrize("case", CALLS)
def test_the_values_that_are_read_are_those_that_torch_s_result_depends_on(case):
    name, window, options = CALLS[case]
    ones = torch.eye(prod(IMAGE)).reshape(-1, 1, *IMAGE)  # one value of each image is not 0
    weight = () if window is None else (torch.ones(window),)
    call = getattr(F, name)
    n_values = int(call(ones, *weight, **options).flatten(1).any(1).sum())
    n_taps = 0
    if window is not None:
        taps = torch.eye(prod(window)).reshape(-1, *window)
        n_taps = sum(bool(call(torch.ones(1, 1, *IMAGE), tap, **options).any()) for tap in taps)
    given_as = {key: value if isinstance(value, tuple) else (value, value)
                for key, value in options.items() if not isinstance(value, bool)}  # fmt: skip
    stride, padding, dilation = (
        str(list(given_as.get(key, (default, default))))
        for key, default in (("stride", 1), ("padding", 0), ("dilation", 1))
    )
    image = (1, 1, *IMAGE)
    if window is None:
        size = str(list(given_as["kernel_size"]))
        rest = (dilation,) if name == "max_pool2d" else ()
        concrete = ("", size, stride, padding, *rest, str(options.get("ceil_mode", False)))
        assert values_read(f"aten::{name}", (image,), concrete) == (n_values,)
        return
    transposed = str("transpose" in name)
    concrete = ("", "", "", stride, padding, dilation, transposed, "[0, 0]", "1")
    assert values_read("aten::convolution", (image, window), concrete) == (n_values, n_taps)


STRIDED = ("", "", "", "[2, 2]", "[0, 0]", "[1, 1]", "False", "[0, 0]", "1")


def test_a_floor_by_memory_counts_a_quarter_of_an_image_that_a_window_of_one_slides_over_by_two():
    shapes = ((32, 256, 56, 56), (512, 256, 1, 1))
    op = OpWork("aten::convolution", (*shapes, ()), ("float", "float", ""), STRIDED, (), "", ())
    assert op.least_bytes(4) == 4 * (32 * 256 * 28 * 28 + 512 * 256)


@pytest.mark.parametrize(
    ("shapes", "concrete"),
    [
        (((2, 8, 9, 11), (16, 8, 3, 3)), ()),  # of a torch that did not write them
        (((2, 8, 9, 11), (16, 8, 3, 3)), (*STRIDED[:3], "[0, 0]", *STRIDED[4:])),
        (((2, 8, 9, 11), None), STRIDED),
        (((1, 1, 10**6), (1, 1, 10**6)), ("", "", "", "[1]", "[0]", "[1]", "False", "[0]", "1")),
    ],
)
def test_what_is_not_recorded_is_not_counted(shapes, concrete):
    assert values_read("aten::convolution", shapes, concrete) is None

"""Results and gradients of convolutions and pooling, against what torch makes of the same calls.

What tensors take is asked of torch's own tensors, what is computed of its own counter.
"""

import json

import pytest

from profiler_core.analysis.finding_rules.op_work import OpWork
from profiler_core.analysis.ledger.bytes_moved import bytes_of
from profiler_core.analysis.ledger.work_units import host_work
from profiler_core.analysis.sliding_windows import gradients_asked, result_shape
from profiler_core.ingest.open import open_trace
from tests.analysis.profiled import n_bytes, units_of
from tests.lazily import Lazily

torch = Lazily("torch")
F = Lazily("torch.nn.functional")
counting = Lazily("torch.utils.flop_counter")

IMAGES, ONE = (2, 8, 9, 11), (8, 9, 11)
ROWS, VOLUMES = (2, 8, 11), (1, 8, 5, 6, 7)

FORWARD = {
    "plain": ("conv2d", IMAGES, (16, 8, 3, 3), {}),
    "stride and padding": ("conv2d", IMAGES, (16, 8, 3, 3), {"stride": (2, 1), "padding": (1, 2)}),
    "dilation": ("conv2d", IMAGES, (16, 8, 3, 3), {"dilation": (1, 3)}),
    "groups": ("conv2d", IMAGES, (16, 4, 3, 3), {"groups": 2, "stride": 3}),
    "depthwise": ("conv2d", IMAGES, (8, 1, 3, 3), {"groups": 8, "padding": 1}),
    "padding by name": ("conv2d", IMAGES, (16, 8, 3, 4), {"padding": "same", "dilation": 2}),
    "no padding by name": ("conv2d", IMAGES, (16, 8, 3, 3), {"padding": "valid"}),
    "without a batch": ("conv2d", ONE, (16, 8, 3, 3), {"stride": 2}),
    "of rows": ("conv1d", ROWS, (4, 8, 3), {"stride": 3, "padding": 2}),
    "of volumes": ("conv3d", VOLUMES, (4, 8, 2, 3, 2), {"padding": (0, 1, 2), "stride": (1, 2, 3)}),
    "transposed": ("conv_transpose2d", IMAGES, (8, 5, 3, 3), {"stride": (2, 3), "padding": 1}),
    "transposed in groups": (
        "conv_transpose2d", IMAGES, (8, 5, 3, 3),
        {"stride": 2, "output_padding": 1, "groups": 2, "dilation": 2},
    ),
    "transposed rows": ("conv_transpose1d", ROWS, (8, 5, 4), {"stride": 3}),
    "transposed volumes": ("conv_transpose3d", VOLUMES, (8, 2, 2, 2, 2), {"stride": 2}),
}  # fmt: skip
POOLING = {
    "largest": ("max_pool2d", IMAGES, {"kernel_size": 2}),
    "largest with a stride": (
        "max_pool2d", IMAGES,
        {"kernel_size": (3, 2), "stride": 2, "padding": 1, "dilation": (2, 1)},
    ),
    "largest, begun windows too": (
        "max_pool2d", IMAGES, {"kernel_size": 2, "stride": 3, "padding": 1, "ceil_mode": True},
    ),
    "largest, none begun in the padding": (
        "max_pool2d", (1, 1, 4, 4),
        {"kernel_size": 2, "stride": 2, "padding": 1, "ceil_mode": True},
    ),
    "largest of rows": ("max_pool1d", ROWS, {"kernel_size": 3}),
    "largest of volumes": ("max_pool3d", VOLUMES, {"kernel_size": 2, "stride": 1}),
    "mean": ("avg_pool2d", IMAGES, {"kernel_size": 3, "stride": 2, "ceil_mode": True}),
    "mean of rows": ("avg_pool1d", ONE, {"kernel_size": 3, "stride": 1, "padding": 1}),
    "mean of all": ("adaptive_avg_pool2d", IMAGES, {"output_size": 1}),
    "mean of parts": ("adaptive_avg_pool2d", IMAGES, {"output_size": (3, None)}),
}  # fmt: skip


def products(trace, name):
    (row,) = trace.ops.filter(trace.ops["name"] == name).iter_rows(named=True)
    dims = tuple(tuple(shape) for shape in json.loads(row["input_dims"]))
    return OpWork(name, dims, (), tuple(json.loads(row["concrete_inputs"])), (), "", ())


def read_bytes(call, values):
    """Of the values that the result depends on: it has what is no number in their place."""
    n_read = 0
    for place in range(values.numel()):
        others = values.clone()
        others.view(-1)[place] = float("nan")
        n_read += bool(call(others).isnan().any())
    return n_read * values.element_size()


@pytest.mark.parametrize("case", FORWARD)
def test_a_convolution_s_result_and_its_operations_are_torch_s(case, tmp_path):
    name, shape, window, options = FORWARD[case]
    values, weight = torch.randn(shape), torch.randn(window)
    with counting.FlopCounterMode(display=False) as counter:
        getattr(F, name)(values, weight, **options)
    trace, units, result = units_of(lambda: getattr(F, name)(values, weight, **options), tmp_path)
    (unit,) = [unit for unit in units if unit.name == f"aten::{name}"]
    n_read = read_bytes(lambda values: getattr(F, name)(values, weight, **options), values)
    assert bytes_of(unit, None) == (n_read + n_bytes(weight), n_bytes(result))
    assert products(trace, "aten::convolution").least_bytes(4) == n_read + n_bytes(weight)
    assert products(trace, "aten::convolution").flops == counter.get_total_flops()


@pytest.mark.parametrize("case", POOLING)
def test_what_pooling_moves_is_torch_s(case, tmp_path):
    name, shape, options = POOLING[case]
    values = torch.randn(shape)
    trace, (unit,), result = units_of(lambda: getattr(F, name)(values, **options), tmp_path)
    makes_indices = any(op.endswith("_with_indices") for op in trace.ops["name"].cast(str))
    indices = result.to(torch.long) if makes_indices else None
    n_read = read_bytes(lambda values: getattr(F, name)(values, **options), values)
    assert bytes_of(unit, None) == (n_read, n_bytes(result, indices))


MASKS = [(True, True, True), (True, True, False), (False, True, False), (True, False, False),
         (False, True, True), (False, False, True)]  # fmt: skip


@pytest.mark.parametrize("is_transposed", [False, True])
@pytest.mark.parametrize("mask", MASKS)
def test_a_backward_moves_what_the_gradients_asked_for_take(mask, is_transposed, tmp_path):
    """A first convolution's images need none: 9.97 MB were told of 9.18."""
    values = torch.randn(IMAGES)
    weight = torch.randn((8, 5, 3, 3) if is_transposed else (5, 8, 3, 3))
    arguments = (None, (2, 2), (1, 1), (1, 1), is_transposed, (0, 0), 1)
    gradient = torch.randn_like(torch.convolution(values, weight, *arguments))
    backward = torch.ops.aten.convolution_backward

    def call():
        return backward(gradient, values, weight, [5], *arguments[1:], list(mask))

    with counting.FlopCounterMode(display=False) as counter:
        call()
    trace, units, results = units_of(call, tmp_path)
    (unit,) = [unit for unit in units if unit.name == "aten::convolution_backward"]
    of_input, of_weight, _ = mask
    asked = [result for result, is_asked in zip(results, mask, strict=True) if is_asked]
    needed = (gradient, weight if of_input else None, values if of_weight else None)
    assert bytes_of(unit, None) == (n_bytes(*needed), n_bytes(*asked))
    assert products(trace, unit.name).flops == counter.get_total_flops()


def test_of_complex_numbers_three_convolutions_make_one_result(tmp_path):
    values = torch.randn(IMAGES, dtype=torch.complex64)
    weight = torch.randn(16, 8, 3, 3, dtype=torch.complex64)
    _, units, result = units_of(lambda: F.conv2d(values, weight), tmp_path)
    (unit,) = [unit for unit in units if unit.name == "aten::conv2d"]
    assert bytes_of(unit, None) == (n_bytes(values, weight), n_bytes(result))


def test_steps_that_differ_in_a_stride_alone_are_laid_out_apart(tmp_path):
    values, path = torch.randn(IMAGES), tmp_path / "trace.json"
    with torch.profiler.profile(
        activities=[torch.profiler.ProfilerActivity.CPU], record_shapes=True, acc_events=True,
        schedule=torch.profiler.schedule(wait=0, warmup=1, active=4),
        on_trace_ready=lambda profile: profile.export_chrome_trace(str(path)),
    ) as profile:  # fmt: skip
        sizes = []
        for stride in (1, 1, 2, 1, 2):
            sizes.append(n_bytes(F.avg_pool2d(values, 2, stride=stride)))
            profile.step()
    steps = host_work(open_trace(path)).steps
    assert [step.form.steps.tolist() for step in steps] == [[0, 2], [1, 3]]
    written = [bytes_of(unit, None)[1] for step in steps for unit in step.units]
    assert written == sizes[1:3]


@pytest.mark.parametrize(
    "concrete",
    [
        (),  # of a torch that did not write them
        ("", "", "", "[1, 1]", "", "[1, 1]", "False", "[0, 0]", "1"),
        ("", "", "", "[0, 0]", "[0, 0]", "[1, 1]", "False", "[0, 0]", "1"),
        ("", "", "", "[1, 1, 1]", "[0, 0]", "[1, 1]", "False", "[0, 0]", "1"),
        ("", "", "", "[1, 1]", "[0, 0]", "[1, 1]", "True", "[0, 0]", ""),
    ],
)
def test_what_is_not_recorded_is_not_known(concrete):
    assert result_shape("aten::convolution", (IMAGES, (16, 8, 3, 3)), concrete) is None
    assert gradients_asked("aten::convolution_backward", concrete) == (True, True, False)


def test_cudnn_s_own_call_has_its_arguments_in_another_order():
    concrete = ("", "", "[1, 1]", "[2, 2]", "[3, 3]", "1", "False", "False", "True")
    shape = result_shape("aten::cudnn_convolution", (IMAGES, (16, 8, 3, 3)), concrete)
    values, weight = torch.empty(IMAGES), torch.empty(16, 8, 3, 3)
    assert shape == tuple(F.conv2d(values, weight, padding=1, stride=2, dilation=3).shape)

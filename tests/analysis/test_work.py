import pytest

from profiler_core.analysis.work import device_work, is_around_graph, is_wrapper
from tests.builders import AUTOGRAD, a_trace, kernel, launch, op, step

LAUNCHERS = [
    "cudaLaunchKernel",
    "cudaLaunchKernelExC",
    "cuLaunchKernel",
    "cuLaunchKernelEx",
    "cudaGraphLaunch",
    "hipLaunchKernel",
    "hipModuleLaunchKernel",
    "hipExtModuleLaunchKernel",
    "urEnqueueKernelLaunch",
]


@pytest.mark.parametrize("name", LAUNCHERS)
def test_a_kernel_finds_its_launch_whatever_it_is_called(name):
    trace = a_trace(runtime=[launch(1, 2, 7, name=name)], device=[kernel(5, 5, 7)])
    row = device_work(trace).row(0, named=True)
    assert (row["launch_name"], row["launch_ts_ns"], row["launch_row"]) == (name, 1, 0)


def test_all_kernels_of_a_graph_have_one_launch():
    trace = a_trace(
        runtime=[launch(1, 2, 7, name="cudaGraphLaunch")],
        device=[kernel(5, 5, 7), kernel(10, 5, 7), kernel(15, 5, 7)],
    )
    assert device_work(trace)["launch_row"].to_list() == [0, 0, 0]


def test_two_calls_with_one_correlation_do_not_double_the_kernel():
    trace = a_trace(
        runtime=[launch(1, 9, 7), launch(2, 3, 7, name="cuLaunchKernel", cat="cuda_driver")],
        device=[kernel(15, 5, 7)],
    )
    work = device_work(trace)
    assert (work.height, work["launch_name"].to_list()) == (1, ["cudaLaunchKernel"])


def test_missing_ids_are_never_joined():
    trace = a_trace(runtime=[launch(1, 2, None)], device=[kernel(5, 5), kernel(10, 5)])
    assert device_work(trace)["launch_row"].to_list() == [None, None]


def test_triton_operators_that_carry_a_stream_are_no_device_work():
    trace = a_trace(
        ops=[{**op(0, 50, "triton_poi_fused_add_0"), "stream": 7}], device=[kernel(60, 5)]
    )
    assert device_work(trace).height == 1


def test_on_the_cpu_kernels_are_the_outermost_operators_below_the_wrappers():
    trace = a_trace(
        ops=[
            op(0, 5, "TorchDynamo Cache Lookup"),
            op(10, 80, "Torch-Compiled Region: 0/0"),
            op(12, 3, "AOTDispatcher Runtime Wrapper Prologue"),
            op(20, 10, "graph_0_cpp_fused_relu_0"),
            op(40, 20, "aten::addmm"),
            op(45, 5, "aten::copy_"),
            op(20, 30, "autograd::engine::evaluate_function: ReluBackward0", AUTOGRAD),
            op(21, 28, "ReluBackward0", AUTOGRAD),
            op(22, 10, "aten::threshold_backward", AUTOGRAD),
        ]
    )
    work = device_work(trace)
    assert work.select("name", "ts_ns", "dur_ns").rows() == [
        ("graph_0_cpp_fused_relu_0", 20, 10),
        ("aten::threshold_backward", 22, 10),
        ("aten::addmm", 40, 20),
    ]


def test_on_the_cpu_what_runs_while_a_function_is_compiled_is_no_work():
    """Operators on tensors without contents, in ranges that torch 2.15 names twice."""
    trace = a_trace(
        ops=[
            op(0, 9, "aten::relu"),
            op(10, 80, "dynamo"),
            op(12, 70, "_compile.compile_inner (dynamo_timed)"),
            op(20, 10, "aten::addmm"),
            op(100, 5, "build_guards (dynamo_timed)"),
            op(110, 5, "aten::mul"),
            op(15, 6, "aten::sum", AUTOGRAD),  # another thread
        ]
    )
    assert device_work(trace)["name"].to_list() == ["aten::relu", "aten::sum", "aten::mul"]


def test_what_old_versions_record_of_inductors_allocations_is_no_kernel():
    """As torch 2.1.2 writes it; eager's own allocations lie inside of operators."""
    trace = a_trace(
        ops=[
            op(10, 90, "Torch-Compiled Region"),
            op(20, 5, "aten::empty_strided"),
            op(30, 10, "graph_0_cpp_fused_relu_0"),
            op(45, 2, "inductor::_reinterpret_tensor"),
            op(50, 20, "aten::addmm"),
            op(52, 3, "aten::empty_strided"),
        ]
    )
    assert device_work(trace)["name"].to_list() == ["graph_0_cpp_fused_relu_0", "aten::addmm"]


def test_cpu_kernels_belong_to_the_step_in_which_they_start():
    trace = a_trace(
        annotations=[step(0, 10, 10), step(1, 20, 10)],
        ops=[op(5, 2, "aten::relu"), op(12, 2, "aten::relu"), op(22, 2, "aten::relu")],
    )
    assert device_work(trace)["step"].to_list() == [None, 0, 1]


@pytest.mark.parametrize(
    ("name", "wraps", "a_graph"),
    [
        ("Torch-Compiled Region: 3/1", True, True),
        ("CompiledFunction", True, True),
        ("CompiledFunctionBackward", True, True),
        ("torch::autograd::AccumulateGrad", True, False),
        ("ConvolutionBackward0", True, False),
        ("aten::convolution_backward", False, False),
        ("graph_0_cpp_fused_relu_0", False, False),
    ],
)
def test_wrappers_are_told_by_name(name, wraps, a_graph):
    assert is_wrapper(name) is wraps
    assert is_around_graph(name) is a_graph

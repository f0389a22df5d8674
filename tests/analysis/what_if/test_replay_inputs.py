"""Which inputs a replay copies, and what the device takes for their bytes."""

import pytest

from profiler_core.analysis.device_peaks import peaks_of
from profiler_core.analysis.what_if.replay_inputs import replay_inputs
from profiler_core.model.inductor import CompiledGraph, InductorLog, KernelDefinition

H200 = peaks_of("NVIDIA H200")  # 4.8 TB/s


def graph(compile_id, direction, placeholders, inputs):
    return CompiledGraph(
        compile_id=compile_id, direction=direction, calls=(), placeholders=placeholders,
        kernels={"k": KernelDefinition("k", "", inputs=inputs)},
    )  # fmt: skip


def test_parameters_and_buffers_stay_where_they_are():
    placeholders = (
        "L_self_modules_conv_parameters_weight_", "L_x_", "L_self_buffers_mean_", "L_index_",
    )  # fmt: skip
    inputs = (("arg0_1", "f32[64, 3][3, 1]cuda:0"), ("arg1_1", "f32[300, 1000][1000, 1]cuda:0"))
    log = InductorLog(graphs=(graph("0/0", "inference", placeholders, inputs),))
    (copied,) = replay_inputs(log, H200)
    assert (copied.compile_id, copied.n) == ("0/0", 2)
    # 1.2 MB read and written; no kernel says the size of the other.
    assert copied.copy_ns == pytest.approx(2 * 1.2e6 / 4.8e12 * 1e9)
    assert replay_inputs(log, None)[0].copy_ns == 0.0


def test_a_backward_pass_is_handed_what_the_forward_pass_keeps():
    forward = graph("0/0", "forward", ("L_x_",), (("primals_1", "bf16[1000][1]cuda:0"),))
    backward = graph("0/0", "backward", ("L_x_",), ())
    (copied,) = replay_inputs(InductorLog(graphs=(forward, backward)), H200)
    assert copied.copy_ns == pytest.approx(2 * 2000 / 4.8e12 * 1e9)


def test_without_a_log_nothing_is_known():
    assert replay_inputs(None, H200) == ()
    still = graph("0/0", "inference", ("L_self_parameters_w_",), ())
    assert replay_inputs(InductorLog(graphs=(still,)), H200) == ()

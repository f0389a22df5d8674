from pathlib import Path

from hypothesis import given, settings
from hypothesis import strategies as st

from profiler_core.analysis.idle import CAUSES
from profiler_core.analysis.summary import summarise
from profiler_core.analysis.waterfall import OTHER_LABELS
from profiler_core.cli.main import main
from profiler_core.session.run import Run
from tests.builders import AUTOGRAD, a_trace, kernel, launch, memcpy, op, step

SAMPLES = Path(__file__).resolve().parents[2] / "sample_traces"


def causes(**tables):
    summary = summarise(a_trace(**tables))
    assert sum(summary.idle_by_cause_ns.values()) == summary.idle_ns
    assert list(summary.idle_by_cause_ns) == list(CAUSES)
    return {cause: ns for cause, ns in summary.idle_by_cause_ns.items() if ns}


def test_a_gap_after_a_launch_that_had_returned_is_the_devices_own():
    assert causes(
        annotations=[step(0, 0, 10)],
        runtime=[launch(0, 2, 1), launch(3, 2, 2), launch(6, 2, 3)],
        device=[kernel(10, 1_000, 1), kernel(2_010, 1_000, 2), kernel(28_010, 1_000, 3)],
    ) == {
        "between_kernels": 1_000 + 10_000,
        "launch_latency": 15_000,
        "host_launching": 10,  # before the first kernel: its launch began with the window
    }


def test_a_device_that_lets_a_launch_wait_for_long_does_not_wait_for_the_host():
    """A server's trace begins while the step before, which it has not, is still computed."""
    late = {"annotations": [step(0, 0, 9_000_000)], "runtime": [launch(500, 1_500, 1)]}
    assert causes(**late, device=[kernel(8_000_000, 1_000_000, 1)]) == {
        "host_other": 500,
        "host_launching": 1_500,
        "launch_latency": 7_998_000,
    }
    assert causes(**late, device=[kernel(1_002_000, 7_998_000, 1)]) == {
        "host_other": 500,
        "host_launching": 1_001_500,  # a way to the device of a millisecond
    }
    assert causes(**late, device=[kernel(1_002_001, 7_997_999, 1)]) == {
        "host_other": 500,
        "host_launching": 1_500,
        "launch_latency": 1_000_001,
    }


def test_a_graph_runs_on_by_itself_though_its_launch_call_has_not_returned():
    assert causes(
        annotations=[step(0, 0, 500)],
        runtime=[launch(0, 400, 1, name="cudaGraphLaunch")],
        device=[kernel(0, 100, 1), kernel(150, 400, 1)],
    ) == {"between_kernels": 50}


def test_work_launched_in_time_on_another_stream_waited_for_it():
    assert causes(
        annotations=[step(0, 0, 10)],
        runtime=[launch(0, 2, 1), launch(3, 2, 2)],
        device=[kernel(2, 98, 1), kernel(105, 5, 2, stream=8)],
    ) == {"host_launching": 2, "dependency": 5}


def test_a_late_host_is_split_by_what_it_did():
    assert causes(
        annotations=[
            step(0, 0, 1_000),
            op(110, 90, "## Call CompiledFxGraph abc ##"),
            op(260, 700, "## Call CompiledFxGraph def ##"),
            op(500, 40, "enumerate(DataLoader)#_SingleProcessDataLoaderIter.__next__"),
        ],
        ops=[
            op(20, 30, "TorchDynamo Cache Lookup"),
            op(60, 900, "Torch-Compiled Region: 0/0"),
            op(300, 60, "aten::item"),
        ],
        runtime=[
            launch(150, 10, 1),
            launch(310, 40, None, name="cudaStreamSynchronize"),
            launch(400, 30, None, name="cudaFuncGetAttributes"),
            launch(600, 20, 2),
        ],
        device=[kernel(170, 30, 1), kernel(640, 360, 2)],
    ) == {
        # up to the first kernel: 0..20 other, 20..50 lookup, 50..60 other, 60..110 region until
        # its call begins, 110..150 in the call, 150..170 the launch
        # up to the second: 200..260 between the calls, 300..360 item, 400..430 a call of the
        # runtime, 500..540 the loader, 600..640 the launch, the rest of 200..600 other
        "host_guards": 30 + 50,
        "host_between_compiled_calls": 60,
        "host_synchronisation": 60,
        "host_data_loader": 40,
        "host_launching": 20 + 30 + 40,
        "host_other": 30 + 40 + (400 - 60 - 60 - 30 - 40),
    }


def test_setting_the_device_up_is_not_launching():
    """Of an AlexNet 29.9 s of cudaDeviceGetStreamPriorityRange and 6.6 s of cudaFree were."""
    assert causes(
        annotations=[step(0, 0, 1_000)],
        runtime=[
            launch(10, 10, 1),
            launch(60, 300, None, name="cudaDeviceGetStreamPriorityRange"),
            launch(400, 70, None, name="cudaFree"),
            launch(500, 30, None, name="hipExtMallocWithFlags"),
            launch(550, 20, None, name="cuMemMap"),
            launch(600, 10, None, name="cudaFuncGetAttributes"),
            launch(700, 10, 2),
        ],
        device=[kernel(30, 20, 1), kernel(730, 270, 2)],
    ) == {
        "host_other": 10 + 10 + 40 + 30 + 20 + 30 + 90,
        "host_setup": 300 + 70 + 30 + 20,
        "host_launching": 20 + 10 + 30,
    }


def test_recording_a_graph_is_compiling_with_all_that_it_calls():
    """315 ms more of CUDAGraphNode.record were "other work of the host"."""
    assert causes(
        annotations=[
            step(0, 0, 1_000),
            op(100, 600, "CUDAGraphNode.record (dynamo_timed)"),
        ],
        runtime=[
            launch(10, 10, 1),
            launch(200, 100, None, name="cudaStreamSynchronize"),
            launch(400, 100, None, name="cudaMalloc"),
            launch(720, 10, 2),
        ],
        device=[kernel(30, 20, 1), kernel(740, 260, 2)],
    ) == {"host_other": 10 + 50 + 20, "host_compiling": 600, "host_launching": 20 + 20}


def test_a_value_that_lies_on_the_host_is_read_without_waiting():
    """AdamW's counters lie on the CPU: 322 aten::item in a step, and no call that waits."""

    def with_item(runtime=(), device=()):
        return causes(
            annotations=[step(0, 0, 1_000)],
            ops=[op(100, 60, "aten::item")],
            runtime=[launch(10, 10, 1), *runtime, launch(200, 20, 2)],
            device=[kernel(30, 20, 1), *device, kernel(240, 760, 2)],
        )

    launching = 20 + 40
    assert with_item() == {"host_other": 10 + 150, "host_launching": launching}
    waits = launch(110, 40, None, name="cudaStreamSynchronize")
    waited = {
        "host_synchronisation": 60,
        "host_other": 10 + 90,
        "host_launching": launching,
    }
    assert with_item([waits]) == waited
    copied = memcpy(130, 0, 3, name="Memcpy DtoH (Device -> Pageable)")
    assert with_item([launch(110, 40, 3)], [copied]) == waited


def test_code_between_the_compiled_calls_of_two_steps_is_no_graph_break():
    assert causes(
        annotations=[
            step(0, 0, 100),
            step(1, 100, 100),
            op(10, 20, "## Call CompiledFxGraph a ##"),
            op(110, 20, "## Call CompiledFxGraph a ##"),
        ],
        runtime=[launch(0, 5, 1), launch(120, 5, 2)],
        device=[kernel(5, 45, 1), kernel(130, 70, 2)],
    ) == {"host_launching": 5 + 10, "tail": 50, "host_other": 20}


def test_what_another_thread_does_is_no_cause():
    assert causes(
        annotations=[step(0, 0, 100)],
        ops=[op(0, 100, "aten::item", AUTOGRAD)],
        runtime=[launch(40, 10, 1)],
        device=[kernel(50, 50, 1)],
    ) == {"host_other": 40, "host_launching": 10}


def test_the_time_after_the_last_event_of_a_step_is_its_tail():
    assert causes(
        annotations=[step(0, 0, 100)],
        runtime=[launch(0, 1, 1)],
        device=[kernel(1, 59, 1)],
    ) == {"host_launching": 1, "tail": 40}


def test_an_unknown_launch_is_other():
    assert causes(
        annotations=[step(0, 0, 10)],
        runtime=[launch(0, 1, 1)],
        device=[kernel(1, 9, 1), kernel(20, 10)],
    ) == {"host_launching": 1, "other": 10}


@settings(deadline=None, max_examples=40)
@given(
    st.lists(
        st.tuples(
            st.integers(0, 90),
            st.integers(0, 9),
            st.integers(0, 60),
            st.integers(0, 20),
            st.sampled_from([7, 8]),
        ),
        min_size=1,
        max_size=10,
    ),
    st.lists(
        st.tuples(
            st.integers(0, 90),
            st.integers(0, 30),
            st.sampled_from(
                [
                    "aten::item",
                    "Torch-Compiled Region: 0/0",
                    "aten::relu",
                    "## Call CompiledFxGraph x ##",
                    "TorchDynamo Cache Lookup",
                ]
            ),
        ),
        max_size=8,
    ),
)
def test_the_causes_sum_to_the_idle_time(work, ranges):
    causes(
        annotations=[step(0, 0, 40), step(1, 40, 60)],
        ops=[op(*one) for one in ranges],
        runtime=[launch(ts, dur, n + 1) for n, (ts, dur, *_) in enumerate(work)],
        device=[
            kernel(ts + delay, dur, n + 1, stream=stream)
            for n, (ts, _, delay, dur, stream) in enumerate(work)
        ],
    )


def test_no_cause_is_called_as_the_single_events_of_page_compilation(capsys):
    """“Guards and prologues” were 72.9 µs of idle time, and *Compilation* had 58.7 of both."""
    compiled = Run.open(SAMPLES / "simplecnn-training" / "default" / "trace.json.gz")
    (waits,) = (f for f in compiled.alone.findings or () if f.key == "launch_bound")
    assert main(["summary", str(compiled.path)]) == 0
    labels = [OTHER_LABELS[f"idle_{cause}"] for cause in CAUSES]
    texts = [*CAUSES.values(), *labels, waits.evidence, capsys.readouterr().out]
    assert sum("start of compiled regions" in text for text in texts) == 3  # bar, finding, table
    for words in ("prologue", "lookup", "host guards"):
        assert not [text for text in texts if words in text], words

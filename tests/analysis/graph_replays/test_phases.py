"""Steps of a server by phase and batch size, on made-up steps with whole numbers."""

from dataclasses import replace

import polars as pl
import pytest

from profiler_core.analysis.graph_replays.bucket_steps import bucket_steps
from profiler_core.analysis.graph_replays.phases import server_phases
from profiler_core.analysis.graph_replays.servers import server_of, server_steps
from profiler_core.analysis.rows.server import server_sentences, server_table
from profiler_core.model.trace import Trace
from tests.analysis.graph_replays.test_join import layers
from tests.builders import a_trace, kernel, launch, op

_MS = 1_000_000


@pytest.mark.parametrize(
    ("name", "server", "phase", "batch", "n_tokens", "n_requests"),
    [
        # Forms of vLLM, SGLang and ATOM as TraceLens's sources list them.
        ("execute_context_2(6144)_generation_3(3)", "vLLM", "mixed", 6147, 6147, 5),
        ("execute_context_0(0)_generation_64(64)", "vLLM", "decode", 64, 64, 64),
        (
            "execute_32_context_0(sq0sk0sqsq0sqsk0)_generation_30(sq30sk55086sqsq30sqsk55086)",
            *("vLLM", "decode", 32, 30, 30),
        ),
        ("execute_8_context_0_generation_8", "vLLM", "decode", 8, None, 8),
        ("step[EXTEND bs=15 toks=15360]", "SGLang", "prefill", 15360, 15360, 15),
        (
            "step[EXTEND bs=2 toks=14721 c_sq=14721 c_sqsq=108745533 c_sqsk=108745533 c_sk=14721]",
            *("SGLang", "prefill", 14721, 14721, 2),
        ),
        ("step[DECODE bs=64]", "SGLang", "decode", 64, 64, 64),
        (
            "step[DECODE bs=64 g_sq=128 g_sqsq=256 g_sqsk=262144 g_sk=131072]",
            *("SGLang", "decode", 64, 128, 64),
        ),
        (
            "step[MIXED bs=2 c=1 g=1 c_sq=5 c_sk=8 c_sqsq=25 c_sqsk=40 g_sq=1 g_sk=12]",
            *("SGLang", "mixed", 6, 6, 2),
        ),
        ("decode[bs=117/128 tok=117 d=117]", "ATOM", "decode", 128, 117, 117),
        ("decode[bs=128 tok=384 p=2 d=126 sqsq=132612]", "ATOM", "mixed", 384, 384, 128),
        ("prefill[bs=2 tok=14721 ctx=[7803, 6918]]", "ATOM", "prefill", 14721, 14721, 2),
    ],
)
def test_the_forms_of_the_servers(
    name: str, server: str, phase: str, batch: int, n_tokens: int | None, n_requests: int
) -> None:
    trace = a_trace(annotations=[op(0, 10, name)])
    (step,) = server_steps(trace)
    assert (step.server, step.phase, step.batch) == (server, phase, batch)
    assert (step.n_tokens, step.n_requests) == (n_tokens, n_requests)
    assert server_of(trace) == server


def test_other_annotations_are_no_steps_of_a_server() -> None:
    names = ("ProfilerStep#3", "execute_diffusion_1_256x256", "capture_32_FULL", "step")
    trace = a_trace(annotations=[op(n, 1, name) for n, name in enumerate(names)])
    assert server_steps(trace) == []
    assert server_of(trace) is None


def served(steps: list[tuple[str, int, int, bool]], pause_ns: int = 0) -> Trace:
    """Steps (annotation, length on the host, device time, replayed?), one after the other, ns."""
    annotations, runtime, device, ts = [], [], [], 0
    for number, (name, length, busy, is_replayed) in enumerate(steps, start=1):
        annotations.append(op(ts, length, name))
        call = "cudaGraphLaunch" if is_replayed else "cudaLaunchKernel"
        runtime.append(launch(ts + 1, 1, number, name=call))
        device.append(kernel(ts + 10, busy, number, name="sm90_gemm"))
        ts += length + pause_ns
    return a_trace(annotations=annotations, runtime=runtime, device=device)


def test_steps_are_told_apart_by_phase_and_batch() -> None:
    decode, other = "step[DECODE bs=8]", "step[DECODE bs=16]"
    trace = served(
        [
            ("step[EXTEND bs=2 toks=2048]", 30 * _MS, 20 * _MS, False),
            (decode, 4 * _MS, 3 * _MS, True),
            (decode, 6 * _MS, 3 * _MS, True),
            (decode, 5 * _MS, 4 * _MS, False),
            (other, 9 * _MS, 8 * _MS, True),
        ]
    )
    prefill, small, large = server_phases(trace)
    assert (prefill.phase, prefill.batch, prefill.n_steps) == ("prefill", 2048, 1)
    assert (prefill.step_ns, prefill.busy_ns, prefill.host_ns) == (30 * _MS, 20 * _MS, 10 * _MS)
    assert prefill.tokens_per_s == pytest.approx(2048 / 0.030)
    assert (small.phase, small.batch, small.n_steps) == ("decode", 8, 3)
    assert small.step_ns == 5 * _MS  # the median of 4, 6 and 5
    assert small.kernel_ns == pytest.approx(10 * _MS / 3)
    assert small.replayed_ns == pytest.approx(2 * _MS)
    assert small.by_category_ns == {"gemm": pytest.approx(10 * _MS / 3)}
    assert (large.batch, large.padding) == (16, 0.0)


def test_padding_is_what_nobody_asked_for() -> None:
    name = "execute_32_context_0(sq0sk0sqsq0sqsk0)_generation_24(sq24sk9sqsq24sqsk9)"
    (phase,) = server_phases(served([(name, 4 * _MS, 3 * _MS, True)]))
    assert (phase.batch, phase.n_tokens, phase.padding) == (32, 24, 0.25)
    # SGLang says the requests; the graph that it replays is captured for the next size.
    trace = served([("step[DECODE bs=12]", 4 * _MS, 3 * _MS, True)])
    captured = replace(trace, graph_captures=(layers(1, buckets=(8, 16, 32)),))
    (phase,) = server_phases(captured)
    assert (phase.batch, phase.padding) == (16, 0.25)


def test_a_pause_between_requests_is_no_part_of_a_step() -> None:
    steps = [("step[DECODE bs=8]", 4 * _MS, 3 * _MS, True)] * 2
    (phase,) = server_phases(served(steps, pause_ns=400 * _MS))
    assert phase.step_ns == 4 * _MS


def test_what_is_left_of_a_step_before_the_trace_is_of_no_step_and_no_waiting() -> None:
    """Its launches are not in the trace: its kernels were the first step's, which waited for it."""
    name, apart = "step[DECODE bs=8]", 10 * _MS
    trace = served([(name, apart, 6 * _MS, True)] * 3)
    late = trace.device.with_columns(ts_ns=pl.col("ts_ns") + 3 * _MS)
    (phase,) = server_phases(replace(trace, device=late))
    assert (phase.step_ns, phase.busy_ns) == (apart, 6 * _MS)
    assert phase.before_ns * 3 == 3 * _MS + 10
    assert phase.host_ns == apart - 6 * _MS - phase.before_ns
    (sentence,) = server_sentences([phase])
    assert "for 3.00 ms of the first of decode, 8 the device finishes the one before" in sentence

    # SGLang: a kernel of another stream runs at once, the step's own wait for what is not here.
    early = a_trace(runtime=[launch(0, 0, 97)], device=[{**kernel(0, 1, 97), "stream": 2}])
    beside = replace(
        trace,
        runtime=pl.concat([early.runtime.cast(dict(trace.runtime.schema)), trace.runtime]),
        device=pl.concat([early.device.cast(dict(late.schema)), late]),
    )
    (waiting,) = server_phases(beside)
    assert waiting.before_ns * 3 == 3 * _MS + 10

    recorded = [kernel(0, 2 * _MS, 99), kernel(2 * _MS, _MS, 98)]
    left_over = a_trace(device=recorded).device
    both = pl.concat([left_over.cast(dict(late.schema)), late])
    (again,) = server_phases(replace(trace, device=both))
    assert again == phase
    kept = bucket_steps(replace(trace, device=both), phase.bucket)
    assert kept.device.height == 3


def test_a_late_kernel_behind_work_of_the_trace_is_no_step_before_it() -> None:
    """The second step's begins 3 ms after its launch: the device had worked for 6 ms by then."""
    trace = served([("step[DECODE bs=8]", 10 * _MS, 6 * _MS, True)] * 3)
    is_first = pl.int_range(pl.len()) == 0
    late = trace.device.with_columns(
        ts_ns=pl.when(is_first).then("ts_ns").otherwise(pl.col("ts_ns") + 3 * _MS)
    )
    (phase,) = server_phases(replace(trace, device=late))
    assert phase.before_ns == 0


@pytest.mark.parametrize(("pause_ms", "step_ms"), [(7, 11), (9, 4)])
def test_the_host_between_two_steps_counts_up_to_three_times_the_step(
    pause_ms: int, step_ms: int
) -> None:
    steps = [("step[DECODE bs=8]", 4 * _MS, 3 * _MS, True)] * 3
    (phase,) = server_phases(served(steps, pause_ns=pause_ms * _MS))
    assert phase.step_ns == step_ms * _MS


def test_a_step_says_its_parts_by_name_and_category_and_how_it_reaches_the_device() -> None:
    names = {
        "sm90_gemm": 5, "fused_moe_kernel_gemm": 7, "void at::native::ArgMaxOps": 3,
        "flash_fwd_kernel": 4, "elementwise_kernel": 2,
    }  # fmt: skip
    runtime = [launch(10, 1, 1, name="cudaGraphLaunch"), launch(20, 1, 2, name="cudaGraphLaunch")]
    runtime += [launch(30, 1, 3), launch(40, 1, 4)]
    correlations = (1, 1, 2, 3, 4)
    device = [
        kernel(100 + 10 * at, ns, correlation, name=name)
        for at, ((name, ns), correlation) in enumerate(
            zip(names.items(), correlations, strict=True)
        )
    ]
    step = "step[DECODE bs=8]"
    trace = a_trace(
        annotations=[op(0, 200, step), op(230, 200, step)], runtime=runtime, device=device
    )
    (phase,) = server_phases(trace)
    assert phase.by_kind_ns == {
        "moe": 3.5, "products": 2.5, "attention": 2, "sampling": 1.5, "rest": 1
    }  # fmt: skip
    assert sum(phase.by_kind_ns.values()) == phase.kernel_ns
    assert (phase.n_graph_launches, phase.n_launched, phase.between_ns) == (1, 1, 30)
    (row,) = server_table([[phase]]).rows
    texts = dict(zip(server_table([[phase]]).heads, (cell.text for cell in row), strict=True))
    assert row[0].below[:3] == ("2 steps", "1 graph", "1 single call")
    assert (texts["MoE"], texts["Between steps"]) == ("4 ns", "30 ns")
    assert "Communication" not in texts


def launched_apart(name: str, graph: bool, ts: int, first: int) -> dict[str, list]:
    """A step of 1000 ns with three kernels of 100 ns, 150 ns apart; of one graph 10 ns."""
    apart = 110 if graph else 250
    calls = [launch(ts + 1, 1, first, name="cudaGraphLaunch")] if graph else []
    calls += [] if graph else [launch(ts + 1 + n, 1, first + n) for n in range(3)]
    numbers = [first + (0 if graph else n) for n in range(3)]
    return {
        "annotations": [op(ts, 1000, name)],
        "runtime": calls,
        "device": [kernel(ts + 50 + apart * n, 100, c) for n, c in enumerate(numbers)],
    }


def test_what_launching_costs_is_said_beside_a_replayed_batch_of_the_same_phase() -> None:
    eager = launched_apart("step[DECODE bs=8]", False, 0, 1)
    graph = launched_apart("step[DECODE bs=16]", True, 1000, 10)
    both = a_trace(**{table: eager[table] + graph[table] for table in eager})
    small, large = server_phases(both)
    assert (small.started_as, small.gaps_ns) == ("eager", 300)
    assert (large.started_as, large.gaps_ns) == ("replayed", 20)
    sentence, caveat = server_sentences([small, large])
    assert "is not known" in caveat
    assert "decode, 8 runs eager (0 graphs and 3 single calls per step)" in sentence
    assert "300 ns (30 % of the step), before and after them for 400 ns;" in sentence
    assert sentence.endswith("decode, 16, which is replayed as one graph, has 20 ns between them.")
    alone, _ = server_sentences(server_phases(a_trace(**eager)), "eager run")
    assert alone.startswith("eager run: decode, 8")
    assert alone.endswith("how much of it a replay would save is not known.")


def test_steps_that_are_not_all_launched_alike_are_said_to_differ() -> None:
    steps = [("step[DECODE bs=8]", 4 * _MS, 3 * _MS, is_replayed) for is_replayed in (True, False)]
    (phase,) = server_phases(served(steps))
    assert phase.started_as == "differs"


def test_two_runs_are_beside_each_other_batch_by_batch() -> None:
    before = server_phases(served([("step[DECODE bs=8]", 4 * _MS, 3 * _MS, False)]))
    after = server_phases(
        served(
            [
                ("step[DECODE bs=8]", 3 * _MS, 2 * _MS, True),
                ("step[DECODE bs=16]", 5 * _MS, 4 * _MS, True),
            ]
        )
    )
    table = server_table([before, after])
    rows = {row[0].text: [cell.text for cell in row[1:]] for row in table.rows}
    step, replayed = table.heads.index("Step") - 1, table.heads.index("Replayed") - 1
    assert rows["decode, 8"][step] == "4.00 ms → 3.00 ms"
    assert rows["decode, 8"][replayed] == "0 % → 100 %"
    assert rows["decode, 16"][step] == "– → 5.00 ms"
    assert [row[0].below[0] for row in table.rows] == ["1 → 1 step", "– → 1 step"]


def test_of_three_runs_each_has_a_row_so_that_the_table_fits() -> None:
    decode = ("step[DECODE bs=8]", 4 * _MS, 3 * _MS, False)
    runs = [server_phases(served([decode])) for _ in range(2)]
    runs.append(server_phases(served([("step[DECODE bs=16]", 5 * _MS, 4 * _MS, True)])))
    table = server_table(runs, ("eager", "default", "graphs"))
    assert table.heads[:3] == ("Phase, batch", "Run", "Step")
    shown = [[cell.text for cell in row[:3]] for row in table.rows]
    assert shown == [
        ["decode, 8", "eager", "4.00 ms"],
        ["", "default", "4.00 ms"],
        ["decode, 16", "graphs", "5.00 ms"],
    ]
    assert table.rows[0][1].below[0] == "1 step"


def test_a_trace_of_no_server_has_none() -> None:
    assert server_phases(a_trace(device=[kernel(0, 5)])) == ()
    table = server_table([(), ()])
    assert table.rows == ()

"""Replayed kernels get the operator of their captured call; judged by programs that launch."""

from dataclasses import replace
from functools import cache
from pathlib import Path

import polars as pl
import pytest

from profiler_core.analysis.categories import categorise
from profiler_core.analysis.event_operators import event_operators
from profiler_core.analysis.graph_replays.join import NotJoined, replayed_calls
from profiler_core.analysis.summary import summarise
from profiler_core.ingest.open import open_trace
from profiler_core.model.trace import Trace
from tests.analysis.graph_replays.made import LATER_NS, Replayed, kernels_alone, replayed
from tests.builders import a_trace, kernel, launch, memcpy, op

SAMPLES = Path(__file__).parents[3] / "sample_traces"
_US = 1000


@cache
def launched(run: str) -> Trace:
    """One step of a sample that launches its kernels one by one."""
    trace = open_trace(SAMPLES / run / "trace.json.gz")
    steps = trace.annotations.filter(pl.col("name").cast(pl.String).str.starts_with("ProfilerStep"))
    begin, dur = steps.select("ts_ns", "dur_ns").row(1)
    calls = trace.runtime.filter(pl.col("ts_ns").is_between(begin, begin + dur))
    return replace(
        trace,
        device=trace.device.join(calls.select("correlation"), on="correlation", how="semi"),
        runtime=calls,
    )


def operators(made: Replayed) -> list[str | None]:
    """Of each device event, by the product."""
    rows = made.trace.device.with_row_index("event").select("event", "external_id")
    answers = event_operators(made.trace, rows)
    return rows.join(answers, on="event", how="left", maintain_order="left")["name"].to_list()


@pytest.mark.parametrize("run", ["resnet50/eager", "resnet50/default", "bert/default"])
@pytest.mark.parametrize("with_names", [True, False])
def test_each_replayed_kernel_has_its_captured_operator(run: str, with_names: bool) -> None:
    made = replayed(launched(run), with_names=with_names)
    join = replayed_calls(made.trace).join
    assert join.joined_ns == join.replayed_ns == int(made.trace.device["dur_ns"].sum())
    assert (join.n_graphs, join.n_replays, join.ambiguous_ns) == (1, 2, 0)
    assert operators(made) == made.operators


def test_streams_beside_each_other_change_the_order_of_kernels_and_no_operator() -> None:
    made = replayed(kernels_alone(launched("resnet50/eager")), n_streams=2)
    order = made.trace.device["ts_ns"].to_list()
    assert order == sorted(order)
    join = replayed_calls(made.trace).join
    assert join.joined_ns == join.replayed_ns
    # Equal kernels beside each other cannot be told apart: of two calls of one kernel either.
    wrong = sum(
        dur
        for dur, its, truth in zip(
            made.trace.device["dur_ns"], operators(made), made.operators, strict=True
        )
        if its != truth
    )
    assert wrong <= 0.005 * join.replayed_ns


def test_a_captured_call_that_is_never_replayed_shifts_nothing() -> None:
    made = replayed(launched("bert/default"), extra_calls=1)
    assert operators(made) == made.operators


def test_without_names_another_number_of_kernels_is_another_graph() -> None:
    made = replayed(launched("bert/default"), extra_calls=1, with_names=False)
    join = replayed_calls(made.trace).join
    assert join.joined_ns == 0
    assert join.missing_ns == {NotJoined.OTHER_GRAPH: join.replayed_ns}


@pytest.mark.parametrize(("extra", "is_joined"), [(0.45, True), (0.55, False)])
def test_a_capture_that_shares_less_than_four_fifths_is_of_another_graph(
    extra: float, is_joined: bool
) -> None:
    program = launched("bert/default")
    n_extra = round(extra * program.device.height)  # of both sides 2 / (2 + extra) agree
    join = replayed_calls(replayed(program, extra_calls=n_extra).trace).join
    assert (join.joined_ns > 0.99 * join.replayed_ns) is is_joined
    assert (NotJoined.OTHER_GRAPH in join.missing_ns) is not is_joined


def test_totals_stay_what_they_are_to_the_ns() -> None:
    made = replayed(launched("resnet50/eager"))
    bare = replace(made.trace, graph_captures=())
    joined, alone = summarise(made.trace), summarise(bare)
    for name in ("window_ns", "busy_ns", "idle_ns", "kernel_time_ns", "device_time_ns"):
        assert getattr(joined, name) == getattr(alone, name)
    assert sum(total.time_ns for total in joined.by_category.values()) == alone.device_time_ns
    assert any("100 % of the time of kernels that graphs replay" in note for note in joined.notes)
    (note,) = [note for note in alone.notes if "no operator" in note]
    assert "Recorder(graphs=True)" in note


def test_a_replayed_kernel_is_in_the_category_that_it_has_when_it_is_launched() -> None:
    source = launched("resnet50/eager")
    made = replayed(source, n_replays=1)
    assert by_category(made.trace) == by_category(source)
    assert by_category(replace(made.trace, graph_captures=())) != by_category(source)


def by_category(trace: Trace) -> list[tuple[str, int]]:
    """Device time, ns."""
    totals = categorise(trace).group_by("category").agg(pl.col("dur_ns").sum())
    return totals.sort("category").rows()


def layers(n_layers: int, *, buckets: tuple[int, ...] = (8,)) -> Trace:
    """The captures of equal layers, one graph each, for batches of some sizes."""
    rows, runtime, names, ts = [], [], [], 0
    for bucket in buckets:
        begin = ts
        for layer in range(n_layers):
            runtime.append(launch(ts, 1, None, name="hipStreamBeginCapture"))
            rows.append({**op(ts + 2, 6, f"layer_{layer}_of_{bucket}"), "external_id": ts + 3})
            runtime.append(launch(ts + 3, 1, 1000 + ts, kernel="gemm", external_id=ts + 3))
            runtime.append(launch(ts + 5, 1, 1001 + ts, name="hipMemcpyAsync", external_id=ts + 3))
            runtime.append(launch(ts + 9, 1, None, name="hipStreamEndCapture"))
            ts += 10
        names.append(op(begin, ts - begin, f"capture_{bucket}_PIECEWISE"))
    return a_trace(ops=rows, runtime=runtime, annotations=names)


def server(steps: list[tuple[str, int]], captures: Trace) -> Trace:
    """Steps of a server, each with its annotation and a number of graph launches."""
    device, runtime, annotations, ts, number = [], [], [], LATER_NS, 0
    for name, n_launches in steps:
        annotations.append(op(ts, 100 * _US, name))
        for _ in range(n_launches):
            number += 1
            runtime.append(launch(ts + number, 1, number, name="hipGraphLaunch"))
            device.append(kernel(ts + 1000 * number, 10, number, name="gemm"))
            device.append(memcpy(ts + 1000 * number + 20, 5, number))
        ts += 200 * _US
    trace = a_trace(device=device, runtime=runtime, annotations=annotations)
    return replace(trace, graph_captures=(captures,))


def named(trace: Trace) -> list[str]:
    rows = trace.device.with_row_index("event").select("event", "external_id")
    return event_operators(trace, rows)["name"].to_list()


def test_equal_layers_are_told_apart_by_their_order_in_the_step() -> None:
    steps = [("execute_8_context_0_generation_8", 3)] * 2
    trace = server(steps, layers(3))
    # A kernel and a copy each.
    layer_names = [f"layer_{layer}_of_8" for layer in (0, 0, 1, 1, 2, 2)]
    assert named(trace) == layer_names * 2
    assert replayed_calls(trace).join.ambiguous_ns == 0


def test_a_step_that_replays_some_of_the_equal_layers_is_said_to_be_ambiguous() -> None:
    trace = server([("execute_8_context_0_generation_8", 2)], layers(3))
    join = replayed_calls(trace).join
    assert join.joined_ns == join.ambiguous_ns == 30
    assert any("the layer may be another one" in note for note in summarise(trace).notes)


@pytest.mark.parametrize(
    ("step", "bucket"),
    [
        ("step[DECODE bs=8]", 8),
        ("step[DECODE bs=9]", 16),
        ("execute_16_context_0_generation_16", 16),
        ("execute_5_context_0(sq0sk0)_generation_5(sq5sk80)", 8),
    ],
)
def test_of_equal_graphs_the_one_of_the_padded_batch(step: str, bucket: int) -> None:
    trace = server([(step, 1)], layers(1, buckets=(8, 16, 32)))
    assert named(trace) == [f"layer_0_of_{bucket}"] * 2


def test_a_folder_of_many_captures_is_joined() -> None:
    trace = server([("step[DECODE bs=8]", 1)], layers(1))
    (captures,) = trace.graph_captures
    many = replace(trace, graph_captures=(*(a_trace() for _ in range(300)), captures))
    assert named(many) == ["layer_0_of_8"] * 2


def test_a_server_trace_without_captures_says_how_to_record_them() -> None:
    trace = replace(server([("step[DECODE bs=8]", 1)], layers(1)), graph_captures=())
    (note,) = [note for note in summarise(trace).notes if "no operator" in note]
    assert "--enable-profile-cuda-graph" in note
    assert replayed_calls(trace).join.missing_ns == {NotJoined.NO_CAPTURE: 15}

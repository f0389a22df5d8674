"""Backends with an engine of their own: real captures of openvino and openxla beside eager."""

import math
from functools import cache
from pathlib import Path

import msgspec
import pytest

from profiler_core.analysis.compilation.compile_time import compile_time
from profiler_core.analysis.compilation.cost import compile_cost, with_break_even
from profiler_core.analysis.compilation.report import compilation_report
from profiler_core.analysis.engines import engine_name, engines_in, is_engine, memory_note
from profiler_core.analysis.ledger.engines import OPAQUE, engine_graph
from profiler_core.analysis.ledger.ledger import LedgerSide, fusion_ledger
from profiler_core.analysis.memory.report import memory_report
from profiler_core.analysis.summary import summarise
from profiler_core.ingest.compile_log.reader import read_compile_log
from profiler_core.ingest.inductor.reader import read_inductor
from profiler_core.ingest.open import open_trace
from profiler_core.ingest.run import open_run
from profiler_core.model.inductor import CompiledGraph, GraphNode
from tests.builders import a_step_time

CAPTURES = Path(__file__).resolve().parents[1] / "fixtures" / "captures"
OPENVINO, OPENXLA = "customcnn_openvino.openvino", "simplecnn_openxla.openxla"


@cache
def read(name):
    run = open_run(CAPTURES / name)
    return run, open_trace(run.trace)


@cache
def ledger(name):
    sides = []
    for each in (f"{name.partition('.')[0]}.eager", name):
        run, trace = read(each)
        log = read_inductor(run.torch_trace) if run.torch_trace else None
        sides.append(LedgerSide(trace, log))
    return fusion_ledger(*sides)


def engine_groups(name):
    return [
        group
        for group in ledger(name).groups
        if any(kernel.name.startswith("engine::") for kernel in group.candidate.kernels)
    ]


@pytest.mark.parametrize(("name", "engine"), [(OPENVINO, "openvino"), (OPENXLA, "openxla")])
def test_engines_are_seen_in_the_trace(name, engine):
    assert engines_in(read(name)[1]) == (engine,)
    assert engines_in(read(f"{name.partition('.')[0]}.eager")[1]) == ()


def test_tensorrts_own_operator_is_one_too():
    assert is_engine("tensorrt::execute_engine")
    assert engine_name("tensorrt::execute_engine") == "tensorrt"
    assert engine_name("engine::backend_of_mine") == "backend_of_mine"
    assert not is_engine("aten::linear")


@pytest.mark.parametrize(("name", "least"), [(OPENVINO, 1.0), (OPENXLA, 0.999)])
def test_nearly_all_time_of_both_sides_is_placed(name, least):
    found = ledger(name)
    assert found.coverage_baseline == 1.0
    assert found.coverage_candidate >= least
    assert sum(group.candidate.time_ns for group in found.groups) == found.candidate_ns


def test_one_graph_is_one_opaque_group_with_all_that_it_replaced():
    (group,) = engine_groups(OPENVINO)
    n_steps = group.n_steps[0]
    assert {one.op: one.n // n_steps for one in group.baseline.operators} == {
        "aten::conv2d": 3, "aten::relu": 3, "aten::max_pool2d": 2, "aten::mean": 1,
        "aten::linear": 1,
    }  # fmt: skip
    assert group.module == "(model)"
    assert OPAQUE in group.notes
    assert group.candidate.bytes_moved is None
    assert any("openvino, whose calls are opaque" in note for note in ledger(OPENVINO).notes)


def test_forward_backward_and_the_rest_of_a_training_step_are_three_groups():
    found = {group.phase: group for group in engine_groups(OPENXLA)}
    assert set(found) == {"forward", "backward", "update"}
    operators = {
        phase: {one.op for one in group.baseline.operators} for phase, group in found.items()
    }
    assert {"aten::conv2d", "aten::linear", "aten::batch_norm"} <= operators["forward"]
    assert "aten::convolution_backward" in operators["backward"]
    assert operators["update"] == {"aten::mul_", "aten::add_"}  # what SGD noted down
    assert found["forward"].sources


def test_without_a_log_nothing_is_claimed():
    (_, eager), (_, candidate) = read("customcnn_openvino.eager"), read(OPENVINO)
    found = fusion_ledger(LedgerSide(eager), LedgerSide(candidate))
    assert not any(OPAQUE in group.notes for group in found.groups)
    assert sum(group.candidate.time_ns for group in found.groups) == found.candidate_ns


def test_an_operator_beside_the_engine_keeps_its_own_node():
    nodes = tuple(
        GraphNode(name, target)
        for name, target in (
            ("conv", "torch.conv2d"), ("relu", "torch.relu"), ("sort", "torch.sort"),
            ("relu_1", "torch.relu"), ("out", "torch.nn.functional.linear"),
        )
    )  # fmt: skip
    graph = CompiledGraph("0/0", "inference", (), dynamo_nodes=nodes)
    pieces = ["engine::mine", "aten::detach", "aten::sort", "engine::mine"]
    dealt, call_of = engine_graph(graph, pieces)
    assert call_of == [0, None, 1, 0]
    assert [call.kind for call in dealt.calls] == ["engine", "library"]
    assert dealt.calls[0].post_nodes == ("conv", "relu", "relu_1", "out")
    assert dealt.calls[1].post_nodes == ("sort",)


def test_engines_are_a_category_and_a_bar_of_their_own():
    run, trace = read(OPENVINO)
    summary = summarise(trace, run.record.measurement)
    assert set(summary.by_category) == {"engine"}


@pytest.mark.parametrize("name", [OPENVINO, OPENXLA])
def test_the_allocators_peak_is_not_shown_for_what_it_does_not_hold(name):
    run, trace = read(name)
    report = memory_report(trace, measurement=run.record.measurement)
    assert report.peaks.allocated_bytes is None
    assert report.curve is report.made is report.churn is None
    note = memory_note(trace)
    assert note in report.notes
    assert note in summarise(trace, run.record.measurement).notes


def test_compiling_costs_what_the_first_call_does_not_what_the_log_holds():
    run, trace = read(OPENXLA)
    log = read_compile_log(run)
    cost = compile_cost(run.record, compiling=compile_time(log), step_ns=6e8)
    earned = with_break_even(cost, None, "faster", a_step_time(int(16e8), int(6e8)))
    assert earned.break_even_steps == math.ceil(cost.seconds)  # not by Dynamo's part alone
    assert cost.source == "first call"
    assert cost.seconds == pytest.approx(run.record.measurement.first_call_ns / 1e9 - 0.6)
    assert compilation_report(log, trace=trace).engine == "openxla"


def test_what_ran_is_kept_with_the_run():
    engine = read(OPENVINO)[0].record.measurement.engine
    assert (engine.backend, engine.version, engine.precision) == ("openvino", "2026.4.1", "f32")
    assert engine.n_fell_back == 0
    assert msgspec.json.decode(msgspec.json.encode(engine))["n_calls"] == 1

"""OpenVINO for real, on the CPU: captured beside eager, compared, and caught when it falls back."""

import contextlib
import io
import json

import pytest

from profiler_core.cli.main import main
from profiler_core.ingest.open import open_trace
from profiler_core.ingest.run import open_run

pytestmark = pytest.mark.torch

F32 = "openvino+config.INFERENCE_PRECISION_HINT=f32"
NOWHERE = "openvino+device=NOWHERE"


@pytest.fixture(scope="module")
def captured(capture_tiny):
    finished = capture_tiny("model", f"eager,{F32},{NOWHERE}", profile=True, numerics=True)
    return {run.variant: run for run in finished.runs}


@pytest.fixture(scope="module")
def compared(captured):
    """The candidate's part of `compare --json`."""
    paths = [str(captured[name].directory) for name in ("eager", F32)]
    with contextlib.redirect_stdout(io.StringIO()) as said:
        assert main(["compare", *paths, "--json"]) == 0
    return json.loads(said.getvalue())["candidates"][0]


def test_both_finish_and_the_answer_is_right(captured):
    assert captured["eager"].status == captured[F32].status == "finished"
    record = open_run(captured[F32].directory).record
    assert record.numerics.verdict == "right"
    assert record.spec["backend_options"] == {"config": {"INFERENCE_PRECISION_HINT": "f32"}}


def test_the_run_says_what_the_engine_did(captured):
    engine = open_run(captured[F32].directory).record.measurement.engine
    assert engine.backend == "openvino"
    assert engine.version.startswith("202")
    assert engine.precision == "f32"
    assert (engine.n_graphs, engine.n_calls, engine.n_fell_back) == (1, 1, 0)


def test_a_run_in_which_the_engine_never_ran_is_refused(captured):
    """openvino itself says nothing: it hands the graph to PyTorch and goes on."""
    refused = captured[NOWHERE]
    assert refused.status == "failed"
    assert refused.error.startswith("openvino ran no part of the model")
    assert "NOWHERE is not in the list of OpenVINO Available Devices" in refused.error


def test_each_step_has_one_call_of_the_engine(captured):
    trace = open_trace(open_run(captured[F32].directory).trace)
    operators = [str(name) for name in trace.ops["name"]]
    assert operators.count("engine::openvino") == 2


def test_the_ledger_has_it_as_one_opaque_group_with_what_it_replaced(compared):
    fusion = compared["fusion"]
    assert fusion["coverage_baseline"] == fusion["coverage_candidate"] == 1
    group = next(g for g in fusion["groups"] if g["candidate_kernels"])
    assert [kernel["name"] for kernel in group["candidate_kernels"]] == ["engine::openvino"]
    operators = {one["op"]: one["n_kernels"] for one in group["baseline_ops"]}
    assert operators == {"aten::linear": 2, "aten::relu": 1}
    assert any(note.startswith("opaque") for note in group["notes"])
    assert group["module"] == "(model)"


def test_step_time_compilation_and_waterfall_are_there(compared):
    assert compared["step_time"]["clock"] == "unprofiled"
    assert compared["step_time"]["candidate_ns"] > 0
    assert compared["compile"]["source"] == "first call"  # no log holds what the engine compiles
    assert "engine" in {row["class"] for row in compared["waterfall"]}


def test_findings_say_what_is_hidden_and_give_no_advice_for_inductor(compared):
    found = {one["key"]: one for one in compared["findings"]}
    assert "openvino" in found["engine_opaque"]["title"]
    assert "reduce-overhead" not in json.dumps(compared["findings"])
    assert "max-autotune" not in json.dumps(compared["findings"])

"""Exports of Nsight Systems on the command line: summary, comparison, choice of steps."""

import json
import os
from pathlib import Path

import pytest

from profiler_core.cli.main import main
from tests.ingest.nsight_systems.build import PID, Export, a_loop, global_id

CAPTURES = Path(__file__).parents[1] / "fixtures" / "captures"
EAGER = CAPTURES / "customcnn_b1.eager"


@pytest.fixture(autouse=True)
def _own_home(tmp_path, monkeypatch):
    monkeypatch.setenv("FUSIONSCOPE_HOME", str(tmp_path / "home"))
    for name in ("FUSIONSCOPE_STEP_RANGE", "FUSIONSCOPE_PROCESS"):
        monkeypatch.setenv(name, "")  # whatever a verb sets is undone


def answer(capsys, *words):
    assert main([*map(str, words), "--json"]) == 0
    return json.loads(capsys.readouterr().out)


@pytest.fixture
def fewer(tmp_path):
    """The loop with its kernels fused: one per step instead of three."""
    export = Export()
    for n in range(3):
        at = 1_000_000 + n * 60_000
        export.push(at, at + 50_000, f"step {n}")
        export.launch(at + 1_000, "triton_poi_fused_addmm_relu_0", dur=9_000)
    return export.write(tmp_path / "compiled.sqlite")


def test_a_summary_has_the_numbers_of_the_file(capsys, tmp_path):
    found = answer(capsys, "summary", a_loop().write(tmp_path / "eager.sqlite"))
    assert found["recorded_by"] == "Nsight Systems"
    assert (found["n_kernels"], found["kernel_time_ns"], found["n_launches"]) == (9, 45_000, 15)
    assert [step["name"] for step in found["steps"]] == [f"ProfilerStep#{n}" for n in range(3)]
    assert any("“step #”" in note for note in found["notes"])


def test_two_exports_compare(capsys, tmp_path, fewer):
    eager = a_loop().write(tmp_path / "eager.sqlite")
    (candidate,) = answer(capsys, "compare", eager, fewer)["candidates"]
    assert candidate["n_kernels"] == [3, 1]
    assert candidate["device_time_ns"] == [18_000, 9_000]
    assert candidate["n_launches"] == [5, 1]
    assert candidate["waterfall"] is None  # two of three kernels match nothing: another program
    assert not any("One side was recorded" in note for note in candidate["notes"])
    again = a_loop().write(tmp_path / "again.sqlite")
    assert answer(capsys, "compare", eager, again)["candidates"][0]["waterfall"]


def test_an_export_against_a_trace_of_torch_says_what_does_not_compare(capsys, fewer):
    (candidate,) = answer(capsys, "compare", EAGER, fewer)["candidates"]
    (note,) = [note for note in candidate["notes"] if "One side was recorded" in note]
    assert "torch.profiler" in note
    assert "host times do not" in note


def test_the_steps_may_be_named(capsys, tmp_path):
    export = a_loop()
    for n in range(6):
        export.push(1_002_000 + n * 50_000, 1_003_000 + n * 50_000, "half")
    path = export.write(tmp_path / "eager.sqlite")
    assert len(answer(capsys, "summary", path)["steps"]) == 3
    assert len(answer(capsys, "summary", path, "--step-range", "half")["steps"]) == 6
    os.environ["FUSIONSCOPE_STEP_RANGE"] = ""
    assert len(answer(capsys, "summary", path)["steps"]) == 3  # it held for that command alone


def test_a_wrong_name_is_bad_input_with_those_that_are_there(capsys, tmp_path):
    path = a_loop().write(tmp_path / "eager.sqlite")
    assert main(["summary", str(path), "--step-range", "nothing"]) == 2
    said = capsys.readouterr().err
    assert "'step #' (3 times)" in said
    assert "Traceback" not in said


def test_another_process_may_be_asked_for(capsys, tmp_path):
    export = a_loop()
    export.call(1_000, 500, "cudaLaunchKernel_v7000", 1, 7, pid=99)
    export.kernel(2_000, 3_000, "other", 1, globalPid=global_id(99))
    path = export.write(tmp_path / "eager.sqlite")
    assert answer(capsys, "summary", path)["n_kernels"] == 9
    found = answer(capsys, "summary", path, "--process", "99")
    assert (found["n_kernels"], found["kernel_time_ns"]) == (1, 3_000)
    assert any(f"shown is 99, not {PID}" in note for note in found["notes"])

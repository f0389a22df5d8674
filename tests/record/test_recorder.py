"""A script that knows nothing else of the product: what it leaves opens and compares."""

import json
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from profiler_core.capture.handover import IMPORTABLE
from profiler_core.cli.main import main
from profiler_core.ingest.open import open_trace
from profiler_core.ingest.run import open_run
from profiler_core.session.run import Run
from profiler_core.store.records import read_record
from tests.quick_python import ENVIRONMENT, QUICK_COMPILER

from .conftest import SCRIPTS, environment

# A compilation takes some seconds, and minutes on a machine that is busy with others.
pytestmark = [pytest.mark.torch, pytest.mark.timeout(900)]

TRAIN = str(SCRIPTS / "train.py")


def record(out, *words, python=sys.executable, before=(), status=0, **variables):
    done = subprocess.run(
        [python, *before, TRAIN, str(out), *words],
        env=environment(**(ENVIRONMENT if python != sys.executable else {}), **variables),
        capture_output=True,
        text=True,
    )
    assert done.returncode == status, done.stderr
    return done


@pytest.fixture(scope="module")
def pair(tmp_path_factory, quick_python):
    """Run directories of eager and of compiled, the second alone with little to import."""
    out = tmp_path_factory.mktemp("runs")
    record(out, "eager", python=quick_python)
    isolated = record(out, "default", before=[str(SCRIPTS / "isolated.py")], **QUICK_COMPILER)
    eager, compiled = (next(out.glob(f"*-tiny-{variant}-*")) for variant in ("eager", "default"))
    return eager, compiled, isolated.stdout


def test_a_recording_that_is_called_eager_and_compiles_says_so(tmp_path, quick_python):
    words = ("eager-they-say", "--backend", "aot_eager")  # no kernel need be made
    record(tmp_path, *words, python=quick_python)
    (folder,) = tmp_path.glob("*-tiny-eager-they-say-*")
    measurement = open_run(folder).record.measurement
    assert measurement.compiled_by_script.n_frames == 1
    assert Run.open(folder).name == "eager-they-say, with functions compiled by the script"


def test_the_two_compare_and_the_verdict_says_that_they_were_not_interleaved(
    pair, capsys, monkeypatch, tmp_path
):
    monkeypatch.setenv("FUSIONSCOPE_HOME", str(tmp_path))
    assert main(["compare", str(pair[0]), str(pair[1]), "--json"]) == 0
    answer = json.loads(capsys.readouterr().out)
    (candidate,) = answer["candidates"]
    assert candidate["interleaved"] is False
    assert candidate["step_time"]["clock"] == "unprofiled"
    assert candidate["step_time"]["n_rounds"] == [10, 10]
    assert "The runs were not timed in turns" in " ".join(candidate["verdict"]["details"])
    assert candidate["compile"]["source"] == "logs"
    assert candidate["fusion"]["coverage_baseline"] > 0.9


def test_a_run_is_as_a_capture_writes_it(pair):
    eager, compiled = (open_run(path) for path in pair[:2])
    for run in (eager, compiled):
        measurement = run.record.measurement
        assert run.record.status == "finished"
        assert run.record.spec["batch_size"] == 16
        assert run.record.environment["torch"]
        assert [r.n_steps for r in measurement.rounds] == [3] * 10
        assert sum(measurement.step_event_ns) == sum(r.wall_ns for r in measurement.rounds)
        assert measurement.warmup_ended_by in ("steady", "ceiling")
        assert measurement.telemetry.n_steps > 0
        assert measurement.profiled.n_steps == 2
        assert measurement.telemetry_missing == "The variants ran on the CPU."
        assert run.host is not None
        assert run.sources is not None
        names = open_trace(run.trace).annotations["name"].to_list()
        assert sum(str(name).startswith("ProfilerStep#") for name in names) == 2
    assert eager.record.spec["compile"] is False
    assert compiled.record.spec["compile"] is True


def test_the_compilers_logs_are_there_without_any_variable(pair):
    eager, compiled = (open_run(path) for path in pair[:2])
    assert compiled.torch_trace
    assert not eager.torch_trace
    assert "TORCH_LOGS" not in compiled.record.environment["variables"]
    assert "graph_breaks" in compiled.record.environment["torch_logs"]
    # Nothing is missing; a filled cache of the compiler would be said, and is no first compilation.
    measurement = compiled.record.measurement
    assert all("cache already held 2 of 2 graphs" in note for note in measurement.notes)
    assert (measurement.first_call_ns is None) == bool(measurement.notes)
    assert (measurement.warm_first_call_ns is not None) == bool(measurement.notes)


def test_inductors_cpu_kernels_stand_in_the_trace(pair):
    trace = open_trace(open_run(pair[1]).trace)
    assert any("cpp_fused" in str(name) for name in trace.ops["name"].to_list())


def test_the_recorder_needs_nothing_but_torch(pair):
    """numpy was looked for, by torch, and refused; no stage of the product was loaded."""
    *_, ours, numpy = pair[2].splitlines()
    assert numpy == "True False"
    stages = {name.split(".")[1] for name in ours.split() if "." in name}
    assert stages == {"capture", "errors", "record", "run_directory"}
    capture = {name.split(".")[2] for name in ours.split() if ".capture." in name}
    assert capture == {
        "child", "full_disk", "handover", "nvml", "provenance", "round_plan", "run_writer",
        "sources", "telemetry", "torch_settings",
    }  # fmt: skip


def test_killed_in_the_middle_it_is_readable_and_lost(tmp_path, quick_python):
    words = ("eager", "--die-at", "30", "--die", "kill")
    record(tmp_path, *words, python=quick_python, status=-signal.SIGKILL)
    (folder,) = tmp_path.iterdir()
    run = open_run(folder)
    assert run.record.status == "lost"
    assert len(run.record.measurement.rounds) == 6  # 31 steps: first, ten of warm-up, threes
    assert "6 timed rounds are kept" in run.record.error
    assert run.record.environment["torch"]
    assert read_record(folder, may_be_alive=True)[0] == run.record


def test_sigterm_is_the_last_word(tmp_path):
    process = subprocess.Popen(
        [sys.executable, TRAIN, str(tmp_path), "eager", "--die-at", "5", "--die", "wait"],
        env=environment(),
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    assert process.stdout.readline() == "waiting\n"
    process.terminate()
    process.communicate()
    assert process.returncode == -signal.SIGTERM
    (folder,) = tmp_path.iterdir()
    found = open_run(folder).record
    assert found.status == "failed"
    assert found.error.startswith("The process was ended by SIGTERM after 6 steps, in the warm-up")


def test_each_rank_writes_its_own_run(tmp_path, quick_python):
    torchrun = ("-m", "torch.distributed.run", "--nproc-per-node", "2")
    ranks = {**ENVIRONMENT, "PYTHON_EXEC": str(quick_python)}  # what torchrun starts
    record(tmp_path, "eager", "--ddp", "--steps", "90", before=torchrun, **ranks)
    (folder,) = tmp_path.iterdir()
    ranks = [open_run(folder), open_run(folder / "ranks" / "1")]
    assert [run.record.rank for run in ranks] == [0, 1]
    assert {run.record.world_size for run in ranks} == {2}
    assert len({run.record.capture_id for run in ranks}) == 1
    assert len({run.record.run_id for run in ranks}) == 2
    for run in ranks:
        assert run.record.status == "finished"
        assert len(run.record.measurement.warmup_step_ns) == 10
        assert len(run.record.measurement.rounds) == 10
        assert run.trace is not None


def test_the_folder_on_the_path_holds_nothing_but_ours():
    """Whatever else lay there would stand before the user's own packages."""
    names = sorted(path.name for path in IMPORTABLE.iterdir() if path.name[0] != "_")
    assert names == ["fusionscope", "profiler_core"]
    assert Path(IMPORTABLE / "profiler_core" / "__init__.py").is_file()

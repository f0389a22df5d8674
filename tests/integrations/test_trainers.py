"""Trainers of three packages record themselves, by the examples that the documents name."""

import gzip
import json
import subprocess
from collections import Counter
from pathlib import Path
from types import SimpleNamespace

import pytest

from fusionscope.integrations.recording import StepRecording, name_of, variant_of
from profiler_core.cli.main import main
from profiler_core.ingest.run import open_run
from tests.quick_python import ENVIRONMENT
from tests.record.conftest import environment

EXAMPLES = Path(__file__).resolve().parents[2] / "docs" / "examples"

pytestmark = [pytest.mark.torch, pytest.mark.timeout(900)]


def trained(trainer, variant, out, python):
    """The run directory that the example leaves; only the Recorder's folder is on its path."""
    done = subprocess.run(
        [python, str(EXAMPLES / f"train_{trainer}.py"), variant, str(out)],
        env=environment(**ENVIRONMENT),
        capture_output=True,
        text=True,
        cwd=out.parent,
    )
    assert done.returncode == 0, done.stderr
    (directory,) = out.glob(f"*-{variant}-*")
    return directory


@pytest.fixture(scope="module")
def runs(tmp_path_factory, quick_python):
    out = tmp_path_factory.mktemp("trainers")
    return {
        name: trained(name, "eager", out / name, quick_python)
        for name in ("huggingface", "lightning", "accelerate")
    }


TRAINERS = {
    "huggingface": ("BertForSequenceClassification", 8),
    "lightning": ("Classifier", 16),
    "accelerate": ("mlp", 16),
}


@pytest.mark.parametrize("trainer", TRAINERS)
def test_it_is_recorded_with_what_the_trainer_knows(runs, trainer):
    record = open_run(runs[trainer]).record
    assert record.status == "finished", record.error
    assert (record.workload, record.spec["batch_size"]) == TRAINERS[trainer]
    assert record.variant == "eager"
    assert len(record.measurement.rounds) == 8


@pytest.mark.parametrize("trainer", TRAINERS)
def test_a_step_is_one_update_with_all_of_its_batches_and_no_evaluation(runs, trainer):
    """Read from the trace as plain JSON."""
    with gzip.open(runs[trainer] / "trace.json.gz") as text:
        events = json.load(text)["traceEvents"]
    names = Counter(event["name"].partition(" ")[0] for event in events if "dur" in event)
    updates = names["Optimizer.step#AdamW.step"]
    steps = sum(name.startswith("ProfilerStep#") for name in names)
    assert (updates, steps) == (3, 3)
    backward = names["torch::autograd::AccumulateGrad"]
    losses = names["NllLossBackward0"]
    assert losses == 2 * steps, "two batches a step"
    assert backward > 0
    # An evaluation makes losses, or products, without a gradient.
    assert names["aten::nll_loss_forward"] == losses


def test_what_is_recorded_eager_and_compiled_compares(
    runs, tmp_path, capsys, monkeypatch, quick_python
):
    monkeypatch.setenv("FUSIONSCOPE_HOME", str(tmp_path))
    compiled = trained("accelerate", "default", tmp_path / "runs", quick_python)
    record = open_run(compiled).record
    assert (record.variant, record.spec["compile"]) == ("default", True)
    assert main(["compare", str(runs["accelerate"]), str(compiled), "--json"]) == 0
    (candidate,) = json.loads(capsys.readouterr().out)["candidates"]
    assert candidate["step_time"]["n_rounds"] == [8, 8]


class Net:
    pass


def test_a_variant_is_called_as_capture_calls_it():
    wrapped = SimpleNamespace(_orig_mod=SimpleNamespace(module=Net()))
    assert variant_of(Net()) == "eager"
    assert variant_of(wrapped) == "default"
    assert variant_of(SimpleNamespace(_compiler_ctx={"compiler": "dynamo"})) == "default"
    assert variant_of(Net(), mode="reduce-overhead", backend="inductor") == "reduce-overhead"
    assert variant_of(Net(), backend="cudagraphs") == "backend:cudagraphs"
    assert name_of(wrapped) == "Net"


class Recorder:
    def __init__(self, **options):
        DIARY.append(sorted(options.items()))
        self.directory = Path("run")

    def __getattr__(self, name):
        return lambda *words: DIARY.append(name)


DIARY = []


def test_facts_are_asked_once_and_a_second_training_is_another_recording(monkeypatch):
    monkeypatch.setattr("fusionscope.integrations.recording.Recorder", Recorder)
    DIARY.clear()
    recording = StepRecording({"variant": "mine"})

    def facts():
        DIARY.append("asked")
        return {"variant": "eager", "workload": "net"}

    recording.pause()  # before anything began
    for _ in range(2):
        recording.begin_step(facts)
        recording.end_step()
    recording.pause()
    recording.pause()
    recording.begin_step(facts)
    recording.close()
    recording.end_step()
    recording.begin_step(facts)
    begun = ["asked", [("variant", "mine"), ("workload", "net")], "start"]
    assert [*begun, "step", "step", "pause", "resume", "close", *begun] == DIARY

"""What trackers keep of a comparison, read back by their own packages in their offline modes."""

import pytest

import fusionscope
from fusionscope.integrations.trackers import (
    to_mlflow,
    to_tensorboard,
    to_wandb,
    tracked_numbers,
)


@pytest.fixture(scope="module")
def comparison():
    return fusionscope.open(fusionscope.sample("customcnn"))


@pytest.fixture(scope="module")
def numbers(comparison):
    return tracked_numbers(comparison)


def test_the_numbers_are_those_of_the_comparison(comparison, numbers):
    pair = next(pair for pair in comparison.pairs if pair.label == "default")
    assert numbers["default/speed_up"] == pair.step_time.ratio
    assert numbers["default/step_ms"] == pytest.approx(pair.step_time.candidate_ns / 1e6)
    assert numbers["default/kernels_per_step"] == pair.to_dict()["n_kernels"][1]
    assert {name.partition("/")[0] for name in numbers} == {p.label for p in comparison.pairs}
    assert tracked_numbers(pair) == {k: v for k, v in numbers.items() if k.startswith("default/")}


def test_what_nobody_knows_is_left_out(comparison):
    class Bare:
        label = "bare"

        def to_dict(self):
            answer = comparison.pairs[0].to_dict()
            answer["step_time"].update(ratio=None, interval=None)
            answer["compile"]["break_even_steps"] = None
            return answer

    numbers = tracked_numbers(Bare())
    assert {"bare/speed_up", "bare/speed_up_low", "bare/break_even_steps"}.isdisjoint(numbers)
    assert "bare/step_ms" in numbers


def test_tensorboard_has_scalars_and_the_report(comparison, numbers, tmp_path):
    from tensorboard.backend.event_processing.event_accumulator import EventAccumulator
    from torch.utils.tensorboard import SummaryWriter

    with SummaryWriter(tmp_path) as writer:
        to_tensorboard(comparison, writer, step=7)
    events = EventAccumulator(str(tmp_path))
    events.Reload()
    assert set(events.Tags()["scalars"]) == {f"fusionscope/{name}" for name in numbers}
    (scalar,) = events.Scalars("fusionscope/default/speed_up")
    assert (scalar.step, scalar.value) == (7, pytest.approx(numbers["default/speed_up"], rel=1e-6))
    (text,) = events.Tensors("fusionscope/report/text_summary")
    assert comparison.headline in text.tensor_proto.string_val[0].decode()


def test_mlflow_has_metrics_verdict_and_report(comparison, numbers, tmp_path, monkeypatch):
    monkeypatch.setenv("MLFLOW_ALLOW_FILE_STORE", "true")
    import mlflow

    mlflow.set_tracking_uri(f"file://{tmp_path}/mlruns")
    with mlflow.start_run() as run:
        to_mlflow(comparison, step=7)
    kept = mlflow.get_run(run.info.run_id).data
    assert kept.metrics == pytest.approx({f"fusionscope/{k}": v for k, v in numbers.items()})
    assert kept.tags["fusionscope.verdict"] == comparison.headline
    (report,) = tmp_path.glob("mlruns/*/*/artifacts/fusionscope/fusionscope.html")
    assert "reduce-overhead" in report.read_text()


def test_wandb_has_numbers_verdict_and_report_offline(comparison, numbers, tmp_path, monkeypatch):
    monkeypatch.setenv("WANDB_SILENT", "true")
    import wandb

    with wandb.init(mode="offline", dir=tmp_path, project="tests") as run:
        to_wandb(comparison)
        summary = dict(run.summary)
    assert summary["fusionscope/verdict"] == comparison.headline
    assert summary["fusionscope/default/speed_up"] == numbers["default/speed_up"]
    assert {name for name in numbers if f"fusionscope/{name}" not in summary} == set()
    (report,) = tmp_path.rglob("*.html")
    assert "reduce-overhead" in report.read_text()


def test_without_a_run_of_wandb_it_says_so(comparison):
    with pytest.raises(ValueError, match=r"call wandb\.init\(\)"):
        to_wandb(comparison)

"""`try_`: an experiment on a world of made-up step times, as the command runs it."""

import json

import pytest

import fusionscope
from fusionscope import trying
from profiler_core.answers.encoding import document
from profiler_core.answers.experiment import experiment_answer
from profiler_core.experiments.pasted import pasted
from tests.analysis.experiment.worlds import World
from tests.experiments.made_up import Machine


@pytest.fixture
def machine(monkeypatch) -> Machine:
    machine = Machine(World({}), monkeypatch)

    class Runner(trying.Runner):
        def __init__(self, *given, **more):
            more.pop("listener")
            super().__init__(*given, capture=machine.capture, clock=machine.clock, **more)

    monkeypatch.setattr(trying, "Runner", Runner)
    return machine


def test_the_fastest_setting_comes_with_its_trials_and_code(machine, tmp_path):
    experiment = fusionscope.try_(
        "customcnn", budget=200, levers=["mode"], out=tmp_path, progress=False, device="cpu"
    )
    record = experiment.record
    assert record.budget_s == 200
    assert record.words[:2] == ("customcnn", "--device=cpu")
    assert {trial.variant for trial in record.trials} == set(experiment.table()["variant"])
    assert experiment.code == pasted(record)
    assert experiment.to_dict() == document(experiment_answer(record, pasted(record)))
    assert json.loads(experiment.to_json()) == experiment.to_dict()
    assert repr(experiment) == f"<Experiment: {experiment.headline}>"
    assert len(experiment.figure().data) > 0
    html = experiment._repr_html_()
    assert "<script" not in html
    assert all(trial.variant in html for trial in record.trials)
    assert experiment.variant in {"eager", *(trial.variant for trial in record.trials)}


def test_what_it_decides_itself_is_refused(tmp_path):
    with pytest.raises(fusionscope.FusionscopeError, match="try_ decides variants itself"):
        fusionscope.try_("bert", variants="eager")
    with pytest.raises(fusionscope.FusionscopeError, match="budget '3x'"):
        fusionscope.try_("bert", budget="3x", out=tmp_path)

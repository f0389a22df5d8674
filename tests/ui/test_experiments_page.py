"""The page *Experiments* on made-up captures: what is known, what to take, what to do about it."""

import re
from dataclasses import replace
from types import SimpleNamespace

import msgspec
import numpy as np
import pytest

from profiler_core import home
from profiler_core.analysis.experiment.leading import leader_of
from profiler_core.analysis.finding_rules.facts import Finding
from profiler_core.analysis.what_if.change import Change
from profiler_core.capture.spec import CaptureSpec
from profiler_core.cli.main import main
from profiler_core.door import experimenting
from profiler_core.door.asker import Asker, Refused
from profiler_core.errors import BadInput
from profiler_core.experiments.request import new_experiment, spec_of
from profiler_core.figures.experiment import cost_figure
from profiler_core.figures.theme import LIGHT
from profiler_core.model.experiment import Gain
from profiler_core.model.run import Compiled, Measurement, RunRecord
from profiler_core.owner_file import owner_of, write_owner
from profiler_core.store.experiments import FILE, folder_of, held_by_one, write_experiment
from profiler_core.ui.experiments import listing, panel, start
from profiler_core.ui.links import plain_label
from tests.analysis.experiment.worlds import World
from tests.apps import opened, text_of
from tests.experiments.made_up import Machine, runner

LEVERS = ("mode", "precision", "freezing")
ME = Asker("me", ("look", "capture"), is_own_machine=True)


@pytest.fixture
def experiment(monkeypatch, tmp_path):
    """One that ended, in the library of a home of its own."""
    return ended(monkeypatch, tmp_path)


def ended(monkeypatch, tmp_path, gain_ns=150_000.0):
    monkeypatch.setenv("FUSIONSCOPE_HOME", str(tmp_path))
    machine = Machine(World({"freezing=true": 0.8, "max-autotune": 1.3}), monkeypatch)
    asked = new_experiment(
        CaptureSpec(workload="customcnn", device="cpu"), budget_s=1000.0, levers=LEVERS
    )
    gain = Gain(
        finding="f", title="F.", lever="freezing", word="freezing=true", gain_ns=gain_ns,
        low_ns=100_000.0, high_ns=210_000.0,
    )  # fmt: skip
    asked = msgspec.structs.replace(asked, gains=(gain,))
    return runner(machine, asked, home.runs_directory(), spec_of(asked)).run()


def test_the_page_has_the_result_and_the_gain_beside_the_prediction(experiment):
    app = opened("experiments", experiment=experiment.experiment_id)
    text = text_of(app)
    assert "default+freezing=true" in text
    assert "is the fastest" in text
    assert re.search(r"150 µs.*100 µs to 210 µs", text)
    assert re.search(r"[^+−\d.](19|20)\d µs", text)
    assert "freezing=true alone makes it 1.25× faster than default" in text
    assert any('options={"freezing": True}' in block.value for block in app.code)
    assert any("--variants eager,default+freezing=true" in block.value for block in app.code)
    assert "Resume" not in [button.label for button in app.button]
    assert experiment.title in [button.label for button in app.button]


def test_the_first_line_is_of_no_other_experiment_than_the_one_shown(experiment):
    """Above the headline of an older one stood what the newest had found."""
    line = f"{experiment.title}: default+freezing=true is the fastest"
    assert line in text_of(opened("experiments"))
    assert line not in text_of(opened("experiments", experiment=experiment.experiment_id))


def test_an_error_beyond_all_measure_is_told_as_such(monkeypatch, tmp_path):
    """A prediction of a microsecond, a change of 61 ms: the median error was 4277229 %."""
    ended(monkeypatch, tmp_path, gain_ns=100.0)
    assert "over 1000 %" in text_of(opened("experiments"))


def test_the_name_of_the_fastest_stands_beside_its_mark_within_the_figure(experiment):
    """Above it, it lay upon the interval, and the edge cut it."""
    (names, *_) = cost_figure(experiment, leader_of(experiment), LIGHT).data
    for seconds, position in zip(names.x, names.textposition, strict=True):
        assert position == ("middle left" if seconds > max(names.x) / 2 else "middle right")


@pytest.mark.parametrize("width_px", [300, 560, 940])
@pytest.mark.parametrize(("beside_s", "above"), [(1.1, 0), (0.9, 0), (1.1, 1), (1.2, -1)])
def test_the_names_in_the_figure_lie_on_no_mark_and_not_on_each_other(
    experiment, width_px, beside_s, above
):
    """The name of the fastest was written over the mark of a setting that is as fast."""
    leader = leader_of(experiment)
    fastest = leader.trial
    batches = [
        msgspec.structs.replace(
            batch,
            trials=tuple(
                msgspec.structs.replace(
                    trial,
                    first_call_s=10.0 * beside_s,
                    step_ns=fastest.step_ns * (1 + 0.02 * above),
                    step_low_ns=fastest.step_ns * 0.99,
                    step_high_ns=fastest.step_ns * 1.01,
                )
                if trial.variant != fastest.variant
                else msgspec.structs.replace(trial, first_call_s=10.0)
                for trial in batch.trials
            ),
        )
        for batch in experiment.batches
    ]
    figure = cost_figure(msgspec.structs.replace(experiment, batches=tuple(batches)), leader, LIGHT)
    (settings,) = figure.data
    (eager,) = figure.layout.annotations
    px = [
        (width_px / figure.layout.xaxis.range[1]) * np.array(settings.x),
        (264 / figure.layout.yaxis.range[1]) * np.array(settings.y),
    ]
    (number,) = [number for number, name in enumerate(settings.text) if name]
    mark = px[0][number], px[1][number]
    name = box_beside(mark, settings.text[number], settings.textposition[number], away=14.5)
    line = 264 * eager.y / figure.layout.yaxis.range[1]
    end = (width_px, "left") if eager.xanchor == "right" else (0, "right")
    height = "top" if eager.yanchor == "bottom" else "bottom"
    named = box_beside((end[0], line), "eager", f"{height} {end[1]}", away=0)
    marks = [(x - 5, x + 5, y - 5, y + 5) for x, y in zip(*px, strict=True)]
    assert not any(meet(name, mark) for mark in marks)
    assert not any(meet(named, mark) for mark in marks)
    assert not meet(name, named)


def box_beside(point, text, position, *, away):
    """(left, right, bottom, top) of a label of 13 px letters."""
    height, way = position.split(" ")
    width, (x, y) = 7.0 * len(text.strip()), point
    left = x + away if way == "right" else x - away - width
    bottom = {"middle": y - 6.5, "top": y + away / 2, "bottom": y - away / 2 - 13}[height]
    return left, left + width, bottom, bottom + 13


def meet(one, other):
    return one[0] < other[1] and other[0] < one[1] and one[2] < other[3] and other[2] < one[3]


def test_one_lever_that_does_not_fit_is_told_in_the_singular():
    assert panel._unfit_title(1) == "1 lever that does not fit"
    assert panel._unfit_title(2) == "2 levers that do not fit"


def test_a_cancelled_one_can_be_resumed_and_submits_the_same_experiment(experiment, monkeypatch):
    cut = msgspec.structs.replace(experiment, state="cancelled", ended_by="cancelled")
    write_experiment(home.runs_directory(), cut)
    submitted = []
    monkeypatch.setattr(
        experimenting.jobs, "submit", lambda words, **about: submitted.append((words, about))
    )
    app = opened("experiments", experiment=experiment.experiment_id)
    button = next(button for button in app.button if button.label == "Resume")
    button.click().run()
    ((words, about),) = submitted
    assert f"--experiment={experiment.experiment_id}" in words
    assert (about["kind"], about["subject"]) == ("try", experiment.experiment_id)


def test_too_few_rounds_lead_on_to_an_experiment_with_enough(experiment, monkeypatch):
    """*Take this* had a comment alone, and nothing on the page timed more rounds."""
    few = msgspec.structs.replace(
        experiment,
        words=(*experiment.words, "--rounds=3"),
        batches=tuple(map(of_few_rounds, experiment.batches)),
    )
    write_experiment(home.runs_directory(), few)
    submitted = []
    monkeypatch.setattr(
        experimenting.jobs, "submit", lambda words, **about: submitted.append((words, about))
    )
    app = opened("experiments", experiment=few.experiment_id)
    text = text_of(app)
    assert "Take this" not in text
    assert "It takes 5 or more; 20 are the usual number." in text
    assert any(code.value.startswith("fusionscope try customcnn") for code in app.code)
    next(b for b in app.button if b.label == "Try again with 20 rounds").click().run()
    ((words, about),) = submitted
    assert about["subject"] != few.experiment_id
    assert app.query_params["experiment"] == about["subject"]
    assert not [word for word in words if word.startswith("--rounds")]
    assert {"--from=default", f"--levers={','.join(LEVERS)}", "--budget=1000s"} <= set(words)


def of_few_rounds(batch):
    def few(trial):
        return trial and msgspec.structs.replace(trial, speedup=None, against=None, n_rounds=3)

    return msgspec.structs.replace(
        batch, trials=tuple(map(few, batch.trials)), reference_trial=few(batch.reference_trial)
    )


def test_what_is_resumed_runs_before_it_first_saves(experiment, monkeypatch):
    """Until then its file, and so the page, said that it was cancelled."""
    cut = msgspec.structs.replace(experiment, state="cancelled", ended_by="cancelled")
    write_experiment(home.runs_directory(), cut)
    job = SimpleNamespace(
        spec=SimpleNamespace(title="t", kind="try", owner=None, submitted_at=0.0), job_id="j1",
        is_live=True, state="running", cancel_requested=False, error=None,
        started_at=1.0, ended_at=2.0, progress=SimpleNamespace(latest=None),
    )  # fmt: skip
    monkeypatch.setattr(panel, "job_of", lambda _: job)
    monkeypatch.setattr(listing, "job_of", lambda _: job)
    app = opened("experiments", experiment=experiment.experiment_id)
    text = text_of(app)
    assert "It was cancelled" not in text
    assert "is the fastest so far" in text
    assert any(caption.value.endswith(plain_label("Not ended yet.")) for caption in app.caption)


def test_what_waits_for_another_job_is_not_said_to_run(experiment, monkeypatch):
    """Beside a panel that says "queued", the list said "Running."."""
    begun = msgspec.structs.replace(experiment, state="running", batches=())
    write_experiment(home.runs_directory(), begun)
    monkeypatch.setattr(listing, "job_of", lambda _: SimpleNamespace(is_live=True, state="queued"))
    app = opened("experiments")
    assert "Running." not in text_of(app)
    assert "Not ended yet." in text_of(app)


@pytest.mark.parametrize(
    ("gpu", "device", "here", "other"),
    [
        ("NVIDIA H200", "auto", (), "this CPU"),
        ("NVIDIA H200", "cuda:0", (), "this CPU"),
        ("NVIDIA H200", "auto", ("NVIDIA H200",), ""),
        ("NVIDIA H200", "auto", ("NVIDIA L4", "NVIDIA L4"), "this NVIDIA L4"),
        ("NVIDIA H200", "auto", (None,), ""),  # its driver does not name it
        ("NVIDIA H200", "cpu", (), ""),
        ("NVIDIA H200", "cpu", ("NVIDIA L4",), ""),
        (None, "auto", (), ""),
    ],
)
def test_what_ran_on_a_gpu_that_is_not_here_says_what_is_tried_instead(
    monkeypatch, gpu, device, here, other
):
    monkeypatch.setattr(start, "_gpus", lambda: here)
    monkeypatch.setattr(start, "spec_asked_for", lambda record, _: record.spec)
    record = RunRecord(
        spec={"workload": "resnet50", "device": device}, environment={"gpu": gpu} if gpu else {}
    )
    assert start._other_device(record, ()) == other


@pytest.mark.parametrize(("is_handed", "lever", "says_why"), [
    (False, "graph_replay", True), (True, "graph_replay", False), (False, "half_precision", False),
])  # fmt: skip
def test_a_finding_whose_settings_reach_no_call_of_the_script_says_so(is_handed, lever, says_why):
    """*Try it* tried modes of which the script's own calls of torch.compile were given none."""
    compiled = Compiled(where="as-is", is_handed=is_handed)
    record = RunRecord(measurement=Measurement(compiled=compiled))
    about = {"title": "f", "evidence": "", "advice": "", "page": "overview"}
    asked = Finding("f", **about, change=Change(lever))
    assert bool(start.why_some_are_not_tried(record, [asked])) is says_why


def test_an_experiment_that_is_not_there_is_a_problem_on_the_page(experiment):
    text = text_of(opened("experiments", experiment="20261123-000000-try-gone-0000"))
    assert "There is no experiment" in text
    text = text_of(opened("experiments", experiment="../../etc/passwd"))
    assert "is not an experiment" in text


def test_who_may_not_capture_may_not_try(experiment):
    spec = CaptureSpec(workload="customcnn")
    visitor = Asker("you", ("look",), signed_in=True)
    for refused in (None, visitor):
        with pytest.raises(Refused):
            experimenting.start_experiment(refused, spec, experimenting.Wish("20m"))
        with pytest.raises(Refused):
            experimenting.resume_experiment(refused, experiment.experiment_id)
        with pytest.raises(Refused):
            experimenting.cancel_experiment(refused, experiment.experiment_id)
    with pytest.raises(BadInput, match="has ended already"):
        experimenting.cancel_experiment(ME, experiment.experiment_id)


def test_a_started_one_is_a_job_with_a_folder_before_it_runs(experiment, monkeypatch):
    submitted = []
    monkeypatch.setattr(
        experimenting.jobs, "submit", lambda words, **about: submitted.append((words, about))
    )
    wish = experimenting.Wish("10m", ("freezing",), "default+dynamic", "graph_breaks")
    experiment_id = experimenting.start_experiment(ME, CaptureSpec(workload="customcnn"), wish)
    ((words, about),) = submitted
    assert words[words.index("try") + 1] == "customcnn"
    assert {"--levers=freezing", "--from=default+dynamic", "--budget=600s"} <= set(words)
    assert about["is_own_machine"]
    text = text_of(opened("experiments", experiment=experiment_id))
    assert "Nothing is measured yet." in text


def test_what_another_user_runs_is_followed_before_its_folder_is_there(experiment, monkeypatch):
    """Its folder is taken in at the end; until then the page said that there is no experiment."""
    spec = SimpleNamespace(title="Try settings of it", kind="try", owner=None, submitted_at=0.0)
    latest = SimpleNamespace(text="Compiling default.")
    job = SimpleNamespace(
        spec=spec, job_id="j1", is_live=True, state="running", cancel_requested=False, error=None,
        started_at=1.0, ended_at=2.0, progress=SimpleNamespace(latest=latest),
    )  # fmt: skip
    monkeypatch.setattr(panel, "job_of", lambda _: job)
    app = opened("experiments", experiment="20261123-000000-try-other-0000")
    text = text_of(app)
    assert "Try settings of it" in text
    assert "Compiling default." in text
    assert "There is no experiment" not in text
    assert "Cancel" in [button.label for button in app.button]


def test_another_user_cannot_go_on_with_an_experiment(experiment, monkeypatch):
    """It would have measured all of it once more, and what it found would not have been kept."""
    monkeypatch.setattr(experimenting, "settings", lambda: SimpleNamespace(runner_user="runner"))
    with pytest.raises(BadInput, match="another user of the system"):
        experimenting.resume_experiment(ME, experiment.experiment_id)


def test_an_experiment_stays_whose_it_is_when_an_admin_goes_on_with_it(experiment, monkeypatch):
    folder = folder_of(home.runs_directory(), experiment.experiment_id)
    write_owner(folder, "ada")
    monkeypatch.setattr(experimenting.jobs, "submit", lambda *_, **__: "j1")
    bob = Asker("bob", ("look", "capture"), is_own_machine=True, signed_in=True)
    with pytest.raises(Refused, match="somebody else's"):
        experimenting.resume_experiment(bob, experiment.experiment_id)
    admin = Asker("root", ("look", "capture", "delete"), is_own_machine=True, signed_in=True)
    experimenting.resume_experiment(admin, experiment.experiment_id)
    assert owner_of(folder) == "ada"


def test_one_whose_process_is_gone_is_said_to_be_interrupted_and_can_be_resumed(experiment):
    """It stood there as running for ever, after a kill in its shell."""
    cut = msgspec.structs.replace(experiment, state="running", ended_by="")
    write_experiment(home.runs_directory(), cut)
    app = opened("experiments", experiment=experiment.experiment_id)
    assert "interrupted" in text_of(app)
    assert "Resume" in [button.label for button in app.button]
    with held_by_one(home.runs_directory(), experiment.experiment_id):
        app = opened("experiments", experiment=experiment.experiment_id)
        assert {"Resume", "Delete"}.isdisjoint(button.label for button in app.button)
        with pytest.raises(BadInput, match="on its way"):
            experimenting.resume_experiment(ME, experiment.experiment_id)


def test_a_resumed_one_names_a_workload_and_no_option(experiment, monkeypatch):
    monkeypatch.setattr(experimenting.jobs, "submit", lambda *_, **__: "j1")
    words = ("--out=/tmp/elsewhere", *experiment.words[1:])
    cut = msgspec.structs.replace(experiment, state="cancelled", words=words)
    write_experiment(home.runs_directory(), cut)
    with pytest.raises((Refused, BadInput)):
        experimenting.resume_experiment(ME, experiment.experiment_id)
    monkeypatch.setattr(
        experimenting, "spec_of", lambda _: replace(spec_of(experiment), workload="--json")
    )
    with pytest.raises(Refused, match="is not a model name"):
        experimenting.resume_experiment(ME, experiment.experiment_id)


def test_a_deleted_one_can_be_put_back_and_its_captures_stay(experiment, capsys):
    folder = folder_of(home.runs_directory(), experiment.experiment_id)
    captures = sorted(path for path in folder.parent.iterdir() if path.name[0].isdigit())
    app = opened("experiments", experiment=experiment.experiment_id)
    button = next(b for b in app.button if b.key == f"fs_try_delete_{experiment.experiment_id}")
    app = button.click().run()
    assert not folder.exists()
    assert sorted(path for path in folder.parent.iterdir() if path.name[0].isdigit()) == captures
    next(button for button in app.button if button.label == "Undo").click().run()
    assert (folder / FILE).exists()
    assert main(["runs", "delete", experiment.experiment_id]) == 0
    assert not folder.exists()
    word = capsys.readouterr().out.strip().removesuffix(".").split()[-1]
    assert main(["runs", "restore", word]) == 0
    assert (folder / FILE).exists()

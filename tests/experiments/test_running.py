"""An experiment on captures that nobody runs: what its folder keeps, and where it goes on."""

import pytest

from profiler_core.analysis.experiment.leading import leader_of
from profiler_core.analysis.wording.experiment import headline, responsible
from profiler_core.analysis.wording.sentence import plain
from profiler_core.answers.encoding import document
from profiler_core.answers.experiment import experiment_answer
from profiler_core.capture.spec import CaptureSpec
from profiler_core.errors import BadInput
from profiler_core.experiments.lever import LEFT_ALONE
from profiler_core.experiments.pasted import pasted
from profiler_core.experiments.request import budget_seconds, new_experiment, spec_of
from profiler_core.store.experiments import (
    caches_of,
    experiments,
    held_by_one,
    read_experiment,
)
from tests.analysis.experiment.worlds import World
from tests.experiments.made_up import Machine, runner

FACTORS = {"freezing=true": 0.8, "bf16-autocast": 0.7, "max-autotune": 1.3, "target=blocks": 1.0}
LEVERS = ("mode", "precision", "freezing", "scope")


@pytest.fixture
def machine(monkeypatch):
    return Machine(World(FACTORS, failing=("regions=nested",)), monkeypatch)


def asked(**options):
    spec = CaptureSpec(workload="customcnn", device="cpu")
    return new_experiment(spec, **{"budget_s": 10_000.0, "levers": LEVERS, **options})


def test_it_ends_with_the_fastest_setting_and_says_what_each_lever_gave(machine, tmp_path):
    experiment = asked()
    ended = runner(machine, experiment, tmp_path, spec_of(experiment)).run()
    assert (ended.state, ended.ended_by) == ("finished", "nothing left")
    assert {word for _, word in leader_of(ended).setting} == {"freezing=true", "bf16-autocast"}
    assert plain(headline(ended)).startswith("default+freezing=true+bf16-autocast is the fastest")
    assert any("freezing=true alone makes it 1.25× faster" in text for text in responsible(ended))
    assert read_experiment(tmp_path, ended.experiment_id) == ended
    assert [e.experiment_id for e in experiments(tmp_path)] == [ended.experiment_id]
    assert not caches_of(tmp_path, ended.experiment_id).exists()
    failed = next(t for t in ended.trials if "regions=nested" in t.variant)
    assert (failed.status, failed.error) == ("failed", "it does not compile")


def test_the_json_has_every_trial_with_its_interval_and_the_code(machine, tmp_path):
    experiment = asked()
    ended = runner(machine, experiment, tmp_path, spec_of(experiment)).run()
    answer = document(experiment_answer(ended, pasted(ended)))
    best = answer["best"]
    assert best["step_time_ns"] == pytest.approx(560_000, rel=0.01)
    assert best["step_time_low_ns"] < best["step_time_ns"] < best["step_time_high_ns"]
    assert best["first_call_seconds"] == 5
    assert 'options={"freezing": True}' in best["code"]
    assert {t["variant"] for t in answer["trials"]} >= {"default", "max-autotune"}
    assert [e["word"] for e in answer["responsible"]] == ["bf16-autocast", "freezing=true"]
    assert answer["harmful"]["word"] == "max-autotune"
    assert answer["not_tried"] == []


@pytest.mark.parametrize("n_captures", [1, 2, 3])
def test_a_cancelled_experiment_goes_on_without_measuring_anything_twice(
    machine, tmp_path, n_captures
):
    experiment = asked()
    machine.cancelled_in = n_captures
    cut = runner(machine, experiment, tmp_path, spec_of(experiment)).run()
    assert (cut.state, len(cut.batches)) == ("cancelled", n_captures - 1)
    machine.cancelled_in = None
    n_done = len(machine.captured)
    kept = read_experiment(tmp_path, cut.experiment_id)
    ended = runner(machine, kept, tmp_path, spec_of(kept)).run()
    assert ended.state == "finished"
    assert {word for _, word in leader_of(ended).setting} == {"freezing=true", "bf16-autocast"}
    before = {trial.variant for trial in cut.trials}
    resumed = [v for labels in machine.captured[n_done:] for v in labels]
    again = before & set(resumed) - {leader.variant for leader in _references(ended)}
    left_out = {t.variant for b in ended.batches for t in b.trials if "without" in b.phase}
    assert again <= left_out


def _references(experiment):
    return [batch.reference_trial for batch in experiment.batches if batch.reference_trial]


def test_a_capture_that_runs_beyond_the_budget_is_ended_and_is_the_last(machine, tmp_path):
    experiment = asked(budget_s=55.0)
    ended = runner(machine, experiment, tmp_path, spec_of(experiment)).run()
    assert ended.ended_by == "budget"
    assert ended.seconds <= 55.0


def test_an_option_that_it_starts_from_is_named_where_it_does_harm(monkeypatch, tmp_path):
    machine = Machine(World({"layout_optimization=false": 4.5}), monkeypatch)
    experiment = asked(start="default+layout_optimization=false", levers=("freezing",))
    ended = runner(machine, experiment, tmp_path, spec_of(experiment)).run()
    text = responsible(ended)[-1]
    assert text.startswith("layout_optimization=false alone makes it 4.5")
    assert leader_of(ended).setting == ()


def test_words_of_an_experiment_give_its_spec_again():
    spec = CaptureSpec(workload="bert", batch_size=4, options=(("layers", "2"),), rounds=7)
    experiment = new_experiment(spec, budget_s=60.0)
    again = spec_of(experiment)
    assert (again.workload, again.batch_size, again.options, again.rounds) == (
        "bert", 4, (("layers", "2"),), 7,
    )  # fmt: skip


@pytest.mark.parametrize(("text", "seconds"), [("20m", 1200), ("90s", 90), ("1h30m", 5400)])
def test_budgets(text, seconds):
    assert budget_seconds(text) == seconds


@pytest.mark.parametrize("text", ["", "20", "5s", "tomorrow", "-3m", "3m!", f"{'9' * 400}h"])
def test_what_is_no_budget_is_refused(text):
    with pytest.raises(BadInput, match="is no time"):
        budget_seconds(text)


def test_levers_and_starts_that_make_no_sense_are_refused():
    with pytest.raises(BadInput, match="There is no lever 'speed'"):
        asked(levers=("speed",))
    with pytest.raises(BadInput, match="cannot start from 'eager'"):
        asked(start="eager")


def test_the_setting_that_it_starts_from_is_measured_whole_however_slow(machine, tmp_path):
    judged = []
    capture = machine.capture

    def watched(spec, out, *, selection, **more):
        labels = [variant.label for variant in spec.variants]
        rounds = [{"index": i, "order": 0, "n_steps": 1} for i in range(5)]
        times = {"eager": 1, "default": 10}
        times = {label: 10**6 * times.get(label, 30) for label in labels}
        recorded = {
            label: {"rounds": [{**entry, "wall_ns": times[label]} for entry in rounds]}
            for label in labels
        }
        judged.append(selection.judge(recorded, 5))
        return capture(spec, out, selection=selection, **more)

    machine.capture = watched
    experiment = asked()
    runner(machine, experiment, tmp_path, spec_of(experiment)).run()
    assert judged[0] == frozenset()
    assert judged[1]


def test_what_compiles_itself_does_so_in_each_capture(monkeypatch, tmp_path):
    """Once another mode led, eager was the script as it compiles itself; and modes reach none."""
    machine = Machine(World({"bf16-autocast": 0.7, "reduce-overhead": 0.5}), monkeypatch)
    experiment = asked(start="as-is", levers=("mode", "precision"))
    ended = runner(machine, experiment, tmp_path, spec_of(experiment)).run()
    labels = {label for labels in machine.captured for label in labels}
    assert labels == {"eager", "as-is", "as-is+bf16-autocast"}
    assert leader_of(ended).trial.variant == "as-is+bf16-autocast"
    assert [(entry.lever, entry.why) for entry in ended.unfit] == [("mode", LEFT_ALONE)]
    assert responsible(ended)[0].startswith("bf16-autocast alone makes it 1.43× faster than as-is ")


def test_two_processes_do_not_run_one_experiment(machine, tmp_path):
    experiment = asked()
    with (
        held_by_one(tmp_path, experiment.experiment_id),
        pytest.raises(BadInput, match="Another process runs"),
    ):
        runner(machine, experiment, tmp_path, spec_of(experiment)).run()
    assert machine.captured == []


def test_its_captures_say_which_experiment_they_are_of(machine, tmp_path):
    experiment = asked()
    runner(machine, experiment, tmp_path, spec_of(experiment)).run()
    assert set(machine.marks) == {experiment.experiment_id}

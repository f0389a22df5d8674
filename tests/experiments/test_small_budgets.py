"""What an experiment times within a small budget, on a clock that runs as a capture on an H200."""

import pytest

from profiler_core.analysis.experiment.effects import effects, worst
from profiler_core.analysis.experiment.halving import RUNGS
from profiler_core.analysis.experiment.leading import leader_of
from profiler_core.analysis.experiment.search import PER_CAPTURE
from profiler_core.analysis.wording.experiment import headline
from profiler_core.analysis.wording.sentence import plain
from profiler_core.answers.encoding import document
from profiler_core.answers.experiment import experiment_answer
from profiler_core.capture.spec import CaptureSpec
from profiler_core.experiments.pasted import pasted
from profiler_core.experiments.request import new_experiment, spec_of
from profiler_core.units import format_wait
from tests.analysis.experiment.worlds import EAGER_NS, World
from tests.experiments.made_up import TimedMachine, runner

BF16 = "default+bf16-autocast+channels_last"
FACTORS = {"reduce-overhead": 0.8, "bf16-autocast": 0.9, "max-autotune": 0.75}
SLOW = ("max-autotune", "max-autotune-no-cudagraphs")


def tried(machine, tmp_path, budget_s, **options):
    spec = CaptureSpec(workload="customcnn")
    experiment = new_experiment(spec, budget_s=budget_s, **options)
    return runner(machine, experiment, tmp_path, spec_of(experiment)).run()


@pytest.mark.parametrize(
    ("budget_s", "compile_s", "timed"),
    [
        (60, 10, {"default", "reduce-overhead"}),
        (90, 10, {"default", "reduce-overhead", BF16}),
        (90, 17, {"default", "reduce-overhead"}),
        (90, 25, {"default"}),
        (120, 17, {"default", "reduce-overhead", BF16}),
        (180, 10, {"default", "reduce-overhead", BF16}),
        (180, 25, {"default", "reduce-overhead", BF16}),
        (600, 10, {"default", "reduce-overhead", BF16}),
        (600, 25, {"default", "reduce-overhead", BF16}),
    ],
)
def test_a_budget_times_what_everybody_tries_first(
    monkeypatch, tmp_path, budget_s, compile_s, timed
):
    machine = TimedMachine(World(FACTORS), monkeypatch, compile_s, SLOW)
    ended = tried(machine, tmp_path, budget_s)
    assert timed <= {trial.variant for trial in ended.trials}
    assert all(trial.n_rounds >= RUNGS[0] for trial in ended.trials)
    assert ended.seconds <= budget_s


def test_no_capture_is_spent_on_a_setting_that_compiles_for_minutes(monkeypatch, tmp_path):
    """max-autotune came first, and nothing else was compiled when the budget neared its end."""
    machine = TimedMachine(World(FACTORS), monkeypatch, 10, SLOW)
    ended = tried(machine, tmp_path, 180)
    assert len(machine.captured) == 2
    assert len(ended.batches[1].trials) == PER_CAPTURE
    large = tried(machine, tmp_path, 600)
    labels = machine.captured[3]
    assert labels[-1] == "max-autotune"
    assert len(large.batches[1].trials) == PER_CAPTURE


def test_a_setting_that_compiles_without_end_leaves_half_of_the_time(monkeypatch, tmp_path):
    """On an H200 max-autotune of resnet50 took 335 s of 600, and nothing came after it."""
    machine = TimedMachine(World({**FACTORS, "freezing=true": 0.7}), monkeypatch, 30, SLOW)
    ended = tried(machine, tmp_path, 600)
    left_out = [left for batch in ended.batches for left in batch.left_out]
    assert [left.variant for left in left_out] == ["max-autotune"]
    compiled_for_s = left_out[0].seconds
    assert 100 <= compiled_for_s <= 300
    assert [labels.count("max-autotune") for labels in machine.captured].count(1) == 1
    number = next(n for n, batch in enumerate(ended.batches) if batch.left_out)
    assert len(ended.batches) > number + 1
    assert leader_of(ended).trial.variant != "max-autotune"
    sentence = f"max-autotune was not compiled after {format_wait(compiled_for_s)}"
    answer = document(experiment_answer(ended, ""))
    assert sentence in answer["evidence"]
    assert answer["left_out"] == [{"variant": "max-autotune", "seconds": compiled_for_s}]


def test_an_option_that_it_starts_from_is_named_by_the_first_capture(monkeypatch, tmp_path):
    """On an H200 a budget of 90 s timed that setting alone, 1.67 times as slow as the best."""
    world = World({**FACTORS, "layout_optimization=false": 1.67})
    machine = TimedMachine(world, monkeypatch, 12, SLOW)
    ended = tried(machine, tmp_path, 90, start="default+layout_optimization=false")
    assert list(machine.timed[0]) == [
        "eager", "default+layout_optimization=false", "default", "reduce-overhead",
    ]  # fmt: skip
    assert ended.batches[0].reference == ended.start
    harmful = worst(effects(ended))
    assert (harmful.word, round(harmful.ratio.inverse.ratio, 2)) == (
        "layout_optimization=false",
        1.67,
    )
    assert leader_of(ended).trial.variant == "reduce-overhead"
    start = ended.trials[0]
    assert start.variant == "default+layout_optimization=false"
    assert start.against == start.speedup
    answer = document(experiment_answer(ended, ""))
    held = [trial["held_against"] for trial in answer["trials"]]
    assert held == [None, "default+layout_optimization=false", "default+layout_optimization=false"]


def test_levers_that_are_asked_for_go_along_in_the_first_capture(monkeypatch, tmp_path):
    machine = TimedMachine(World({"freezing=true": 0.8}), monkeypatch, 10)
    ended = tried(machine, tmp_path, 90, levers=("freezing",))
    assert list(machine.timed[0]) == ["eager", "default", "default+freezing=true"]
    assert {effect.word for effect in effects(ended)} == {"freezing=true"}


def test_a_setting_that_is_not_told_from_the_start_does_not_lead(monkeypatch, tmp_path):
    machine = TimedMachine(
        World({"reduce-overhead": 0.9995, "bf16-autocast": 1.01}), monkeypatch, 10
    )
    ended = tried(machine, tmp_path, 90)
    assert leader_of(ended).setting == ()


def test_the_leader_is_the_fastest_compiled_setting_where_eager_wins(monkeypatch, tmp_path):
    """Each was stopped as slower than eager, however much faster than the others."""
    factors = {"freezing=true": 0.8, "bf16-autocast": 0.7, "reduce-overhead": 1.2}
    machine = TimedMachine(World(factors, start_ns=5 * EAGER_NS), monkeypatch, 10)
    ended = tried(machine, tmp_path, 3000, levers=("freezing", "precision", "mode"))
    leader = leader_of(ended)
    assert {word for _, word in leader.setting} == {"freezing=true", "bf16-autocast"}
    assert leader.is_slower
    assert plain(headline(ended)).startswith(
        "eager is the fastest: default+freezing=true+bf16-autocast, the fastest that is compiled, "
        "takes 2.80× as long"
    )
    assert pasted(ended).startswith("# No torch.compile")


def test_a_start_that_does_not_run_holds_nothing_up(monkeypatch, tmp_path):
    """What stands beside it is held against nothing, and the fastest of it leads."""
    world = World(FACTORS, failing=("layout_optimization=false",))
    machine = TimedMachine(world, monkeypatch, 10, SLOW)
    ended = tried(machine, tmp_path, 90, start="default+layout_optimization=false")
    assert ended.trials[0].status == "failed"
    assert leader_of(ended).trial.variant == "reduce-overhead"
    assert effects(ended) == ()
    assert all(trial.realised_ns is None for trial in ended.trials)

"""The search on made-up timings: what it finds, what it spends, where it goes on after a kill."""

import itertools

import msgspec
import pytest

from profiler_core.analysis.experiment.choice import Choice, same, variant_of
from profiler_core.analysis.experiment.effects import effects, effects_on, worst
from profiler_core.analysis.experiment.leading import leader_of
from profiler_core.analysis.experiment.search import PER_CAPTURE, End, Plan, next_plan
from profiler_core.experiments.request import with_budget
from profiler_core.model.experiment import Batch, Gain, LeftOut, Ratio, Trial
from tests.analysis.experiment.worlds import World, asked, choices_of, searched

CHOICES = choices_of(
    "mode:reduce-overhead", "mode:max-autotune", "precision:bf16-autocast",
    "channels_last:channels_last", "freezing=true", "combo_kernels=true",
)  # fmt: skip


def best(experiment):
    return {word for _, word in leader_of(experiment).setting}


def test_the_start_is_captured_beside_the_baseline_first():
    assert next_plan(asked(), CHOICES) == Plan("start", ((),))


def test_winners_are_combined_and_losers_left_out():
    world = World(
        {"reduce-overhead": 0.8, "bf16-autocast": 0.7, "freezing=true": 0.9, "channels_last": 1.2}
    )
    ended, _ = searched(world, CHOICES, asked())
    assert best(ended) == {"reduce-overhead", "bf16-autocast", "freezing=true"}


def test_it_is_never_slower_than_a_plain_comparison_and_needs_fewer_captures_than_the_grid():
    plain = [
        (),
        (("mode", "reduce-overhead"),),
        (("mode", "max-autotune"),),
        (("precision", "bf16-autocast"), ("channels_last", "channels_last")),
    ]
    grid = 3 * 2**4
    speeds = (0.7, 1.0, 1.5)
    for factors in itertools.product(speeds, repeat=4):
        words = ("reduce-overhead", "max-autotune", "bf16-autocast", "channels_last")
        world = World(
            dict(zip(words, factors, strict=True)), {("bf16-autocast", "channels_last"): 0.6}
        )
        ended, _ = searched(world, CHOICES, asked())
        fastest = min(world.step_ns(setting) for setting in plain)
        assert world.step_ns(leader_of(ended).setting) <= fastest * 1.01
        assert len(ended.trials) < grid
        assert len(ended.batches) <= 12


def test_two_levers_that_win_only_together_are_found_among_the_known_settings():
    world = World({"bf16-autocast": 1.1, "channels_last": 1.3},
                  {("bf16-autocast", "channels_last"): 0.3})  # fmt: skip
    ended, _ = searched(world, CHOICES, asked())
    assert {"bf16-autocast", "channels_last"} <= best(ended)


def test_what_findings_predict_most_for_is_tried_first():
    gains = tuple(
        Gain(finding="f", title="", lever=lever, word=word, gain_ns=gain)
        for lever, word, gain in (
            ("freezing", "freezing=true", 5.0),
            ("combo_kernels", "combo_kernels=true", 9.0),
        )
    )
    _, made = searched(World({}), CHOICES, asked(gains=gains))
    assert [variant_of(setting) for setting in made[1][1].settings][:2] == [
        "default+combo_kernels=true",
        "default+freezing=true",
    ]


def test_every_state_says_what_comes_next_so_that_a_killed_search_goes_on():
    world = World({"reduce-overhead": 0.8, "freezing=true": 0.9, "bf16-autocast": 0.95})
    ended, made = searched(world, CHOICES, asked())
    for number, (before, plan) in enumerate(made):
        kept = msgspec.json.decode(msgspec.json.encode(before), type=type(before))
        assert next_plan(kept, CHOICES) == plan, number
    measured = [same(trial.setting) for batch in ended.batches for trial in batch.trials
                if batch.phase != "without one lever"]  # fmt: skip
    assert len(measured) == len(set(measured))


@pytest.mark.parametrize("budget_s", [25.0, 60.0, 100.0, 200.0, 400.0])
def test_no_capture_is_begun_that_the_budget_does_not_hold(budget_s):
    world = World({"reduce-overhead": 0.8, "bf16-autocast": 0.9, "freezing=true": 0.9})
    ended, made = searched(world, CHOICES, asked(budget_s=budget_s))
    assert ended.seconds <= budget_s
    assert made[-1][1] in (End("budget"), End("nothing left"))
    assert all(len(batch.trials) <= PER_CAPTURE for batch in ended.batches)


def test_a_capture_that_the_budget_cut_off_is_the_last_one():
    experiment, _ = searched(World({}), CHOICES, asked(budget_s=200.0))
    cut = msgspec.structs.replace(experiment.batches[-1], is_cut_off=True)
    experiment = msgspec.structs.replace(experiment, batches=(*experiment.batches[:-1], cut))
    assert next_plan(experiment, CHOICES) == End("budget")


def test_a_larger_budget_takes_up_what_was_cut_off():
    experiment, _ = searched(World({}), CHOICES, asked(budget_s=80.0))
    cut = msgspec.structs.replace(experiment.batches[-1], is_cut_off=True, trials=())
    experiment = msgspec.structs.replace(experiment, batches=(*experiment.batches[:-1], cut))
    assert next_plan(with_budget(experiment, 80.0), CHOICES) == End("budget")
    assert isinstance(next_plan(with_budget(experiment, 900.0), CHOICES), Plan)


def test_each_lever_of_the_leader_is_left_out_and_its_share_is_measured():
    factors = {"reduce-overhead": 0.8, "bf16-autocast": 0.5, "freezing=true": 0.9}
    ended, _ = searched(World(factors), CHOICES, asked())
    leader = leader_of(ended)
    measured = {e.word: e.ratio.ratio for e in effects_on(leader.setting, effects(ended))}
    assert measured == pytest.approx({word: 1 / factor for word, factor in factors.items()})


def test_a_planted_option_that_does_harm_is_named_and_dropped():
    start = (("layout_optimization", "layout_optimization=false"), ("freezing", "freezing=true"))
    world = World({"layout_optimization=false": 4.5, "freezing=true": 0.9})
    ended, _ = searched(world, CHOICES, asked(start=start))
    harmful = worst(effects(ended))
    assert harmful.word == "layout_optimization=false"
    assert harmful.ratio.inverse.ratio == pytest.approx(4.5)
    assert best(ended) == {"freezing=true"}


def test_a_setting_with_wrong_answers_does_not_lead():
    ended, _ = searched(World({"wrong": 0.1, "freezing=true": 0.9}),
                        choices_of("wrong", "freezing=true"), asked())  # fmt: skip
    assert best(ended) == {"freezing=true"}


def test_a_workload_that_fails_as_it_is_may_run_with_a_lever():
    choices = choices_of("combo_kernels=true", "freezing=true")
    ended, made = searched(World({"freezing=true": 0.9}, failing=("default",)), choices, asked())
    assert leader_of(ended).trial is not None
    nothing, _ = searched(World({}, failing=("default", "a", "b")), choices_of("a", "b"), asked())
    assert leader_of(nothing).is_baseline
    assert made[-1][1] == End("nothing left")


def test_what_cannot_be_told_alone_is_tried_together_at_the_end():
    factors = dict.fromkeys(("a", "b", "c", "d"), 0.993)
    ended, _ = searched(World(factors), choices_of("a", "b", "c", "d"), asked())
    assert best(ended) == {"a", "b", "c", "d"}


def test_words_that_do_not_go_together_are_not_captured():
    def is_possible(setting):
        return {word for _, word in setting} != {"freezing=true"}

    batch = World({}).captured(Plan("start", ((),)), 0)
    plan = next_plan(asked(batches=(batch,)), choices_of("freezing=true"), is_possible)
    assert plan == End("nothing left")


def test_nothing_is_faster_than_eager():
    ended, _ = searched(World({}, start_ns=3_000_000.0), CHOICES, asked())
    assert leader_of(ended).is_baseline


def test_a_trial_that_beats_eager_leads_where_the_leader_does_not():
    """It was not told from the leader, which was not told from eager: nothing seemed to pay off."""
    like_eager = Ratio(ratio=1.005, low=0.99, high=1.02)
    faster = Ratio(ratio=1.02, low=1.005, high=1.035)
    start = Trial(
        setting=(), variant="default", status="measured", step_ns=99.5, speedup=like_eager,
    )  # fmt: skip
    other = Trial(
        setting=(("freezing", "freezing=true"),), variant="default+freezing=true",
        status="measured", step_ns=98.0, speedup=faster, against=like_eager,
    )  # fmt: skip
    batches = (
        Batch(phase="start", capture_id="a", seconds=1.0, trials=(start,), baseline_ns=100.0),
        Batch(
            phase="one lever", capture_id="b", seconds=1.0, trials=(other,), reference=(),
            reference_trial=start, baseline_ns=100.0,
        ),
    )  # fmt: skip
    experiment = asked(batches=batches)
    leader = leader_of(experiment)
    assert (leader.setting, leader.is_baseline) == (other.setting, False)
    assert leader.batch is batches[1]
    alone = leader_of(msgspec.structs.replace(experiment, batches=batches[:1]))
    assert alone.is_baseline


def test_a_capture_that_findings_do_not_fill_holds_what_everybody_knows():
    """On an H200 two predicted settings went alone, and the budget was over before the next."""
    gain = Gain(finding="launch_bound", title="", lever="mode", word="reduce-overhead", gain_ns=1.0)
    _, made = searched(World({}), CHOICES, asked(gains=(gain,)))
    plan = made[1][1]
    assert [variant_of(setting) for setting in plan.settings] == [
        "reduce-overhead", "default+channels_last+bf16-autocast", "max-autotune",
    ]  # fmt: skip
    assert len(plan.settings) == PER_CAPTURE


TUNED = (
    ("mode", "max-autotune"),
    ("max_autotune_gemm", "max_autotune_gemm=true"),
    ("max_autotune_gemm", "max_autotune_gemm=true+max_autotune_gemm_backends=TRITON"),
)


def _after_graph_replay_won(budget_s=600.0, left_out=()):
    """Where `try resnet50` on an H200 stood after its second capture."""
    world = World({"reduce-overhead": 0.4, "combo_kernels=true": 1.2, "bf16-autocast": 1.5})
    start = world.captured(Plan("start", ((),)), 0)
    alone = tuple(((lever, word),) for lever, word in (
        ("mode", "reduce-overhead"), ("combo_kernels", "combo_kernels=true"),
        ("precision", "bf16-autocast"),
    ))  # fmt: skip
    second = msgspec.structs.replace(
        world.captured(Plan("one lever", alone, ()), 1), left_out=left_out
    )
    gains = tuple(
        Gain(finding="template_kernels", title="", lever=lever, word=word, gain_ns=9.0)
        for lever, word in TUNED
    )
    choices = (*CHOICES, *(Choice("max_autotune_gemm", word, 0.4) for _, word in TUNED[1:]))
    return asked(budget_s=budget_s, gains=gains, batches=(start, second)), choices


def test_what_compiles_for_minutes_comes_last_of_a_capture_and_never_twice_in_one():
    """On an H200 three of them went alone; the first compiled until the budget was over."""
    experiment, choices = _after_graph_replay_won()
    plan = next_plan(experiment, choices)
    assert [variant_of(setting) for setting in plan.settings] == [
        "default+channels_last+bf16-autocast", "reduce-overhead+channels_last", "max-autotune",
    ]  # fmt: skip


def test_what_did_not_compile_in_its_time_is_not_begun_again():
    left_out = (LeftOut(setting=(TUNED[0],), variant="max-autotune", seconds=150.0),)
    experiment, choices = _after_graph_replay_won(left_out=left_out)
    world = World({"reduce-overhead": 0.4})
    tried = []
    while isinstance(plan := next_plan(experiment, choices), Plan):
        tried += [variant_of(setting) for setting in plan.settings]
        batch = world.captured(plan, len(experiment.batches))
        experiment = msgspec.structs.replace(experiment, batches=(*experiment.batches, batch))
    assert "max-autotune" not in tried
    assert "reduce-overhead+max_autotune_gemm=true" in tried
    longer = with_budget(_after_graph_replay_won(left_out=left_out)[0], 3600.0)
    assert "max-autotune" in [variant_of(s) for s in next_plan(longer, choices).settings]


def test_from_a_setting_that_compiles_for_minutes_all_do_and_go_together():
    start = (("mode", "max-autotune"),)
    batch = World({}).captured(Plan("start", (start,)), 0)
    plan = next_plan(asked(start=start, batches=(batch,)), CHOICES)
    assert len(plan.settings) == PER_CAPTURE

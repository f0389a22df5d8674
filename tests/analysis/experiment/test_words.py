"""What a row of the trials says, beside what the headline says."""

from dataclasses import replace

import msgspec

from profiler_core.analysis.experiment.leading import leader_of
from profiler_core.analysis.rows.experiment import trials_table
from profiler_core.analysis.wording.experiment import (
    evidence,
    headline,
    interval,
    outcome,
    responsible,
)
from profiler_core.analysis.wording.sentence import plain
from profiler_core.capture.variant_spec import parse_variant
from profiler_core.experiments.pasted import command_with_enough_rounds, pasted
from profiler_core.model.experiment import Moved, Ratio
from tests.analysis.experiment.worlds import World, asked, choices_of, searched, with_few_rounds


def rows_of(experiment):
    table = trials_table(experiment, leader_of(experiment))
    return table.heads, [dict(zip(table.heads, row, strict=True)) for row in table.rows]


def test_time_is_said_in_minutes_and_nothing_tried_has_a_budget_alone():
    experiment, _ = searched(World({}, start_ns=3_000_000.0), (), asked())
    tried = msgspec.structs.replace(experiment, budget_s=1200.0)
    assert " of 20 min." in evidence(tried)
    untried = msgspec.structs.replace(tried, batches=(), ended_by="")
    assert evidence(untried) == "The budget is 20 min."


def test_a_setting_that_is_timed_once_more_without_a_lever_is_one():
    experiment, _ = searched(World({"freezing=true": 0.8}), choices_of("freezing=true"), asked())
    variants = [trial.variant for batch in experiment.batches for trial in batch.trials]
    again = msgspec.structs.replace(experiment, batches=experiment.batches * 2)
    assert evidence(again).startswith(f"{len(set(variants))} settings in ")


def test_a_first_capture_beyond_the_budget_is_told():
    experiment, _ = searched(World({}, start_ns=3_000_000.0), (), asked())
    first = experiment.batches[:1]
    beyond = msgspec.structs.replace(experiment, batches=first, ended_by="budget", budget_s=0.01)
    assert "The first capture took longer than the budget" in evidence(beyond)
    within = msgspec.structs.replace(beyond, budget_s=1e6)
    assert evidence(within).endswith(
        "The budget is spent; what was not tried by then was left out."
    )


def test_an_end_before_the_first_timing_says_nothing_of_the_settings():
    experiment, _ = searched(World({}, start_ns=3_000_000.0), (), asked())
    for ended_by, words in (
        ("", "Nothing is measured yet."),
        ("cancelled", "Nothing was measured."),
        ("budget", "Nothing was measured."),
        ("nothing to compare", "Nothing that was compiled ran."),
    ):
        empty = msgspec.structs.replace(experiment, batches=(), ended_by=ended_by)
        assert plain(headline(empty)) == words
        assert "is kept" not in evidence(empty)


def test_too_few_rounds_tell_no_fastest_setting():
    """ "default is the fastest." stood over 12.1 ms for eager's 5.92."""
    experiment, _ = searched(World({"freezing=true": 0.8}), choices_of("freezing=true"), asked())
    experiment = with_few_rounds(experiment)
    assert plain(headline(experiment)) == (
        "Whether anything is faster than eager cannot be told: 4 rounds of each are too few for "
        "an interval, which takes 5 or more."
    )
    _, rows = rows_of(experiment)
    assert rows[0]["Outcome"].text == "cannot be told from eager"
    assert rows[1]["Outcome"].text == "cannot be told from default"
    experiment = msgspec.structs.replace(
        experiment, words=("resnet50", "--rounds=4"), levers=("freezing",)
    )
    command = "fusionscope try resnet50 --budget=100000s --from=default --levers=freezing"
    assert command_with_enough_rounds(experiment) == command
    assert pasted(experiment) == (
        "# Nothing to take yet: an interval takes 5 rounds or more. Without --rounds\n"
        f"# 20 are timed:\n# {command}"
    )
    untimed = tuple(
        msgspec.structs.replace(batch, baseline_ns=None) for batch in experiment.batches
    )
    experiment = msgspec.structs.replace(experiment, batches=untimed)
    assert plain(headline(experiment)) == "default is the fastest so far."  # that runs at all


def test_no_row_is_the_fastest_where_eager_wins():
    world = World({}, start_ns=3_000_000.0)
    experiment, _ = searched(world, choices_of("freezing=true"), asked())
    finished = msgspec.structs.replace(experiment, state="finished")
    assert plain(headline(finished)) == (
        "eager is the fastest: default, the fastest that is compiled, takes 1.50× as long "
        "(1.49× to 1.52×)."
    )
    assert plain(headline(experiment)).startswith("eager is the fastest so far: default, ")
    texts = [row["Outcome"].text for row in rows_of(experiment)[1]]
    assert "the fastest compiled, slower than eager" in texts
    assert "the fastest" not in texts

    as_fast = World({}, start_ns=2_000_000.0)
    experiment, _ = searched(as_fast, (), asked())
    assert not leader_of(experiment).is_slower
    assert (
        outcome(experiment.trials[0], leader_of(experiment), "eager") == "cannot be told from eager"
    )
    for state, words in (("running", "tried so far is"), ("finished", "tried is faster than")):
        now = msgspec.structs.replace(experiment, state=state)
        assert words in plain(headline(now))


def test_an_outcome_says_what_it_was_held_against():
    """`default`, at 0.77 times the speed of eager, was "faster"."""
    world = World({"freezing=true": 0.8, "combo_kernels=true": 1.2}, start_ns=3_000_000.0)
    choices = choices_of("freezing=true", "combo_kernels=true")
    experiment, _ = searched(world, choices, asked())
    texts = [row["Outcome"].text for row in rows_of(experiment)[1]]
    assert "slower than default" in texts
    assert not {"faster", "slower", "cannot be told"} & set(texts)


def test_a_setting_has_one_name_however_its_words_came():
    """It was `default+bf16-autocast+freezing=true` beside `default+freezing=true+bf16-autocast`."""
    world = World({"freezing=true": 0.8, "bf16-autocast": 0.7, "combo_kernels=true": 1.2})
    choices = choices_of("bf16-autocast", "freezing=true", "combo_kernels=true")
    experiment, _ = searched(world, choices, asked())
    experiment = msgspec.structs.replace(
        experiment, batches=tuple(map(named_as_captured, experiment.batches))
    )
    names = {trial.variant for trial in experiment.trials}
    _, rows = rows_of(experiment)
    others = {row["Saved"].below[0].removeprefix("against ") for row in rows}
    assert any("bf16-autocast" in name and "freezing" in name for name in others)
    assert others <= {"eager", *names}
    outcomes = [row["Outcome"].text for row in rows if " than " in row["Outcome"].text]
    assert {text.partition(" than ")[2] for text in outcomes} <= {"eager", *names}
    beside = [text.rpartition(" than ")[2].partition(" (")[0] for text in responsible(experiment)]
    assert set(beside) <= names


def named_as_captured(batch):
    """With the labels of a capture's variants, whose words have an order of their own."""
    trials = tuple(
        msgspec.structs.replace(trial, variant=parse_variant(trial.variant).label)
        for trial in batch.trials
    )
    return msgspec.structs.replace(batch, trials=trials)


def test_a_row_says_whether_the_graph_breaks_went():
    choices = choices_of("capture_scalar_outputs=true")
    experiment, _ = searched(World({}), choices, asked())

    def breaks_with(after):
        batches = tuple(
            msgspec.structs.replace(
                batch,
                trials=tuple(
                    msgspec.structs.replace(trial, n_breaks=after if trial.setting else 2)
                    for trial in batch.trials
                ),
            )
            for batch in experiment.batches
        )
        _, rows = rows_of(msgspec.structs.replace(experiment, batches=batches))
        cells = [row["Graph breaks"] for row in rows[:2]]
        assert cells[0].text == "2"
        return (cells[1].text, *cells[1].below)

    assert breaks_with(2) == ("2 → 2", "stayed")
    assert breaks_with(1) == ("2 → 1", "1 gone")
    assert breaks_with(0) == ("2 → 0", "gone")
    assert breaks_with(3) == ("2 → 3", "1 more")
    assert "Graph breaks" not in rows_of(experiment)[0]


def test_nothing_that_ran_gives_no_advice():
    """A script was told that nothing was faster than its model where nothing had been timed."""
    experiment, _ = searched(World({}), (), asked())
    empty = msgspec.structs.replace(experiment, batches=(), ended_by="cancelled")
    assert pasted(empty) == "# Nothing was measured."


def test_the_row_of_the_fastest_has_the_headlines_speed_up_too():
    """The headline said 1.24×, of the last capture, and the row 1.37×, of the first."""
    experiment, _ = searched(World({"freezing=true": 0.8}), choices_of("freezing=true"), asked())
    leader = leader_of(experiment)
    (row,) = [t for t in experiment.trials if t.setting == leader.setting][:1]
    first = msgspec.structs.replace(row, speedup=Ratio(ratio=1.37, low=1.1, high=2.0))
    last = msgspec.structs.replace(row, speedup=Ratio(ratio=1.24, low=1.1, high=2.0))
    again = replace(leader, trial=last)
    assert outcome(first, again, "eager") == "the fastest, 1.24× when last timed"
    assert outcome(last, again, "eager") == "the fastest"


def test_an_interval_that_ends_at_its_ratio_says_what_decided():
    by_fastest = Ratio(ratio=2.8, low=2.8, high=6.77)
    assert interval(by_fastest) == "2.80× to 6.77×, by the fastest steps"
    assert interval(Ratio(ratio=2.8, low=2.7, high=6.77)) == "2.70× to 6.77×"


def test_a_setting_that_was_stopped_is_never_drawn_as_one_that_won():
    """It was faster than the one that led, and slower than another one of its capture."""
    world = World({"freezing=true": 0.8, "combo_kernels=true": 0.9})
    choices = choices_of("freezing=true", "combo_kernels=true")
    experiment, _ = searched(world, choices, asked())
    first, second, *later = experiment.batches
    lost = next(t for t in second.trials if "combo_kernels=true" in t.variant)
    assert lost.against.is_faster
    changed = tuple(
        msgspec.structs.replace(t, status="stopped early", n_rounds=5) if t is lost else t
        for t in second.trials
    )
    second = msgspec.structs.replace(second, trials=changed)
    experiment = msgspec.structs.replace(experiment, batches=(first, second, *later))
    _, rows = rows_of(experiment)
    row = next(row for row in rows if row["Outcome"].text.startswith("stopped after 5 rounds"))
    assert row["Outcome"].text.endswith("another is faster")
    assert row["Speed-up"].below[-1] == "of 5 rounds"
    assert {row["Outcome"].tone, row["Saved"].tone} == {"muted"}


def test_what_was_predicted_stands_beside_what_it_gave_before_the_rest():
    experiment, _ = searched(World({"freezing=true": 0.8}), choices_of("freezing=true"), asked())
    heads, rows = rows_of(experiment)
    assert heads[:4] == ("Setting", "Outcome", "Step", "Saved")
    assert rows[0]["Speed-up"].below == ("1.98× to 2.02×",)
    saved = [row["Saved"].text for row in rows]
    assert not any(text.startswith("+") for text in saved)  # beside changes, where + is slower


def test_what_a_trial_saves_says_against_which_setting():
    """Channels last saved 8.22 ms, against default, beside a speed-up of 0.84, against eager."""
    experiment, _ = searched(World({"freezing=true": 0.8}), choices_of("freezing=true"), asked())
    _, rows = rows_of(experiment)
    against = {row["Setting"].text: row["Saved"].below for row in rows if row["Saved"].below}
    assert against["default"] == ("against eager",)
    assert against["default+freezing=true"] == ("against default",)
    assert {row["Speed-up"].note for row in rows} == {"against eager, 95 % interval"}


def test_a_busy_host_is_said_in_the_headline():
    experiment, _ = searched(World({"freezing=true": 0.8}), choices_of("freezing=true"), asked())
    batches = tuple(
        msgspec.structs.replace(
            batch,
            trials=tuple(map(by_fastest_steps, batch.trials)),
            reference_trial=batch.reference_trial and by_fastest_steps(batch.reference_trial),
        )
        for batch in experiment.batches
    )
    assert not plain(headline(experiment)).startswith("On a busy host")
    experiment = msgspec.structs.replace(experiment, batches=batches)
    assert plain(headline(experiment)).startswith("On a busy host, default+freezing=true is the")


def by_fastest_steps(trial):
    low = trial.speedup.ratio
    return msgspec.structs.replace(trial, speedup=Ratio(ratio=low, low=low, high=2 * low))


def moved_cell(*names):
    """Of a trial whose groups of these names moved by a microsecond each."""
    experiment, _ = searched(World({}), (), asked())
    (batch,) = experiment.batches
    moved = tuple(Moved(title=name, delta_ns=-1000.0) for name in names)
    trial = msgspec.structs.replace(batch.trials[0], moved=moved)
    batch = msgspec.structs.replace(batch, trials=(trial,))
    _, rows = rows_of(msgspec.structs.replace(experiment, batches=(batch,)))
    return rows[0]["Change by group, profiled"]


def test_groups_that_moved_stand_below_each_other():
    cell = moved_cell("linear", "mul", "relu", "add")
    assert (cell.text, cell.below) == ("linear −1.00 µs", ("mul −1.00 µs", "relu −1.00 µs"))


def test_a_long_name_of_a_group_keeps_both_ends_and_is_whole_in_the_note():
    name = "graph_2_cpp_fused_gelu_0 + graph_0_cpp_fused_abs_mean_0"
    cell = moved_cell(name)
    assert cell.text == "graph_2_cpp_…_abs_mean_0 −1.00 µs"
    assert cell.note == f"{name} −1.00 µs"

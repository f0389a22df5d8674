from pathlib import Path

import pytest

from profiler_core.analysis.run_labels import (
    Labelled,
    names_together,
    own_name,
    run_facts,
    run_labels,
    short_variants,
)
from profiler_core.model.run import Compiled, Measurement, RunRecord


@pytest.mark.parametrize(
    ("variants", "short"),
    [
        (["eager+bf16-autocast+channels_last", "default+bf16-autocast+channels_last"],
         ("eager", "default")),
        (["eager+bf16", "default+bf16+dynamic"], ("eager", "default+dynamic")),
        (["eager", "default+bf16"], ("eager", "default+bf16")),
        (["default+bf16"], ("default+bf16",)),
        (["a+b", "a+b"], ("a", "a")),
        (["eager+x+y", "eager+y+x"], ("eager+x+y", "eager+y+x")),
        ([], ()),
    ],
)  # fmt: skip
def test_options_that_all_share_are_left_out(variants, short):
    assert short_variants(variants) == short


def test_the_facts_name_each_option_once():
    record = RunRecord(
        workload="resnet50",
        variant="eager+bf16-autocast+channels_last+dynamic",
        spec={"training": False, "precision": "bf16-autocast", "channels_last": True},
        environment={"gpu": "NVIDIA H200", "torch": "2.11.0+cu130"},
    )
    assert run_facts(record) == [
        "resnet50", "inference", "bf16-autocast", "channels_last", "dynamic", "NVIDIA H200",
        "torch 2.11.0",
    ]  # fmt: skip


def test_a_plus_in_the_name_of_an_upload_is_no_option():
    assert run_facts(RunRecord(name="a", variant="mine+yours")) == ["a"]


def compiled_run(variant, **compiled):
    measurement = Measurement(compiled=Compiled(**compiled) if compiled else None)
    return RunRecord(variant=variant, workload="net", spec={"mode": 1}, measurement=measurement)


@pytest.mark.parametrize(
    ("variant", "compiled", "label"),
    [
        ("default", {"where": "whole"}, "default"),
        ("default+target=blocks", {"target": ("blocks",), "where": "modules",
         "modules": ("a.0", "a.1")}, "default, 2 blocks"),
        ("default+bf16+target=a.*", {"target": ("a.*",), "where": "modules",
         "modules": ("a.0", "a.1")}, "default+bf16, 2 modules"),
        ("default+target=head", {"target": ("head",), "where": "modules", "modules": ("head",)},
         "default, head"),
        ("default+target=loss:optimizer", {"target": ("loss", "optimizer"), "where": "loss",
         "optimizer": True}, "default, forward, loss and optimizer"),
        ("default+target=optimizer", {"target": ("optimizer",), "optimizer": True},
         "default, model and optimizer"),
        ("default", {"where": "step"}, "default, whole step"),
        ("default", {"where": "as-is"}, "default, where its function says"),
        ("as-is", {"target": ("as-is",), "where": "as-is"}, "as-is"),
        ("default+target=blocks", {}, "default+target=blocks"),
        ("eager", {}, "eager"),
    ],
)  # fmt: skip
def test_a_run_says_what_it_compiled(variant, compiled, label):
    assert own_name(compiled_run(variant, **compiled), Path("x")) == label


def test_labels_beside_each_other_say_what_each_compiled():
    blocks = {"target": ("blocks",), "where": "modules", "modules": ("a.0", "a.1")}
    runs = [
        compiled_run("eager+bf16"),
        compiled_run("default+bf16", where="whole"),
        compiled_run("default+bf16+target=blocks", **blocks),
    ]
    labelled = [Labelled(run, Path("x"), str(n)) for n, run in enumerate(runs)]
    assert run_labels(labelled) == ("eager", "default", "default, 2 blocks")


def test_what_all_functions_say_themselves_tells_no_run_from_another():
    """Else: "faulty, default, where its function says is slower than repaired, default, …"."""
    runs = [compiled_run(variant, where="as-is") for variant in ("default", "reduce-overhead")]
    labelled = [Labelled(run, Path("x"), str(n)) for n, run in enumerate(runs)]
    assert run_labels(labelled) == ("default", "reduce-overhead")
    assert run_labels(labelled[:1]) == ("default, where its function says",)
    beside_eager = [Labelled(compiled_run("eager"), Path("x"), "2"), labelled[0]]
    assert run_labels(beside_eager) == ("eager", "default, where its function says")


def two(folders=("a", "b"), names=("eager", "eager"), **differing):
    """Labels of two runs of one variant that differ in this alone."""
    runs = []
    for number in (0, 1):
        record = {"variant": "eager", "workload": "mlp", "name": "mlp eager"}
        record |= {key: values[number] for key, values in differing.items()}
        path = Path("/x", folders[number], names[number])
        runs.append(Labelled(RunRecord(**record), path, str(path)))
    return run_labels(runs)


SAME = ("runs", "runs")


def test_one_variant_twice_is_named_by_what_differs():
    commits = tuple({"git_commit": c * 40, "git_dirty": c == "b"} for c in "ab")
    assert two(environment=commits) == (
        "eager, commit aaaaaaa", "eager, commit bbbbbbb with changes",
    )  # fmt: skip
    versions = ({"torch": "2.11.0"}, {"torch": "2.15.0"})
    assert two(environment=versions) == ("eager, torch 2.11.0", "eager, torch 2.15.0")
    assert two(spec=({"seed": 0}, {"seed": 1})) == ("eager, seed 0", "eager, seed 1")
    assert two(("before", "after")) == ("before/eager", "after/eager")
    made = ("2026-11-22T15:39:01Z", "2026-11-22T15:41:00Z")
    assert two(SAME, ("1539-mlp", "1541-mlp"), created_at=made) == (
        "eager, 22 Nov 2026, 15:39 UTC", "eager, 22 Nov 2026, 15:41 UTC",
    )  # fmt: skip


def test_two_versions_in_turns_are_named_by_version():
    specs = ({"version": "main", "is_against": True}, {"version": "HEAD", "is_against": False})
    names = ("mlp main, eager", "mlp HEAD, eager")
    assert two(spec=specs, name=names) == ("main, eager", "HEAD, eager")


def test_two_runs_are_never_called_the_same():
    made = ("2026-11-22T15:39:01Z", "2026-11-22T15:39:40Z")
    assert two(SAME, created_at=made)[0] == "eager, 22 Nov 2026, 15:39:01 UTC"
    assert two(SAME, ("1", "2")) == ("runs/1", "runs/2")
    assert len(set(two(("x/runs", "y/runs")))) == 2


@pytest.mark.parametrize(
    ("mode", "fact"),
    [("training", ["training"]), ("unknown", []), (None, ["inference"])],
)
def test_the_facts_say_what_the_steps_did_before_what_was_asked_for(mode, fact):
    # Accelerate's loop is a callable: nobody asks for its training, and it trains.
    record = RunRecord(
        workload="loop.py", spec={"training": False}, measurement=Measurement(mode=mode)
    )
    assert run_facts(record) == ["loop.py", *fact]


def test_the_facts_say_what_one_step_handles():
    measurement = Measurement(batches_per_step=4, tokens_per_step=64)
    facts = run_facts(RunRecord(workload="gpt", measurement=measurement))
    assert facts == ["gpt", "4 batches per step", "64 tokens per step"]


@pytest.mark.parametrize(
    ("names", "together"),
    [
        (["eager", "compiled"], "eager and compiled"),
        (["my_model_eager.json", "my_model_compiled.json"], "my_model"),
        (["1", "2", "3"], "1, 2 and 3"),  # the third file was in no title
        (["1", "2", "3", "4"], "1, 2 and 2 more"),
        (["bert", "bert"], "bert"),
        (["bert"], "bert"),
        ([], ""),
    ],
)
def test_runs_of_several_files_have_one_name(names, together):
    assert names_together(names) == together

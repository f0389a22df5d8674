"""Which ranges are taken for the steps, by the stated rule and by the user's word."""

import polars as pl
import pytest

from profiler_core.errors import BadInput
from profiler_core.ingest.nsight_systems.choice import Choice
from profiler_core.ingest.nsight_systems.reader import read_nsight_systems
from profiler_core.ingest.nsight_systems.steps import _matches
from profiler_core.model.trace import RECORDING
from tests.builders import find_window
from tests.ingest.nsight_systems.build import AUTOGRAD, Export


def steps_of(path, choice=None):
    trace = read_nsight_systems(path, choice or Choice())
    return trace.metadata[RECORDING]["steps"], [s.name for s in find_window(trace).steps]


def a_recording(*texts, n=3, tid=None, **more):
    """Each text once a turn, one after the other, with a launch in each."""
    export = Export()
    for turn in range(n):
        for place, text in enumerate(texts):
            at = 10_000 + turn * 1_000_000 + place * 100_000
            thread = {} if tid is None else {"tid": tid}
            export.push(at, at + 50_000, text.replace("N", str(turn)), **thread, **more)
            export.launch(at + 1_000, "k", **thread)
    return export


@pytest.mark.parametrize(
    ("text", "label", "first"),
    [
        ("step N", "step #", "ProfilerStep#0"),
        ("iteration N of 100", "iteration # of #", "ProfilerStep#0"),
        ("ProfilerStep#N", "ProfilerStep##", "ProfilerStep#0"),
        ("Iteration", "Iteration", "ProfilerStep#0"),
        ("train_step", "train_step", "ProfilerStep#0"),
        ("trainStep, op_id = 1N", "trainStep", "ProfilerStep#0"),
        ("batch N", "batch #", "ProfilerStep#0"),
        ("anything", "anything", "ProfilerStep#0"),
    ],
)
def test_ranges_that_repeat_on_the_launching_thread_are_steps(tmp_path, text, label, first):
    found, names = steps_of(a_recording(text).write(tmp_path / "r.sqlite"))
    assert found == label
    assert names[0] == first
    assert len(names) == 3


def test_a_steps_own_number_is_kept_where_each_has_another(tmp_path):
    export = Export()
    for n in (17, 18, 19):
        export.push(n * 1_000, n * 1_000 + 900, f"epoch 3, step {n}")
        export.launch(n * 1_000 + 10, "k")
    _, names = steps_of(export.write(tmp_path / "r.sqlite"))
    assert names == ["ProfilerStep#17", "ProfilerStep#18", "ProfilerStep#19"]


def test_a_word_for_a_step_goes_before_what_lies_around_or_repeats_more(tmp_path):
    export = a_recording("forward", "step N", "forward", "backward")
    export.push(0, 50_000_000, "epoch 0")
    export.push(60_000_000, 60_000_100, "epoch 1")
    assert steps_of(export.write(tmp_path / "r.sqlite"))[0] == "step #"


def test_without_such_a_word_the_most_repeated_of_the_outermost_is_taken(tmp_path):
    export = a_recording("load", "forward", "forward")
    for turn in range(3):
        for n in range(9):
            at = 10_000 + turn * 1_000_000 + 100_000 + n * 1_000
            export.push(at, at + 900, "layer")
    assert steps_of(export.write(tmp_path / "r.sqlite"))[0] == "forward"


def test_of_equally_many_the_one_that_starts_first_begins_the_step(tmp_path):
    found, names = steps_of(a_recording("load", "forward", "backward").write(tmp_path / "r.sqlite"))
    assert (found, len(names)) == ("load", 3)


@pytest.mark.parametrize(
    "text",
    [
        "aten::mm, seq = 1N, op_id = 2N",  # an operator
        "AllToAll4D, seq = 7N",  # a function of autograd
        "FSDP::pre_forward (layer.N), op_id = 3N",  # torch's own annotation
        "Optimizer.step#Adam.step, op_id = 3N",  # a part of a step
    ],
)
def test_what_torch_records_by_itself_is_no_step(tmp_path, text):
    found, names = steps_of(a_recording(text).write(tmp_path / "r.sqlite"))
    assert (found, names) == (None, [])


def test_a_librarys_domain_is_no_step_but_may_be_asked_for(tmp_path):
    path = a_recording("MPI_Send", domainId=1).write(tmp_path / "r.sqlite")
    assert steps_of(path)[0] is None
    assert steps_of(path, Choice("MPI_Send"))[0] == "MPI_Send"


def test_a_thread_that_launches_nothing_has_no_steps(tmp_path):
    export = Export()
    for n in range(3):
        export.push(n * 1_000, n * 1_000 + 500, f"step {n}", tid=77)
        export.launch(n * 1_000 + 10, "k")
    assert steps_of(export.write(tmp_path / "r.sqlite"))[0] is None


def test_steps_may_lie_on_the_thread_that_launches_less(tmp_path):
    export = a_recording("step N")
    for n in range(50):
        export.launch(20_000 + n * 1_000, "backward", tid=AUTOGRAD)
    assert steps_of(export.write(tmp_path / "r.sqlite"))[0] == "step #"


@pytest.mark.parametrize("asked", ["forward", "forw*", "backward 7", "backward #"])
def test_the_user_may_name_others(tmp_path, asked):
    path = a_recording("step N", "forward", "backward N").write(tmp_path / "r.sqlite")
    found, names = steps_of(path, Choice(asked))
    assert found in ("forward", "backward #")
    assert len(names) == 3


def test_a_name_that_is_not_there_is_answered_with_those_that_are(tmp_path):
    path = a_recording("step N", "forward", "forward").write(tmp_path / "r.sqlite")
    with pytest.raises(BadInput, match=r"No NVTX range of r\.sqlite is called 'stap'") as problem:
        read_nsight_systems(path, Choice("stap"))
    assert "'forward' (6 times), 'step #' (3 times)" in problem.value.remedy


def test_ranges_that_became_steps_are_there_once(tmp_path):
    trace = read_nsight_systems(a_recording("step N").write(tmp_path / "r.sqlite"))
    assert trace.annotations["name"].cast(pl.String).to_list() == [
        f"ProfilerStep#{n}" for n in range(3)
    ]


@pytest.mark.parametrize(
    ("pattern", "label", "fits"),
    [
        ("step", "step", True), ("step", "steps", False), ("*", "", True), ("a*", "ab", True),
        ("*b", "ab", True), ("a*c", "ac", True), ("a*a", "a", False), ("a**b", "axb", True),
        ("a*b*c", "a-b-b-c", True), ("a*b*c", "a-c-b", False), ("a.c", "abc", False),
        ("*" * 200 + "x", "a" * 10_000, False), ("*a" * 200 + "b", "a" * 10_000, False),
    ],
)  # fmt: skip
def test_a_star_is_anything_and_takes_one_walk_along_the_label(pattern, label, fits):
    """As a regular expression, the last two would take longer than anybody lives."""
    assert _matches(label, pattern) is fits

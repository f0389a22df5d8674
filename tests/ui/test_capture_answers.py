"""The capture form: answers become a spec, and each wrong one gets a sentence of its own."""

import pytest

from profiler_core.ui.capture.answers import Answers, check


def labels(answers: Answers) -> list[str]:
    spec = check(answers).spec
    assert spec is not None
    return [variant.label for variant in spec.variants]


def test_the_first_form_is_the_shortest_command_line() -> None:
    spec = check(Answers()).spec
    assert spec is not None
    assert spec.to_argv() == ["customcnn", "--variants", "eager,default"]


def test_modifiers_go_to_the_variants_that_they_make_sense_for() -> None:
    answers = Answers(
        bases=("eager", "default", "torchscript", "aot_eager"),
        precision="bf16-autocast",
        channels_last=True,
        dynamic="Dynamic",
        fullgraph=True,
    )
    everywhere = "bf16-autocast+channels_last"
    assert labels(answers) == [
        f"eager+{everywhere}",
        f"default+dynamic+fullgraph+{everywhere}",
        f"torchscript+{everywhere}",
        f"aot_eager+dynamic+fullgraph+{everywhere}",
    ]


def test_typed_variants_stay_as_they_are_typed() -> None:
    answers = Answers(bases=("eager",), precision="tf32", further_variants="default+fp16, eager")
    assert labels(answers) == ["eager+tf32", "default+fp16", "eager"]


def test_every_wrong_field_is_said_at_once() -> None:
    checked = check(
        Answers(workload="no such model", bases=("eager",), shapes="8x?", options="layers")
    )
    assert checked.spec is None
    assert set(checked.problems) == {"workload", "bases", "shapes", "options"}


@pytest.mark.parametrize(
    ("answers", "field", "words"),
    [
        (Answers(workload=""), "workload", "No model is named."),
        (Answers(kind="My own code", workload=" "), "workload", "Which function makes the model?"),
        (Answers(bases=()), "bases", "No variant is given."),
        (Answers(bases=("eager",)), "bases", "One variant alone"),
        (Answers(bases=("eager", "eager")), "bases", "given twice"),
        (Answers(further_variants="fastest"), "bases", "begins with 'fastest'"),
        (Answers(compile_target="a b"), "compile_target", "'a b' cannot be read"),
        (
            Answers(compile_target="whole", further_variants="default+target=whole"),
            "compile_target",
            "given twice",
        ),
        (Answers(batch_size=4, shapes="8x3"), "shapes", "Both a batch size and whole input shapes"),
        (Answers(device="shape"), "measuring", "Device 'shape' is unknown"),
        (Answers(measuring=(("rounds", 0),)), "measuring", "--rounds is 0."),
    ],
)
def test_the_sentence_stands_beside_its_field(answers: Answers, field: str, words: str) -> None:
    checked = check(answers)
    assert checked.spec is None and words in checked.problems[field].problem


def test_a_training_loop_is_not_asked_to_train_twice() -> None:
    spec = check(Answers(workload="simplecnn", training=True)).spec
    assert spec is not None and spec.trains and "--training" not in spec.to_argv()


def test_options_of_a_backend_are_words_of_its_variant():
    told = Answers(
        bases=("eager", "openvino", "tensorrt"),
        backend_options=(("openvino", "device=CPU  config.NUM_STREAMS=2"), ("tensorrt", "")),
        precision="bf16",
    )
    spec = check(told).spec
    assert [variant.label for variant in spec.variants] == [
        "eager+bf16",
        "openvino+device=CPU+config.NUM_STREAMS=2+bf16",
        "tensorrt+bf16",
    ]
    assert spec.variants[1].to_dict()["backend_options"] == {
        "device": "CPU",
        "config": {"NUM_STREAMS": 2},
    }


@pytest.mark.parametrize("text", ["device", "device=CPU,eager", "device=CPU+fullgraph", "nope=1"])
def test_an_option_that_cannot_be_used_has_its_sentence_at_the_variants(text):
    told = Answers(bases=("eager", "openvino"), backend_options=(("openvino", text),))
    assert "bases" in check(told).problems

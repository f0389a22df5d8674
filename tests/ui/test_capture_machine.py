"""What the capture page makes of doctor's answer about an environment."""

import msgspec
import pytest

from profiler_core.ui.capture.answers import Answers, check
from profiler_core.ui.capture.form import _TORCHVISION, _torchvision_models, _with_environment
from profiler_core.ui.capture.machine import Machine, _card


def a_machine(**fields):
    """As it comes from doctor, keys that the page does not know included."""
    facts = {"torch": "2.6.0", "torchvision": "0.21.0", "gpus": [], **fields.pop("facts", {})}
    plain = {"schema": 1, "can_capture": True, "facts": facts, "findings": [], **fields}
    return msgspec.json.decode(msgspec.json.encode(plain), type=Machine)


def finding(key, state, detail="detail", remedy="Do it."):
    what = key.replace("_", " ")
    return {"key": key, "what": what, "state": state, "detail": detail, "remedy": remedy}


def problems(machine, kind="Built-in", workload="customcnn"):
    checked = _with_environment(
        check(Answers(kind=kind, workload=workload)), machine, kind, workload
    )
    assert (checked.spec is None) == bool(checked.problems)
    return {name: str(problem) for name, problem in checked.problems.items()}


def test_an_interpreter_that_cannot_be_used_is_said_at_its_field_in_the_pages_words():
    said = finding(
        "torch", "no", "torch is not installed", "Install torch there, or pass --python X."
    )
    machine = a_machine(can_capture=False, facts={"torchvision": None}, findings=[said])
    for kind in ("Built-in", "torchvision"):
        assert problems(machine, kind, "resnet18") == {
            "python": "torch is not installed. Name the folder of an environment that holds torch "
            "2.1 or newer."
        }
    assert _card(machine) == "<p class=fs-note>Nothing can be captured with it.</p>"


@pytest.mark.parametrize(
    ("facts", "words"),
    [
        ({"torchvision": None}, "torchvision is not installed in this environment."),
        ({"torchvision_found": {"models": [], "problem": "RuntimeError: no operator nms"}},
         "torchvision 0.21.0 cannot be imported in this environment: RuntimeError: no operator"),
    ],
)  # fmt: skip
def test_without_torchvision_its_models_are_not_offered(facts, words):
    machine = a_machine(facts=facts)
    assert words in problems(machine, "torchvision", "resnet18")["workload"]
    assert problems(machine, "Built-in", "customcnn") == {}


def test_a_built_in_workload_whose_package_is_missing_says_so():
    machine = a_machine(findings=[finding("workload_bert", "no", "transformers is not installed")])
    assert problems(machine, "Built-in", "bert") == {
        "workload": "bert: transformers is not installed. Do it."
    }
    assert problems(machine, "Built-in", "unet") == {}


def test_the_models_are_those_of_the_environment_the_usual_ones_first():
    models = ["alexnet", "resnet18", "vit_b_16"]
    machine = a_machine(facts={"torchvision_found": {"models": models, "problem": None}})
    assert _torchvision_models(machine) == ("resnet18", "vit_b_16", "alexnet")
    assert _torchvision_models(None) == _torchvision_models(a_machine()) == _TORCHVISION


def test_the_card_says_what_is_offered_and_folds_what_is_lost():
    card = _card(
        a_machine(
            findings=[
                finding("torch", "yes", "2.1.2, Python 3.8"),
                finding("trace", "yes"),
                finding("memory", "yes"),
                finding("structured_log", "no", "writes no <log>"),
                finding("compile_logs", "partly", "some"),
                finding("workload_bert", "no"),
                finding("backends", "no"),
            ]
        )
    )
    assert "<b>offers</b> trace, memory" in card
    assert "without <b>structured log</b></summary>writes no &lt;log&gt;. Do it." in card
    assert "in part: <b>compile logs</b>" in card
    assert "bert" not in card

"""What the second process of a variant is asked, and what becomes of its answers."""

from pathlib import Path

import pytest

from profiler_core.capture.process import ChildFailure
from profiler_core.capture.run_writer import RunWriter
from profiler_core.capture.second_process import SecondProcess, questions

RIGHT = {"verdict": "right", "reason": "", "rms_error": 0.0, "tolerance": 1.0}
ANSWERS = {"first_call": {"first_call_ns": 7}, "capture_graphs": {"note": "one graph"},
           "compare": RIGHT}  # fmt: skip


class MadeUpChild:
    """Answers in the order in which it was asked."""

    def __init__(self, dies_at=None):
        self.told = []
        self._dies_at = dies_at

    def tell(self, command, **fields):
        self.told.append(command)

    def answers(self):
        command = self.told.pop(0)
        if command == self._dies_at:
            raise ChildFailure("killed", "It was killed.", "Free memory.")
        return [ANSWERS.get(command, {})]


def kept(tmp_path, asked, child):
    writer = RunWriter(tmp_path, {})
    said = []
    second = SecondProcess(child, asked)
    before = list(child.told)
    second.finish(writer, lambda phase, text: said.append((phase, text)), "default")
    return writer, before, said


ALL = {"warm": True, "graphs": Path("graphs"), "reference": Path("reference.pt")}


def test_it_is_asked_everything_before_anything_is_answered(tmp_path):
    asked = questions(**ALL)
    writer, before, said = kept(tmp_path, asked, MadeUpChild())
    assert before == [
        "load", "watch_graphs", "build", "first_call", "capture_graphs", "compare",
    ]  # fmt: skip
    assert writer.measurement["warm_first_call_ns"] == 7
    assert writer.measurement["notes"] == ["one graph"]
    assert writer.record["numerics"] == RIGHT
    assert set(writer.measurement["phase_seconds"]) == {
        "warm compile", "graph captures", "numerics",
    }  # fmt: skip
    assert said == [("numerics", "Checks the answers of default")]


@pytest.mark.parametrize("dies_at", ["load", "first_call", "compare"])
def test_where_it_dies_the_answers_are_not_comparable(tmp_path, dies_at):
    writer, _, said = kept(tmp_path, questions(**ALL), MadeUpChild(dies_at))
    assert writer.record["numerics"] == {
        "verdict": "not comparable", "reason": "It was killed. Free memory.",
    }  # fmt: skip
    assert said[-1][1] == "default: It was killed. Free memory."


def test_a_first_call_that_only_serves_the_graphs_is_no_warm_one(tmp_path):
    asked = questions(warm=False, graphs=Path("graphs"), reference=None)
    writer, _, _ = kept(tmp_path, asked, MadeUpChild())
    assert "warm_first_call_ns" not in writer.measurement
    assert writer.record["numerics"] is None


def test_without_a_question_there_is_none():
    assert questions(warm=False, graphs=None, reference=None) == ()

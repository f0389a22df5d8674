"""`try --patch`: a real pair of captures, one of which has a graph break less."""

import difflib
import json

import pytest

from profiler_core.cli.main import main
from tests.quick_python import QUICK_COMPILER

pytestmark = pytest.mark.torch

MODEL = """
import time
import torch

class Net(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.first, self.second = torch.nn.Linear(8, 8), torch.nn.Linear(8, 8)

    def forward(self, x):
        x = torch.relu(self.first(x))
        time.sleep(0.004)
        return self.second(x)

def build():
    torch.manual_seed(0)
    return Net().eval(), (torch.randn(4, 8),)
"""
REPAIRED = MODEL.replace("        time.sleep(0.004)\n", "")
QUICK = ("--rounds", "10", "--round-steps", "5", "--round-seconds", "0", "--steps", "3",
         "--no-memory", "--device", "cpu", "--json")  # fmt: skip


def tried(tmp_path, capsys, quick_python, changed):
    file = tmp_path / "project" / "model.py"
    file.parent.mkdir()
    file.write_text(MODEL)
    patch = tmp_path / "change.diff"
    lines = difflib.unified_diff(
        MODEL.splitlines(True), changed.splitlines(True), "a/model.py", "b/model.py"
    )
    patch.write_text("".join(lines))
    words = ["try", f"{file}:build", "--patch", str(patch), "--python", str(quick_python)]
    status = main([*words, *QUICK, "--out", str(tmp_path / "runs")])
    assert file.read_text() == MODEL
    return status, json.loads(capsys.readouterr().out)


@pytest.mark.timeout(600)
def test_a_patch_that_removes_a_graph_break_is_judged_in_one_answer(
    tmp_path, capsys, quick_python, monkeypatch
):
    monkeypatch.setenv("FUSIONSCOPE_HOME", str(tmp_path / "home"))
    for name, value in QUICK_COMPILER.items():
        monkeypatch.setenv(name, value)
    status, answer = tried(tmp_path, capsys, quick_python, REPAIRED)
    assert answer["speedup"]["ratio"] > 1
    assert "graph_breaks" in {solved["finding"] for solved in answer["solved"]}
    assert (answer["outcome"], answer["numerics"], status) == ("faster", "right", 0)
    assert answer["gate"]["outcome"] == "pass"
    assert answer["realised_ns"] > 2e6


def test_what_does_not_go_with_a_patch_is_refused(tmp_path, capsys):
    words = ["try", "model.py:build", "--patch", "p.diff"]
    assert main([*words, "--budget", "5m"]) == 2
    assert "it takes no levers, no budget" in capsys.readouterr().err
    assert main(["try", "customcnn", "--patch", "p.diff"]) == 2
    assert "is built in" in capsys.readouterr().err

"""The pytest plugin under pytest itself, on real torch: what it catches, and where it is quiet.

All tests that it is tried on run in one session, in a process where of what Fusionscope needs only
its core and torch can be imported.
"""

import ast
import json
import os
import re
import subprocess
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from xml.etree import ElementTree

import pytest
from packaging.requirements import Requirement

from tests.quick_python import QUICK_COMPILER
from tests.requirements import sections

ROOT = Path(__file__).resolve().parents[2]

MODELS = """
import torch
from torch import nn

class Clean(nn.Module):
    def __init__(self):
        super().__init__()
        self.first, self.second = nn.Linear(16, 16), nn.Linear(16, 16)

    def forward(self, x):
        return torch.nn.functional.gelu(self.second(torch.relu(self.first(x)))) + 1

class Broken(Clean):
    def forward(self, x):
        x = torch.relu(self.first(x))
        print("half way")
        return self.second(x) + 1

class Loops(Clean):
    def forward(self, x):
        for layer in (self.first, self.second):
            torch._dynamo.graph_break()
            x = layer(x)
        return x

class Apart(Clean):
    def forward(self, x):
        x = torch.nn.functional.gelu(self.second(torch.relu(self.first(x))))
        torch._dynamo.graph_break()
        return x + 1

INPUT = torch.randn(8, 16)

def work(n):
    for _ in range(n):  # not until a time has come: other work on the machine would hide in it
        pass
"""


TESTS = """
import random
from types import SimpleNamespace
import pytest, torch
from models import *
from profiler_core.testing import timing

eager = pytest.mark.fusionscope(backend="eager")

def test_clean(fusionscope):
    fusionscope.assert_no_graph_breaks(Clean(), INPUT)

def test_broken(fusionscope):
    fusionscope.assert_no_graph_breaks(torch.compile(Broken()), INPUT)

def test_loops(fusionscope):
    fusionscope.assert_no_graph_breaks(Loops(), INPUT)

@pytest.mark.fusionscope(backend="no such backend")
def test_broken_without_a_recording(fusionscope):
    fusionscope.assert_no_graph_breaks(Broken(), INPUT)

def test_an_error_of_the_model(fusionscope):
    fusionscope.assert_no_graph_breaks(Clean(), torch.randn(3, 3))

@eager
def test_one_shape(fusionscope):
    fusionscope.assert_no_recompiles(Clean(), (8, 16), INPUT, (INPUT,))

@eager
def test_shapes(fusionscope):
    fusionscope.assert_no_recompiles(Clean(), (8, 16), (4, 16), (2, 16))

@eager
def test_dynamic(fusionscope):
    fusionscope.assert_no_recompiles(Clean(), (8, 16), (4, 16), (2, 16), dynamic=True)

@eager
def test_warmed_up(fusionscope):
    fusionscope.assert_no_recompiles(Clean(), (8, 16), (4, 16), (2, 16), warm_up=2)

@pytest.fixture
def clock(monkeypatch):
    # A callable takes the time that it returns, ns, with some noise.
    clock, drawn = SimpleNamespace(spread=0.01), random.Random(0)
    monkeypatch.setattr(
        timing, "_timed",
        lambda side, inputs, n: round(n * side(*inputs) * drawn.lognormvariate(0, clock.spread)),
    )
    return clock

def test_equal(fusionscope, clock):
    fusionscope.assert_not_slower(lambda: 10**6, lambda: 10**6)

def test_slower(fusionscope, clock):
    fusionscope.assert_not_slower(lambda: 10**6, lambda: 1_200_000)

@pytest.mark.fusionscope(by=0.3)
def test_allowed(fusionscope, clock):
    fusionscope.assert_not_slower(lambda: 10**6, lambda: 1_200_000)

def test_noisy(fusionscope, clock):
    clock.spread = 3.0
    fusionscope.assert_not_slower(lambda: 10**6, lambda: 10**6, by="+0.1%", seconds=0.1)

@pytest.fixture
def short(monkeypatch):
    monkeypatch.setattr(timing, "_SLICES", 8)

def test_really_faster(fusionscope, short):
    fusionscope.assert_not_slower(lambda n: work(4 * n), work, 20_000)

@pytest.mark.fusionscope(by="+10%")
def test_really_slower(fusionscope, short):
    fusionscope.assert_not_slower(work, lambda n: work(4 * n), 20_000)

def test_compiling_while_timed(fusionscope):
    shapes = iter(range(2, 10**6))
    compiled = torch.compile(torch.relu, backend="eager", dynamic=False)
    fusionscope.assert_not_slower(lambda: None, lambda: compiled(torch.ones(next(shapes))))

def test_written(fusionscope):
    fusionscope.assert_stays_fused(Clean(), INPUT, name="groups")

def test_fused(fusionscope, request):
    fusionscope._writes_snapshots, fusionscope._test = False, "test_written"
    fusionscope.assert_stays_fused(Clean(), INPUT, name="groups")

def test_apart(fusionscope):
    fusionscope._writes_snapshots, fusionscope._test = False, "test_written"
    fusionscope.assert_stays_fused(Apart(), INPUT, name="groups")

def test_not_written(fusionscope):
    fusionscope._writes_snapshots = False
    fusionscope.assert_stays_fused(Clean(), INPUT)

@pytest.mark.fusionscope(backends="eager")
def test_marker(fusionscope):
    pass
"""

# Refuses what an installation of the core and torch does not have.
CONFTEST = """
import sys
from importlib.machinery import PathFinder

pytest_plugins = ["profiler_core.testing.plugin"]
LACKING = {lacking!r}

class WithoutExtras(PathFinder):
    @classmethod
    def find_spec(cls, name, *rest):
        return None if name.partition(".")[0] in LACKING else super().find_spec(name, *rest)

sys.meta_path[sys.meta_path.index(PathFinder)] = WithoutExtras
"""
_IMPORTED_AS = {"nvidia-ml-py": "pynvml", "HolisticTraceAnalysis": "hta"}


@dataclass(frozen=True)
class Outcome:
    """How one of the tests ended, and what it said."""

    kind: str  # "passed", "failure", "error", "skipped"
    text: str


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("plugin")


@pytest.fixture(scope="module")
def outcomes(folder: Path) -> Mapping[str, Outcome]:
    """Name of a test -> how it ended."""
    wanted = {
        section: {Requirement(line).name for line in lines} for section, lines in sections().items()
    }
    lacking = {
        _IMPORTED_AS.get(name, name).replace("-", "_")
        for name in set().union(*wanted.values()) - wanted["core"] - {"torch"}
    }
    assert {"streamlit", "duckdb", "pynvml"} <= lacking
    (folder / "models.py").write_text(MODELS)
    (folder / "test_it.py").write_text(TESTS)
    (folder / "conftest.py").write_text(CONFTEST.format(lacking=sorted(lacking)))
    process = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "-p", "no:xdist",
         "-p", "no:timeout", "--junitxml=it.xml", "--fusionscope-update", "test_it.py"],
        cwd=folder,
        env={
            **os.environ, **QUICK_COMPILER, "PYTHONPATH": str(ROOT),
            "FUSIONSCOPE_HOME": str(folder / "home"),
        },
        capture_output=True,
        text=True,
    )  # fmt: skip
    assert process.returncode == 1, process.stdout + process.stderr
    cases = ElementTree.parse(folder / "it.xml").iter("testcase")
    return {
        case.attrib["name"]: Outcome(
            next((part.tag for part in case), "passed"),
            "".join(f"{part.attrib.get('message')} {part.text}" for part in case),
        )
        for case in cases
    }


@pytest.mark.parametrize(
    "name",
    [
        "clean",
        "one_shape",
        "dynamic",
        "warmed_up",
        "equal",
        "allowed",
        "really_faster",
        "written",
        "fused",
    ],
)
def test_what_is_well_passes(outcomes, name):
    assert outcomes[f"test_{name}"].kind == "passed", outcomes[f"test_{name}"].text


def test_a_break_is_told_with_its_line_its_code_and_its_cost(outcomes):
    broken = outcomes["test_broken"]
    assert broken.kind == "failure"
    assert "The model has 1 graph break:" in broken.text
    assert "models.py:16: " in broken.text and '> print("half way")' in broken.text
    assert re.search(r"It costs about [\d.]+ (µs|ns|ms) per step here\.", broken.text)


def test_a_frame_that_is_given_up_is_a_break(outcomes):
    loops = outcomes["test_loops"]
    assert loops.kind == "failure" and "models.py:22: " in loops.text


def test_without_a_recording_the_break_is_told_all_the_same(outcomes):
    broken = outcomes["test_broken_without_a_recording"]
    assert broken.kind == "failure"
    assert "what they cost could not be recorded" in broken.text and "models.py:16" in broken.text


def test_an_error_of_the_model_itself_is_its_own(outcomes):
    error = outcomes["test_an_error_of_the_model"]
    assert error.kind == "failure"
    assert re.match(r"RuntimeError: .*mat1 and mat2 shapes cannot", error.text)


def test_a_recompile_is_told_with_its_call_its_guard_and_its_time(outcomes):
    shapes = outcomes["test_shapes"]
    assert shapes.kind == "failure"
    assert "compiled again by 1 of 2 later calls" in shapes.text
    assert "call 2, (4, 16): compiling took" in shapes.text
    assert "expected 8, actual 4" in shapes.text and "models.py" in shapes.text


def test_a_planted_slowdown_is_caught(outcomes):
    slower = outcomes["test_slower"]
    assert slower.kind == "failure"
    assert re.search(r"The candidate is slower. The change is \+(19|20)\.\d %", slower.text)
    assert "the limit +5%" in slower.text
    assert outcomes["test_really_slower"].kind == "failure"


@pytest.mark.parametrize(
    ("name", "reason"),
    [("noisy", "Cannot judge: The change is"), ("compiling_while_timed", "compilation")],
)
def test_what_cannot_be_judged_is_a_skip_with_its_reason(outcomes, name, reason):
    outcome = outcomes[f"test_{name}"]
    assert outcome.kind == "skipped" and reason in outcome.text


def test_the_snapshot_names_the_groups_and_what_came_apart_is_told(outcomes, folder):
    (snapshot,) = (folder / "fused").iterdir()
    assert snapshot.name == "test_it.test_written.groups.json"
    groups = json.loads(snapshot.read_text())["groups"]
    assert {"operators": ["aten::add", "aten::gelu"], "kernels": 1} in groups
    apart = outcomes["test_apart"]
    assert apart.kind == "failure" and "1 fused group came apart:" in apart.text
    assert "aten::add + aten::gelu: was 1 kernel, and is now" in apart.text
    missing = outcomes["test_not_written"]
    assert missing.kind == "failure"
    assert "is not there. Write it: pytest --fusionscope-update." in missing.text


def test_a_marker_that_says_something_else_is_named(outcomes):
    marker = outcomes["test_marker"]
    assert marker.kind == "error"
    assert "The marker fusionscope takes no backends. Use one of backend" in marker.text


def test_a_session_that_does_not_ask_for_it_imports_nothing_of_it():
    process = subprocess.run(
        [sys.executable, "-c", "import sys, pytest\nbefore = set(sys.modules)\n"
         "import profiler_core.testing.plugin\nprint(sorted(set(sys.modules) - before))"],
        capture_output=True, text=True, check=True, cwd=ROOT,
    )  # fmt: skip
    assert ast.literal_eval(process.stdout) == [
        "profiler_core", "profiler_core.testing", "profiler_core.testing.plugin",
    ]  # fmt: skip

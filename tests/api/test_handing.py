"""A live model becomes a file that another process can import: its source, and its state beside it.

The file is imported here, under its own name, and what it builds must answer as the model did.
"""

import importlib.util
import linecache
import math
import sys
from pathlib import Path
from types import ModuleType

import pytest

from fusionscope.capturing import spec_from, workload_of
from profiler_core.errors import BadInput
from tests.lazily import Lazily

torch = Lazily("torch")

pytestmark = pytest.mark.torch


class Prompt:
    """The namespace of a notebook: cells that are run one after another."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.main = ModuleType("__main__")
        monkeypatch.setitem(sys.modules, "__main__", self.main)
        self._n = 0

    def run(self, cell: str) -> None:
        self._n += 1
        name = f"<cell {self._n}>"
        linecache.cache[name] = (len(cell), None, cell.splitlines(keepends=True), name)
        exec(compile(cell, name, "exec"), vars(self.main))

    def __getitem__(self, name: str):
        return vars(self.main)[name]


@pytest.fixture
def prompt(monkeypatch) -> Prompt:
    return Prompt(monkeypatch)


def _built(model, inputs, loss=None):
    """What the written file builds, and its source."""
    with workload_of(model, inputs, loss) as given:
        path = Path(given["workload"].rpartition(":")[0])
        spec = importlib.util.spec_from_file_location(path.stem, path)
        module = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(module)
        built = module.build(device="cpu")
        source = path.read_text("utf-8")
    assert not path.exists()
    return built, source


NET = """
import torch
from torch import nn
import torch.nn.functional as F

WIDTH = 4
unrelated = __import__("threading").Lock()

def squash(x):
    return F.relu(x) * SCALE

class Block(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.linear = nn.Linear(width, width)

    def forward(self, x):
        return squash(self.linear(x))

class Net(Block):
    def forward(self, x):
        return super().forward(x) + OFFSET

SCALE = 3.0
OFFSET = torch.ones(WIDTH)
model = Net(WIDTH)
"""


def test_a_class_of_a_cell_takes_along_what_it_needs(prompt):
    prompt.run(NET)
    model, x = prompt["model"], torch.randn(2, 4)
    (built, inputs), source = _built(model, x)
    assert type(built) is not type(model)
    assert type(built).__name__ == "Net"
    assert torch.equal(inputs, x)
    assert torch.equal(built(inputs), model(x))
    assert "unrelated" not in source
    assert source.index("class Block") < source.index("class Net")


def test_a_cell_that_is_run_again_counts(prompt):
    prompt.run(NET)
    prompt.run("SCALE = 5.0\nmodel = Net(WIDTH)")
    prompt.run(NET.replace("* SCALE", "* SCALE + 1").replace("3.0", "7.0"))
    model, x = prompt["model"], torch.randn(2, 4)
    (built, _), source = _built(model, x)
    assert torch.equal(built(x), model(x))
    assert "SCALE + 1" in source


def test_a_function_of_a_cell_takes_the_model_that_it_calls(prompt):
    prompt.run(NET)
    prompt.run("def step(x, *, twice=False):\n    return model(model(x) if twice else x)")
    x = torch.randn(2, 4)
    (built, inputs), _ = _built(prompt["step"], {"x": x, "twice": True})
    assert torch.equal(built(**inputs), prompt["step"](x, twice=True))


def test_a_closure_and_a_lambda_keep_what_they_enclose():
    import torch

    weight = torch.randn(4, 4)

    def step(x):
        return torch.tanh(x @ weight)

    x = torch.randn(2, 4)
    (built, _), _ = _built(step, (x,))
    assert torch.equal(built(x), step(x))
    double = lambda value: value * 2 + weight[0]  # noqa: E731
    (built, _), _ = _built(double, (x,))
    assert torch.equal(built(x), double(x))


def test_a_model_of_a_package_and_its_training_mode_are_kept():
    model = torch.nn.Sequential(torch.nn.Linear(4, 4), torch.nn.Dropout(0.5)).eval()
    (built, inputs, loss), _ = _built(model, torch.ones(1, 4), loss=torch.sum)
    assert not built.training
    assert torch.equal(built(inputs), model(inputs))
    assert loss(torch.ones(3)) == 3


def test_a_compiled_model_is_handed_over_uncompiled(prompt):
    prompt.run(NET)
    (built, _), _ = _built(torch.compile(prompt["model"]), torch.ones(1, 4))
    assert type(built).__name__ == "Net"


def test_a_bound_method_is_a_step(prompt):
    prompt.run(NET + "\nclass Loop:\n    def step(self, x):\n        return model(x) * 2\n")
    prompt.run("loop = Loop()")
    x = torch.randn(2, 4)
    (built, _), _ = _built(prompt["loop"].step, (x,))
    assert torch.equal(built(x), prompt["model"](x) * 2)


@pytest.mark.parametrize("value", [math.nan, math.inf, "text", b"bytes", None, True, 2j])
def test_a_constant_stays_what_it_is(prompt, value):
    vars(prompt.main)["value"] = value
    prompt.run("def step(x):\n    return value")
    (built, _), _ = _built(prompt["step"], 0)
    assert repr(built(0)) == repr(value)


def test_a_function_without_inputs_is_a_whole_step(prompt):
    prompt.run("def step():\n    return 7")
    built, _ = _built(prompt["step"], ())
    assert built() == 7


def test_what_cannot_be_handed_over_says_so_in_one_sentence(prompt):
    class Inner(torch.nn.Module):
        pass

    with pytest.raises(BadInput, match="Inner is defined inside of a function"):
        _built(Inner(), ())
    vars(prompt.main)["lock"] = __import__("threading").Lock()
    prompt.run("def step(x):\n    return lock")
    with pytest.raises(
        BadInput, match=r"cannot be handed over|cannot be handed to .*lock"
    ) as caught:
        _built(prompt["step"], ())
    assert "path/to/file.py:build" in caught.value.remedy
    exec("def typed(x):\n    return x", vars(prompt.main))  # at a prompt that keeps no source
    with pytest.raises(BadInput, match="The source of typed is not known"):
        _built(prompt["typed"], ())
    with pytest.raises(BadInput, match="A model is callable"):
        _built(3, ())


def test_the_device_is_that_of_the_model_or_its_inputs():
    with workload_of(torch.nn.Linear(2, 2), torch.ones(1, 2), None) as given:
        assert given["device"] == "cpu"
        assert given["name"] == "Linear"
    with workload_of(torch.nn.Linear(2, 2, device="meta"), (), None) as given:
        assert given["device"] == "meta"
    with workload_of(torch.nn.Identity(), (), None) as given:
        assert "device" not in given


def test_options_are_those_of_the_command():
    spec = spec_from(
        {
            "workload": "bert", "variants": ["eager", "default+bf16"], "rounds": 3,
            "compile_target": "blocks", "shapes": [(8, 3, 32, 32)], "options": {"layers": 2},
            "logs": [], "profile": False,
        }
    )  # fmt: skip
    assert spec.to_argv() == [
        "bert", "--variants", "eager,default+bf16+target=blocks", "--compile-target=blocks",
        "--shapes=8x3x32x32", "--option=layers=2", "--rounds=3", "--no-profile",
    ]  # fmt: skip
    with pytest.raises(BadInput, match="no option warmup"):
        spec_from({"workload": "bert", "warmup": 3})


def test_a_named_workload_brings_its_own_inputs():
    with workload_of("bert", (), None) as given:
        assert given == {"workload": "bert"}
    with pytest.raises(BadInput, match="beside the workload bert"), workload_of("bert", (1,), None):
        pass


def test_without_torch_it_says_so(monkeypatch):
    monkeypatch.setitem(sys.modules, "fusionscope.handing.workload", None)
    monkeypatch.delattr("fusionscope.handing.workload", raising=False)
    with pytest.raises(BadInput, match="torch cannot be imported here"):
        _built(print, ())

"""docs/tutorial.ipynb runs as it stands, cell by cell, in a shell of IPython."""

import json
import sys
import types
from dataclasses import replace
from pathlib import Path

import pytest

import fusionscope
from profiler_core.capture import launcher
from profiler_core.capture.interpreter import probe
from tests.quick_python import QUICK_COMPILER

pytestmark = pytest.mark.torch

NOTEBOOK = Path(__file__).resolve().parents[2] / "docs" / "tutorial.ipynb"
CELLS = [
    "".join(cell["source"])
    for cell in json.loads(NOTEBOOK.read_text("utf-8"))["cells"]
    if cell["cell_type"] == "code"
]


@pytest.fixture(scope="module")
def shown(tmp_path_factory, quick_python) -> dict[str, object]:
    """The first line of each cell -> what it shows."""
    pytest.importorskip("IPython")
    folder = tmp_path_factory.mktemp("notebook")
    interpreter = replace(probe(str(quick_python)), executable=str(quick_python))
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(folder)
        patch.setenv("FUSIONSCOPE_HOME", str(folder / "home"))
        patch.setenv("IPYTHONDIR", str(folder / "ipython"))
        for name, value in QUICK_COMPILER.items():
            patch.setenv(name, value)
        patch.setattr(launcher, "probe", lambda *_, **__: interpreter)
        patch.setitem(sys.modules, "__main__", types.ModuleType("__main__"))
        from IPython.core.interactiveshell import InteractiveShell
        from traitlets.config import Config

        shell = InteractiveShell(config=Config({"HistoryManager": {"enabled": False}}))
        results = {}
        for cell in CELLS:
            ran = shell.run_cell(cell)
            ran.raise_error()
            results[cell.splitlines()[0].strip()] = ran.result
        results["files"] = sorted(path.name for path in folder.iterdir())
        shell.history_manager.end_session()
    return results


def test_a_comparison_shows_verdict_and_pictures(shown):
    html = shown["import fusionscope"]._repr_html_()
    assert "as fast as eager" in html
    assert "fs-map" in html
    assert shown["resnet.leading.step_time"].ratio > 2
    assert len(shown['resnet.figure("steps")'].data) > 1
    assert "resnet50.html" in shown["files"]


def test_a_model_of_a_cell_is_measured_and_right(shown):
    net = shown["net = fusionscope.capture("]
    assert isinstance(net, fusionscope.Comparison)
    assert net.labels == ("eager", "default")
    assert [run.record.status for run in net.runs] == ["finished", "finished"]
    assert net.runs[1].record.numerics.verdict == "right"
    assert net.baseline.record.name == "Net eager"
    assert net.leading.ledger.groups
    assert "fs-bars" in net._repr_html_()


def test_a_cell_is_measured_eager_and_compiled(shown):
    cell = next(result for line, result in shown.items() if line.startswith("%%compiled"))
    assert [run.record.status for run in cell.runs] == ["finished", "finished"]
    assert cell.runs[1].compilation.log.compilations
    assert not cell.runs[1].compilation.breaks


def test_it_holds_no_output_that_could_be_old():
    cells = json.loads(NOTEBOOK.read_text("utf-8"))["cells"]
    assert all(not cell.get("outputs") for cell in cells)

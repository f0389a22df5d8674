"""Different models can be put beside each other, and nobody is shown what fusion did to them."""

import json
import shutil
from pathlib import Path

import pytest

from profiler_core.analysis.wording.groups import OTHER_WORKLOADS
from profiler_core.errors import NothingToAnalyse
from profiler_core.session.comparison import Comparison
from tests.apps import opened, text_of

CAPTURES = Path(__file__).resolve().parents[1] / "fixtures" / "captures"


@pytest.mark.parametrize("name", ["overview", "fusion"])
@pytest.mark.parametrize(
    ("candidate", "is_other"), [("sample/dynshape/default", True), ("sample/breaky/default", False)]
)
def test_two_models_get_no_map(tmp_path, columns, monkeypatch, name, candidate, is_other):
    monkeypatch.setenv("FUSIONSCOPE_HOME", str(tmp_path))
    (tmp_path / "cache").symlink_to(columns)
    app = opened(name, baseline="sample/breaky/eager", candidate=[candidate])
    said = text_of(app).replace("\\", "")
    assert ("is placed" in said) != is_other
    assert ("are different" in said) == is_other


def test_two_functions_of_ones_own_get_a_map_that_claims_nothing(tmp_path, columns, monkeypatch):
    """They may build the same model in two versions."""
    monkeypatch.setenv("FUSIONSCOPE_HOME", str(tmp_path))
    (tmp_path / "cache").symlink_to(columns)
    for variant in ("eager", "default"):
        folder = tmp_path / "runs" / "own" / variant
        shutil.copytree(CAPTURES / f"breaky.{variant}", folder)
        record = json.loads((folder / "run.json").read_text())
        record["workload"] = f"{variant}.py:build"
        (folder / "run.json").write_text(json.dumps(record))
    said = text_of(opened("fusion", baseline="run/own/eager", candidate=["run/own/default"]))
    assert "is placed" in said
    assert OTHER_WORKLOADS in said


def a_pair(baseline, candidate):
    traces = [CAPTURES / run / "trace.json.gz" for run in (baseline, candidate)]
    return Comparison.open(traces).pairs[0]


def test_bare_traces_of_two_models_get_no_ledger():
    """Nobody says what they are of: kernels of equal names are matched, most time is not."""
    pair = a_pair("customcnn_b1.eager", "breaky.default")
    with pytest.raises(NothingToAnalyse, match="do not look like one model"):
        _ = pair.ledger
    assert pair.explanation.ledger is None
    assert any("do not look like one model" in note for note in pair.explanation.notes)


def test_bare_traces_of_one_model_get_a_ledger():
    assert a_pair("customcnn_b1.eager", "customcnn_b1.reduce-overhead").ledger.groups

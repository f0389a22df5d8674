"""Different models can be put beside each other, and nobody is shown what fusion did to them."""

import json
import re
import shutil
from pathlib import Path

import pytest

from profiler_core.analysis.wording.groups import OTHER_WORKLOADS
from profiler_core.cli.main import main
from profiler_core.errors import NothingToAnalyse
from profiler_core.report.contents import gather
from profiler_core.report.markdown import markdown
from profiler_core.session.comparison import Comparison
from tests.apps import opened, text_of
from tests.uploading import accept

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
    with pytest.raises(NothingToAnalyse, match="look like different programs"):
        _ = pair.ledger
    assert pair.explanation.ledger is None
    (note,) = [n for n in pair.explanation.notes if "look like different programs" in n]
    assert note.startswith("Neither waterfall nor fusion ledger: ")
    assert pair.explanation.waterfall is None


@pytest.mark.parametrize(
    "names", [("customcnn_b1.eager", "breaky.default"), ("breaky.eager", "customcnn_b1.eager")]
)
def test_what_is_told_of_two_models_is_what_matches_nothing(names):
    """ "99 % of the other's time has a counterpart" was said of a ResNet beside a BERT."""
    pair = a_pair(*names)
    ledger = pair._any_ledger()
    sides = (
        [(group.kind, group.baseline.time_ns) for group in ledger.groups],
        [(group.kind, group.candidate.time_ns) for group in ledger.groups],
    )
    shares = [
        sum(ns for kind, ns in side if kind == "unmatched") / sum(ns for _, ns in side)
        for side in sides
    ]
    told = [
        f"{100 * share:.0f}\u00a0% of the device time of {label} matches nothing in "
        for share, label in zip(shares, pair.labels, strict=True)
        if share > 0.25
    ]
    assert told
    assert pair.unrelated.count("matches nothing") == len(told)
    for part in told:
        assert part.replace("\u00a0", " ") in pair.unrelated.replace("\u00a0", " ")


def test_that_two_runs_look_unrelated_is_said_before_all_else(
    tmp_path, columns, monkeypatch, capsys
):
    """ "Speed 1.84×" and 6.36 → 2.53 ms stood above it, without a word."""
    monkeypatch.setenv("FUSIONSCOPE_HOME", str(tmp_path))
    (tmp_path / "cache").symlink_to(columns)
    names = ("customcnn_b1.eager", "breaky.default")
    paths = [str(CAPTURES / name / "trace.json.gz") for name in names]
    assert main(["compare", *paths]) == 0
    first = capsys.readouterr().out.splitlines()[0]
    assert "look like different programs: " in first
    assert "neither is faster or slower" in first
    assert main(["compare", "--json", *paths]) == 0
    (candidate,) = json.loads(capsys.readouterr().out)["candidates"]
    assert candidate["workloads_differ"]
    assert candidate["verdict"]["kind"] == "no_verdict"
    assert "look like different programs" in candidate["verdict"]["headline"]
    report = markdown(gather(Comparison.open([Path(path) for path in paths])))
    assert "look like different programs" in report.splitlines()[0]
    assert "**−" not in report and "**+" not in report  # no change is judged
    keys = [
        accept({f"{name}.json.gz": Path(path).read_bytes()}).keys[0]
        for name, path in zip(names, paths, strict=True)
    ]
    text = text_of(opened("overview", baseline=keys[0], candidate=keys[1:])).replace("\\", "")
    assert re.search(r"<h1[^>]*>(<[^>]+>)*customcnn_b1.eager and breaky.default look like", text)
    assert "Where the difference comes from" not in text


def test_bare_traces_of_one_model_are_judged_as_before():
    pair = a_pair("customcnn_b1.eager", "customcnn_b1.reduce-overhead")
    assert pair.unrelated == ""
    assert pair.judged is pair.numbers


def test_bare_traces_of_one_model_get_a_ledger():
    assert a_pair("customcnn_b1.eager", "customcnn_b1.reduce-overhead").ledger.groups

"""`gate` from the command line: exit status, files, and a baseline by its name."""

import json
import shutil
from pathlib import Path
from xml.etree import ElementTree as ET

import pytest

from profiler_core.cli.main import main
from profiler_core.store import history

SAMPLES = Path(__file__).parents[2] / "sample_traces"
EAGER, DEFAULT = SAMPLES / "bert" / "eager", SAMPLES / "bert" / "default"


@pytest.fixture(autouse=True)
def _own_home(home_with_columns, monkeypatch):
    for name in ("GITHUB_STEP_SUMMARY", "GITHUB_ACTIONS"):
        monkeypatch.delenv(name, raising=False)


def gate(*words):
    return main(["gate", *map(str, words)])


def a_copy(path, where, **changes):
    """A run directory of its own, with other values in its run.json."""
    shutil.copytree(path, where)
    record = json.loads((where / "run.json").read_text())
    for key, value in changes.items():
        record[key] = {**record[key], **value} if isinstance(value, dict) else value
    (where / "run.json").write_text(json.dumps(record))
    return where


def test_the_exit_status_is_the_answer(tmp_path):
    assert gate(EAGER, EAGER) == 0
    assert gate(EAGER, DEFAULT, "--max-kernels", "+2") == 1
    assert gate(EAGER, DEFAULT, "--max-step-time", "fast") == 2
    few = json.loads((EAGER / "run.json").read_text())["measurement"]["rounds"][:3]
    short = a_copy(EAGER, tmp_path / "short", measurement={"rounds": few})
    assert gate(EAGER, short) == 3


def test_without_a_limit_step_time_may_grow_by_three_per_cent(capsys):
    assert gate(EAGER, DEFAULT, "--json") == 0
    answer = json.loads(capsys.readouterr().out)
    assert [(c["quantity"], c["limit"]) for c in answer["checks"]] == [("step_time", "+3%")]
    assert answer["schema"] == 1 and answer["interleaved"] is True
    assert 0 < answer["noise"]["floor"] < 0.01


def test_all_quantities_of_a_capture_can_be_judged(capsys):
    words = [
        "--max-step-time", "+3%", "--max-kernels", "+60", "--max-launches", "300",
        "--max-breaks", "+0", "--max-recompiles", "0", "--max-compile-time", "20s",
        "--max-peak-memory", "1.2GB", "--max-energy", "+3%",
        "--min-cudagraph-coverage", "0%", "--json",
    ]  # fmt: skip
    assert gate(EAGER, DEFAULT, *words) == 0
    checks = json.loads(capsys.readouterr().out)["checks"]
    assert {c["outcome"] for c in checks} == {"pass"}
    by_key = {c["quantity"]: c for c in checks}
    assert (by_key["kernels"]["baseline"], by_key["kernels"]["candidate"]) == (154, 208)
    assert by_key["energy"]["candidate"] == pytest.approx(3.47, abs=0.01)


def test_each_key_of_the_answer_is_in_json_md(capsys):
    gate(EAGER, DEFAULT, "--json")
    answer = json.loads(capsys.readouterr().out)
    keys = {*answer, *answer["checks"][0], *answer["noise"]} - {"schema"}
    text = (SAMPLES.parent / "docs" / "json.md").read_text().split("## gate")[1]
    assert {key for key in keys if f"`{key}`" not in text} == set()


def test_files_for_ci(tmp_path, monkeypatch, capsys):
    junit, summary = tmp_path / "gate.xml", tmp_path / "summary.md"
    summary.write_text("what another step wrote\n")
    monkeypatch.setenv("GITHUB_STEP_SUMMARY", str(summary))
    monkeypatch.setenv("GITHUB_ACTIONS", "true")
    assert gate(EAGER, DEFAULT, "--max-kernels", "+2", "--junit", junit) == 1
    suite = ET.parse(junit).getroot().find("testsuite")
    assert (suite.get("tests"), suite.get("failures")) == ("1", "1")
    text = summary.read_text()
    assert text.startswith("what another step wrote") and "| Kernels per step |" in text
    assert "::error title=Kernels per step" in capsys.readouterr().out


def test_a_kept_baseline_is_named(capsys):
    recorded = history.record(EAGER)
    history.set_baseline("main", recorded.run_id)
    assert gate("main", DEFAULT) == 0
    assert gate("nobody", DEFAULT) == 2
    said = capsys.readouterr().err
    assert "nobody is neither a run nor a baseline" in said and "Traceback" not in said


def test_another_run_of_the_same_code_widens_the_noise(tmp_path, capsys):
    rounds = json.loads((EAGER / "run.json").read_text())["measurement"]["rounds"]
    slower = [{**one, "wall_ns": round(one["wall_ns"] * 1.05)} for one in rounds]
    again = a_copy(EAGER, tmp_path / "again", measurement={"rounds": slower})
    assert gate(EAGER, again) == 1
    assert gate(EAGER, again, "--same", again) == 3
    assert gate(EAGER, again, "--same", tmp_path / "absent") == 2

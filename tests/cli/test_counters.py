"""`counters NCU_CSV [--run RUN]` on counters of ResNet-50 and the repository's samples."""

import json
import shutil
from pathlib import Path

import pytest

from profiler_core.cli.main import main

ROOT = Path(__file__).resolve().parents[2]
CSV = ROOT / "tests" / "fixtures" / "counters" / "resnet50_b32.default.ncu.csv.gz"
RUN = ROOT / "sample_traces" / "resnet50" / "default"
JSON = (ROOT / "docs" / "json.md").read_text(encoding="utf-8")


@pytest.fixture(autouse=True)
def own_home(tmp_path, monkeypatch):
    monkeypatch.setenv("FUSIONSCOPE_HOME", str(tmp_path / "home"))


def answer(capsys, *words):
    assert main(["counters", *map(str, words), "--json"]) == 0
    return json.loads(capsys.readouterr().out)


def test_a_file_alone(capsys):
    found = answer(capsys, CSV)
    assert (found["schema"], found["n_kernels"], found["matched_time_share"]) == (1, 125, None)
    assert isinstance(found["dram_read_bytes"], int)
    for key in ("n", "time_ns", "dram_read_bytes", "dram_write_bytes"):
        total = found["n_kernels" if key == "n" else key]
        assert sum(kernel[key] for kernel in found["kernels"]) == total
    assert all(kernel["estimated_bytes"] is None for kernel in found["kernels"])


def test_beside_its_run(capsys):
    found = answer(capsys, CSV, "--run", RUN)
    assert found["matched_time_share"] > 0.95
    assert found["n_steps"] == 1
    largest = next(k for k in found["kernels"] if k["name"].endswith("add_relu_7"))
    moved = largest["dram_read_bytes"] + largest["dram_write_bytes"]
    assert largest["estimated_bytes"] == pytest.approx(moved, rel=0.05)
    assert largest["n_tensor"] == 0


def test_a_run_that_holds_its_counters(capsys, tmp_path):
    run = tmp_path / "default"
    shutil.copytree(RUN, run)
    shutil.copy(CSV, run / "counters.csv.gz")
    assert answer(capsys, run)["matched_time_share"] > 0.95


def test_each_key_is_in_json_md(capsys):
    documented = JSON.split("## counters")[1].split("\n## ")[0]
    found = answer(capsys, CSV, "--run", RUN)
    for key in {*found, *found["kernels"][0]} - {"schema"}:
        assert f"`{key}`" in documented, key


def test_in_words(capsys):
    assert main(["counters", str(CSV), "--run", str(RUN)]) == 0
    out = capsys.readouterr().out
    for words in ("125 kernels", "3.09 GB read, 2.21 GB written", "by shapes", "add_relu_7"):
        assert words in out


@pytest.mark.parametrize(
    ("words", "status", "said"),
    [
        ([RUN], 3, "holds no counters"),
        ([ROOT / "README.md"], 2, "is not recognised"),
        ([CSV, "--run", CSV], 3, "has no trace to join"),
    ],
)
def test_what_cannot_be_answered_is_said(capsys, words, status, said):
    assert main(["counters", *map(str, words)]) == status
    assert said in capsys.readouterr().err

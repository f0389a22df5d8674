"""`sweep` on the run.json files of a real sweep on the CPU, whose last point failed."""

import json
import shutil
from pathlib import Path

import pytest

from profiler_core.cli.main import main

SWEEP = Path(__file__).resolve().parents[1] / "fixtures" / "sweeps" / "simplecnn_cpu"
ROOT = Path(__file__).resolve().parents[2]


def answer(capsys, path):
    assert main(["sweep", str(path), "--json"]) == 0
    return json.loads(capsys.readouterr().out)


def test_the_table_has_a_row_for_each_point_the_failed_one_too(capsys):
    assert main(["sweep", str(SWEEP)]) == 0
    said = capsys.readouterr().out
    lines = said.splitlines()
    assert lines[0].startswith("simplecnn · training · fp32 · ")
    assert lines[0].endswith(" · sweep of batch size")
    assert lines[2] == "default pays at batch size 4, the only one that could be judged."
    rows = [line.split()[0] for line in lines if line[:1].isdigit()]
    assert rows == ["1", "4", "16", "64", "1000000000000"]
    failed = next(line for line in lines if line.startswith("1000000000000"))
    assert "out of memory" in failed
    assert (
        said.rstrip()
        .splitlines()[-1]
        .startswith("Batch size 1000000000000, every variant: Out of memory in building the model")
    )


def test_any_point_and_any_run_of_it_lead_to_the_whole(capsys):
    whole = answer(capsys, SWEEP)
    assert whole["schema"] == 1
    for path in (SWEEP / "batch-4", SWEEP / "batch-1000000000000", SWEEP / "batch-1" / "eager"):
        found = answer(capsys, path)
        assert [p["value"] for p in found["points"]] == [p["value"] for p in whole["points"]]


def test_the_numbers_are_those_of_compare(capsys):
    point = answer(capsys, SWEEP)["points"][1]
    assert main(["compare", str(SWEEP / "batch-4"), "--json"]) == 0
    (candidate,) = json.loads(capsys.readouterr().out)["candidates"]
    eager, default = point["variants"]
    assert default["ratio"] == candidate["step_time"]["ratio"]
    assert default["interval"] == candidate["step_time"]["interval"]
    assert default["verdict"] == candidate["verdict"]["kind"]
    assert eager["step_time_ns"] == pytest.approx(candidate["step_time"]["baseline_ns"], abs=1)
    assert default["compile"] == candidate["compile"]


def test_absent_numbers_are_null(capsys):
    failed = answer(capsys, SWEEP)["points"][-1]
    for variant in failed["variants"]:
        assert variant["out_of_memory"] is True
        for name in ("step_time_ns", "samples_per_s", "ratio", "interval", "peak_reserved_bytes"):
            assert variant[name] is None


def test_every_key_is_in_the_documentation(capsys):
    def keys(value):
        if isinstance(value, dict):
            for key, inner in value.items():
                yield key
                yield from keys(inner)
        elif isinstance(value, list):
            for inner in value:
                yield from keys(inner)

    documented = (ROOT / "docs" / "json.md").read_text()
    said = set(keys(answer(capsys, SWEEP)))
    assert {key for key in said if f"`{key}`" not in documented} == set()


def test_what_holds_no_sweep_is_said_with_a_remedy(capsys, tmp_path):
    assert main(["sweep", str(tmp_path)]) == 2
    assert "holds no sweep" in capsys.readouterr().err
    assert main(["sweep", str(tmp_path / "gone")]) == 2
    assert "is no folder" in capsys.readouterr().err


def test_of_several_sweeps_one_must_be_named(capsys, tmp_path):
    for point in ("batch-1", "batch-4"):
        shutil.copytree(SWEEP / point, tmp_path / point)
        for run in (tmp_path / point).iterdir():
            file = run / "run.json"
            record = json.loads(file.read_text())
            record["sweep"]["id"] = f"sweep of {point}"
            file.write_text(json.dumps(record))
    assert main(["sweep", str(tmp_path)]) == 2
    said = capsys.readouterr().err
    assert "holds 2 sweeps: sweep of batch-1, sweep of batch-4" in said
    assert answer(capsys, tmp_path / "batch-4")["missing"] == [1, 16, 64, 1000000000000]

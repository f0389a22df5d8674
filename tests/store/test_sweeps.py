"""The sweeps among the runs of a library."""

import json
import shutil
from pathlib import Path

import pytest

from profiler_core.store import library
from profiler_core.store.sweeps import sweep_of_entry, sweeps
from tests.everything import comparisons

FIXTURES = Path(__file__).resolve().parents[1] / "fixtures"


@pytest.fixture
def home(tmp_path, monkeypatch):
    monkeypatch.setenv("FUSIONSCOPE_HOME", str(tmp_path))
    monkeypatch.setattr(library, "sample_traces_directory", lambda: tmp_path / "samples")
    shutil.copytree(FIXTURES / "sweeps" / "simplecnn_cpu", tmp_path / "runs")
    shutil.copytree(FIXTURES / "captures" / "breaky.eager", tmp_path / "runs" / "alone" / "eager")
    return tmp_path


def change(home, point, **sweep):
    for run in (home / "runs" / point).iterdir():
        file = run / "run.json"
        record = json.loads(file.read_text())
        record["sweep"] |= sweep
        file.write_text(json.dumps(record))


def test_points_are_together_in_the_order_of_their_capture(home):
    (found,) = sweeps(comparisons())
    assert [group.path.name for group in found.points] == [
        "batch-1", "batch-4", "batch-16", "batch-64", "batch-1000000000000"
    ]  # fmt: skip
    assert found.key.startswith("run/")
    assert found.title == "simplecnn, batch size 1, 4, 16, 64, 1000000000000"
    assert found.created_at == max(group.created_at for group in found.points)
    assert not found.is_alive


def test_a_point_says_its_value_and_leads_to_its_sweep(home):
    (found,) = sweeps(comparisons())
    assert found.points[1].title == "simplecnn, batch size 4"
    assert sweep_of_entry(found.points[1].baseline) == found.key
    alone = library.entry("run/alone/eager")
    assert sweep_of_entry(alone) is None


def test_two_sweeps_stay_apart_and_hostile_ids_are_only_names(home):
    change(home, "batch-4", id="../../etc/<b>")
    found = sweeps(comparisons())
    assert sorted(len(sweep.points) for sweep in found) == [1, 4]
    hostile = next(sweep for sweep in found if len(sweep.points) == 1)
    assert hostile.key == "run/..~2F..~2Fetc~2F~3Cb~3E"


def test_many_values_are_shortened(home):
    change(home, "batch-1", values=list(range(1, 20)))
    (found,) = sweeps(comparisons())
    assert found.values_text == "1, 2 … 19"


def test_a_sweep_with_only_a_name_and_a_value_is_readable_and_no_sweep(home):
    file = home / "runs" / "batch-4" / "eager" / "run.json"
    record = json.loads(file.read_text())
    record["sweep"] = {"name": "batch-size", "value": 4}
    file.write_text(json.dumps(record))
    (found,) = sweeps(comparisons())
    assert len(found.points) == 4

"""The page of kernels: the name is what tells one row from the next."""

import json
import shutil
from pathlib import Path

from profiler_core.store import library
from profiler_core.ui.table import change_us, column_of_each_run
from tests.apps import opened

CAPTURES = Path(__file__).resolve().parents[1] / "fixtures" / "captures"


def test_no_column_is_wider_than_the_kernel_s_name(tmp_path, columns, monkeypatch):
    monkeypatch.setenv("FUSIONSCOPE_HOME", str(tmp_path))
    (tmp_path / "cache").symlink_to(columns)
    monkeypatch.setattr(library, "sample_traces_directory", lambda: tmp_path / "samples")
    for variant in ("eager", "reduce-overhead"):
        run = CAPTURES / f"customcnn_b1.{variant}"
        shutil.copytree(run, tmp_path / "runs" / "cnn" / variant)
    app = opened("kernels", baseline="run/cnn/eager", candidate=["run/cnn/reduce-overhead"])
    described = json.loads(app.dataframe[0].proto.columns)
    widths = {c["label"]: c["width"] for c in described.values() if "label" in c and "width" in c}
    assert max(widths, key=lambda label: widths[label]) == "kernel"
    # A phone of 390 px still has room for the baseline's times: 16 px a margin, 33 for the box.
    assert widths["kernel"] + widths["eager, µs"] <= 390 - 2 * 16 - 33


def test_what_is_called_and_what_hardly_changes_is_a_number():
    config = column_of_each_run("n", "calls", ("eager", "a", "b"), "calls.", width_px=50)
    assert [column["label"].strip("\u200b") for column in config.values()] == [
        "calls", "→ calls", "→ calls",
    ]  # fmt: skip
    assert len({column["label"] for column in config.values()}) == 3  # or one hides the other
    assert all(column["type_config"]["type"] == "number" for column in config.values())
    # As plain numbers 58.93 stood there with all that a double adds: "58.930000000000000".
    assert all(column["type_config"]["format"] == "%g" for column in config.values())
    assert [f"{change_us(ns):+.1f}" for ns in (-40.0, 40.0, -60.0)] == ["+0.0", "+0.0", "-0.1"]


def test_the_kind_of_a_kernel_fits_into_1280_px_beside_three_runs(tmp_path, columns, monkeypatch):
    monkeypatch.setenv("FUSIONSCOPE_HOME", str(tmp_path))
    (tmp_path / "cache").symlink_to(columns)
    runs = [f"sample/simplecnn-training/{v}" for v in ("eager", "default", "reduce-overhead")]
    table = opened("kernels", baseline=runs[0], candidate=runs[1:]).dataframe[0]
    shown = list(table.value.columns)
    described = json.loads(table.proto.columns)
    widths = {name: c["width"] for name, c in described.items() if "width" in c}
    # The table is 877 px wide beside the menu, in a window of 1280 px.
    assert sum(widths[name] for name in shown[: shown.index("category") + 1]) <= 870

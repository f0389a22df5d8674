"""A run that failed shows what its process printed last, and hands out all of it."""

import json
import shutil
from pathlib import Path

import pytest

from profiler_core.store import library
from tests.apps import opened, text_of

CAPTURES = Path(__file__).resolve().parents[1] / "fixtures" / "captures"
PAIR = {"baseline": "run/own/eager", "candidate": ["run/own/default"]}


@pytest.fixture
def failed(tmp_path, columns, monkeypatch):
    """The folder of a candidate that failed."""
    monkeypatch.setenv("FUSIONSCOPE_HOME", str(tmp_path))
    (tmp_path / "cache").symlink_to(columns)
    monkeypatch.setattr(library, "sample_traces_directory", lambda: tmp_path / "samples")
    for variant in ("eager", "default"):
        shutil.copytree(CAPTURES / f"breaky.{variant}", tmp_path / "runs" / "own" / variant)
    folder = tmp_path / "runs" / "own" / "default"
    record = json.loads((folder / "run.json").read_text())
    record |= {"status": "failed", "error": "RuntimeError: out of luck"}
    (folder / "run.json").write_text(json.dumps(record))
    return folder


@pytest.mark.parametrize("measured", [True, False])
def test_what_a_failed_run_printed_is_on_the_overview(failed, measured):
    (failed / "stdout.txt").write_text("\n".join(f"line {n} <b>" for n in range(100)))
    if not measured:  # then the page has no verdict to stand beside
        for variant in ("eager", "default"):
            (failed.parent / variant / "trace.json.gz").unlink()
            file = failed.parent / variant / "run.json"
            file.write_text(json.dumps({**json.loads(file.read_text()), "measurement": None}))
    app = opened("overview", **PAIR)
    text = text_of(app)
    assert "out of luck" in text
    assert "line 99 &lt;b&gt;" in text
    assert "line 3 " not in text
    assert [box.label for box in app.expander if "printed" in box.label] == [
        "What default printed last"
    ]
    assert any(
        button.proto.label == "Download the whole log" for button in app.get("download_button")
    )


def test_torchs_log_to_which_an_error_leads_stands_there_too(failed):
    (failed / "torch_logs.txt").write_text("\n".join(f"frame {n}" for n in range(100)))
    app = opened("overview", **PAIR)
    labels = [box.label.replace("\\", "") for box in app.expander]
    assert labels.count("The end of torch_logs.txt of default") == 1
    assert "frame 99" in text_of(app) and "frame 3\n" not in text_of(app)


def test_a_run_that_printed_nothing_or_finished_has_no_box(failed):
    app = opened("overview", **PAIR)
    assert not [box.label for box in app.expander if "printed" in box.label]

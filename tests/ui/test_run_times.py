"""The list of runs has the profiled time of a bare trace, once somebody has read it."""

import json
import shutil
from pathlib import Path

import pytest

from profiler_core.store import library
from profiler_core.ui.reading import run_of
from tests.apps import opened, text_of

SAMPLES = library.sample_traces_directory
CAPTURES = Path(__file__).resolve().parents[1] / "fixtures" / "captures"


@pytest.fixture
def home(tmp_path, columns, monkeypatch):
    monkeypatch.setenv("FUSIONSCOPE_HOME", str(tmp_path))
    (tmp_path / "cache").symlink_to(columns)
    monkeypatch.setattr(library, "sample_traces_directory", lambda: tmp_path / "samples")
    for variant in ("eager", "default"):
        folder = tmp_path / "runs" / "own" / variant
        folder.mkdir(parents=True)
        shutil.copy(CAPTURES / f"breaky.{variant}" / "trace.json.gz", folder)
    return tmp_path / "runs" / "own"


def test_a_bare_trace_has_its_profiled_time(home):
    for variant in ("eager", "default"):
        assert run_of(library.entry(f"run/own/{variant}")).summary is not None
    text = text_of(opened("runs"))
    assert "not timed" not in text
    assert text.count(" <span class=fs-d>profiled</span>") == 2
    assert "<span class=fs-d>+" in text  # on one clock the two make a ratio


def test_a_line_of_facts_breaks_between_them_alone(home, monkeypatch):
    """Lines began with a dot, and dates broke between day and month."""
    monkeypatch.setattr(library, "sample_traces_directory", SAMPLES)
    html = "".join(element.proto.body for element in opened("runs").get("html"))
    assert "torch\u00a02.11.0\u00a0· 21\u00a0Nov\u00a02026,\u00a0" in html


def test_a_run_with_neither_has_none(home):
    for variant in ("eager", "default"):
        (home / variant / "trace.json.gz").unlink()
        (home / variant / "torch_logs.txt").write_text("V1121 10:00:00.000000 1 torch/x.py:1] hi")
    assert "profiled" not in text_of(opened("runs"))


def test_a_run_that_is_captured_now_is_no_warning(home):
    """ "eager, default: running, being captured now." stood in the colour of a failure below."""
    for variant in ("eager", "default"):
        record = json.loads((CAPTURES / f"breaky.{variant}" / "run.json").read_text())
        record |= {"status": "running"}
        (home / variant / "run.json").write_text(json.dumps(record))
    text = text_of(opened("runs"))
    assert text.count(">running</span>") == 2
    assert "being captured now." not in text

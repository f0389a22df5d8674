"""Runs without a trace: a page says so once for each run, with a remedy that can be had."""

import pytest

from profiler_core.store import library
from tests.apps import opened, text_of
from tests.ingest.memory_snapshot.snapshots import SNAPSHOT, pickled
from tests.uploading import accept


@pytest.fixture
def snapshot_alone(tmp_path, monkeypatch):
    """The key of an uploaded memory snapshot."""
    monkeypatch.setenv("FUSIONSCOPE_HOME", str(tmp_path))
    monkeypatch.setattr(library, "sample_traces_directory", lambda: tmp_path / "samples")
    return accept({"mine.pickle": pickled(SNAPSHOT)}).keys[0]


@pytest.mark.parametrize("page", ["timeline", "kernels"])
def test_an_upload_cannot_be_captured_again(snapshot_alone, page):
    text = text_of(opened(page, baseline=snapshot_alone))
    assert text.count("has no trace") == 1
    assert "Upload it once more together with its trace" in text
    assert "Capture it again" not in text
    assert "None of the chosen runs" not in text

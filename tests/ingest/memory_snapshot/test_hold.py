"""A snapshot that somebody looks at is not removed from the cache."""

import gc
from pathlib import Path

import pytest

from profiler_core.ingest import cache_limit
from profiler_core.ingest.memory_snapshot import columns
from profiler_core.ingest.memory_snapshot.open import load_cached, open_snapshot

SAMPLE = Path(__file__).parents[3] / "sample_traces/customcnn/eager/memory_snapshot.pickle"


def test_columns_in_use_stay(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("FUSIONSCOPE_HOME", str(tmp_path))
    snapshot = open_snapshot(SAMPLE)
    folder = columns.folder_of(SAMPLE)
    monkeypatch.setattr(cache_limit, "limit_bytes", lambda _used_bytes: 0)
    assert cache_limit.keep_within_limit() == 0
    assert folder.is_dir()
    assert load_cached(SAMPLE) is not None

    del snapshot
    gc.collect()
    assert cache_limit.keep_within_limit() > 0
    assert not folder.exists()

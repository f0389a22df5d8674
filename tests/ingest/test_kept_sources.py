import pytest

from profiler_core.ingest import kept_sources
from profiler_core.ingest.kept_sources import read_kept_sources


def test_lines_by_number(tmp_path):
    path = tmp_path / "sources.json"
    path.write_text('{"schema": 1, "files": {"a.py": {"lines": {"3": "x = 1", "4": "y = 2"}}}}')
    assert read_kept_sources(path) == {"a.py": {3: "x = 1", 4: "y = 2"}}


@pytest.mark.parametrize(
    ("text", "kept"),
    [
        ("not json", {}),
        ("[]", {}),
        ('{"files": []}', {}),
        ('{"files": {"a.py": []}}', {}),
        ('{"files": {"a.py": {"lines": {"one": "x", "2": 5}}}}', {"a.py": {2: "5"}}),
        ("[" * 100_000, {}),
    ],
)
def test_what_is_of_another_shape_is_left_out(tmp_path, text, kept):
    path = tmp_path / "sources.json"
    path.write_text(text)
    assert read_kept_sources(path) == kept


def test_a_file_that_is_too_large_is_not_read(tmp_path, monkeypatch):
    path = tmp_path / "sources.json"
    path.write_text('{"files": {"a.py": {"lines": {"1": "x"}}}}')
    monkeypatch.setattr(kept_sources, "_MOST_BYTES", 10)
    assert read_kept_sources(path) == {}

"""Large files of a finished run become small and lose nothing."""

import gzip

from profiler_core import run_directory as names
from profiler_core.capture.pack import pack


def test_large_files_are_packed_and_small_ones_stay(tmp_path):
    logs = tmp_path / names.TORCH_TRACE
    logs.mkdir()
    large, small = b"V1121 line\n" * 20_000, b"V1121 line\n"
    (logs / "large.log").write_bytes(large)
    (logs / "small.log").write_bytes(small)
    (tmp_path / names.MEMORY_SNAPSHOT).write_bytes(large)

    pack(tmp_path)

    assert sorted(p.name for p in logs.iterdir()) == ["large.log.gz", "small.log"]
    assert gzip.decompress((logs / "large.log.gz").read_bytes()) == large
    assert not (tmp_path / names.MEMORY_SNAPSHOT).exists()
    assert gzip.decompress((tmp_path / f"{names.MEMORY_SNAPSHOT}.gz").read_bytes()) == large


def test_a_run_without_logs_is_left_alone(tmp_path):
    (tmp_path / names.RUN_JSON).write_text("{}")
    pack(tmp_path)
    assert [p.name for p in tmp_path.iterdir()] == [names.RUN_JSON]

"""Which logs in a folder of rank traces are of which rank, and what Run makes of them."""

import gzip
import shutil
from pathlib import Path

import pytest

from profiler_core.ingest.rank_logs import logs_of_rank
from profiler_core.session.run import Run

SAMPLE = Path(__file__).parents[2] / "sample_traces" / "ddp" / "default"


def _names(paths):
    return [path.name for path in paths]


@pytest.fixture
def foreign(tmp_path, monkeypatch):
    """What torchrun jobs leave: traces, texts and structured logs of two ranks in one folder."""
    monkeypatch.setenv("FUSIONSCOPE_HOME", str(tmp_path / "home"))
    folder = tmp_path / "job"
    folder.mkdir()
    shutil.copy(SAMPLE / "trace.json.gz", folder / "rank0.json.gz")
    shutil.copy(SAMPLE / "ranks" / "1" / "trace.json.gz", folder / "rank1.json.gz")
    shutil.copy(SAMPLE / "torch_logs.txt", folder / "rank_0.stderr.txt")
    shutil.copy(SAMPLE / "ranks" / "1" / "torch_logs.txt", folder / "rank_1.stderr.txt")
    (log,) = (SAMPLE / "torch_trace").iterdir()
    lines = gzip.decompress(log.read_bytes())
    (folder / "torch_trace").mkdir()
    for rank in (0, 1):
        name = f"dedicated_log_torch_trace_rank_{rank}_ab12cd.log"
        (folder / "torch_trace" / name).write_bytes(
            lines.replace(b'"rank": 0', b'"rank": %d' % rank)
        )
    return folder


def test_names_tell_whose_logs_they_are(foreign):
    for rank in (0, 1):
        texts, structured = logs_of_rank(foreign, rank)
        assert _names(texts) == [f"rank_{rank}.stderr.txt"]
        assert _names(structured) == [f"dedicated_log_torch_trace_rank_{rank}_ab12cd.log"]
    assert logs_of_rank(foreign, 2) == ((), ())


def test_every_rank_of_a_foreign_job_has_its_own_logs(foreign):
    job = Run.open(foreign)
    ranks = [job.of_rank(rank) for rank in (0, 1)]
    assert ranks[0] is job
    assert [rank.record.rank for rank in ranks] == [0, 1]
    assert [rank.trace.metadata["distributedInfo"]["rank"] for rank in ranks] == [0, 1]
    for number, rank in enumerate(ranks):
        assert {c.rank for c in rank.compile_log.compilations} == {number}
        assert rank.code is not None
    assert job.of_rank(2) is None


def test_a_log_that_names_no_rank_is_of_the_process_of_the_trace(foreign):
    """In a folder of its own for each rank the names of logs say nothing."""
    for rank in (0, 1):
        own = foreign / f"rank{rank}"
        own.mkdir()
        (foreign / f"rank{rank}.json.gz").rename(own / "trace.json.gz")
        (foreign / f"rank_{rank}.stderr.txt").rename(own / "stderr.txt")
    assert _names(logs_of_rank(foreign, 1)[0]) == ["stderr.txt"]
    text = (foreign / "rank1" / "stderr.txt").read_text()
    (foreign / "rank1" / "stderr.txt").unlink()
    (foreign / "stderr.txt").write_text(text.replace("[rank1]:", ""))  # of a launcher without it
    rank_1, rank_0 = (Run.open(foreign).of_rank(rank) for rank in (1, 0))
    assert "stderr.txt" in _names(rank_1.logs_of_trace.text)
    assert any("stderr.txt is left out" in said for said in rank_0.logs_of_trace.left_out)


def test_the_ranks_of_a_capture_are_its_run_directories(tmp_path, monkeypatch):
    monkeypatch.setenv("FUSIONSCOPE_HOME", str(tmp_path / "home"))
    run = Run.open(SAMPLE)
    assert run.of_rank(0) is run
    rank_1 = run.of_rank(1)
    assert rank_1.path == SAMPLE / "ranks" / "1"
    assert rank_1.logs.text == (SAMPLE / "ranks" / "1" / "torch_logs.txt",)

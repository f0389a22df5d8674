"""*Fusion* and *Kernels* of a job: its groups on all ranks, and what one alone needs longer."""

import shutil
from types import SimpleNamespace

import pytest

from profiler_core.analysis.ranks.job_summary import BESIDE_A_COLLECTIVE
from profiler_core.model.run import RunRecord
from profiler_core.store import library
from profiler_core.ui.overview.headline import shown_ranks
from tests.apps import opened, text_of
from tests.larger import FIXTURES, unpacked

PAIR = {"baseline": "run/d/eager", "candidate": "run/d/default"}


@pytest.fixture
def pair_of_jobs(tmp_path, columns, monkeypatch):
    """A home whose capture is a job with 8 ms of a spinning kernel on rank 1."""
    (tmp_path / "cache").symlink_to(columns)
    shutil.copytree(unpacked(FIXTURES / "jobs.tar.xz") / "ddp-spin", tmp_path / "runs" / "d")
    monkeypatch.setenv("FUSIONSCOPE_HOME", str(tmp_path))
    monkeypatch.setattr(library, "sample_traces_directory", lambda: tmp_path / "samples")


def test_the_planted_kernel_is_a_row_and_each_group_has_its_ranks(pair_of_jobs):
    app = opened("fusion", **PAIR)
    text = text_of(app)
    assert "Over the ranks" in text and "Slower on one rank only, per step" in text
    for words in ("spin_kernel", "8.00 ms", "only there", "come from its own trace"):
        assert words in text
    frame = app.dataframe[0].value
    assert frame["ranks"].str.match(r"^\d+\.\d – \d+\.\d \(rank [01]\)$").all()


@pytest.mark.parametrize(
    ("shown", "told"), [((1, 1), "rank 1 of 2"), ((1, 0), "2 ranks"), ((None, None), "rank 0 of 2")]
)
def test_the_facts_name_the_rank_whose_kernels_are_shown(shown, told):
    """Of a job not the opened rank's: the one that the others await most."""
    record = RunRecord(rank=0, world_size=2)
    runs = [SimpleNamespace(shown_rank=rank, record=record) for rank in shown]
    assert shown_ranks(runs, record) == told


def test_the_kernels_page_has_the_same_rows(pair_of_jobs):
    text = text_of(opened("kernels", **PAIR))
    assert "Over the ranks" in text
    for words in ("spin_kernel", "8.00 ms", "only there"):
        assert words in text


def test_kernels_say_that_their_times_are_as_without_a_collective(tmp_path, columns, monkeypatch):
    """Only *Overview* said it: the table had 1 973 µs for what takes 3 613 in the trace."""
    (tmp_path / "cache").symlink_to(columns)
    monkeypatch.setenv("FUSIONSCOPE_HOME", str(tmp_path))
    job = opened("kernels", baseline="sample/ddp/eager", candidate="sample/ddp/default")
    assert text_of(job).count(f"Kernels {BESIDE_A_COLLECTIVE}, if any") == 1
    pair = opened("kernels", baseline="sample/bert/eager", candidate="sample/bert/default")
    assert BESIDE_A_COLLECTIVE not in text_of(pair)


def test_a_pair_of_single_processes_has_no_such_section(tmp_path, columns, monkeypatch):
    (tmp_path / "cache").symlink_to(columns)
    for name in ("eager", "default"):
        source = FIXTURES / "captures" / f"smallcnn_cpu.{name}"
        shutil.copytree(source, tmp_path / "runs" / "d" / name)
    monkeypatch.setenv("FUSIONSCOPE_HOME", str(tmp_path))
    monkeypatch.setattr(library, "sample_traces_directory", lambda: tmp_path / "samples")
    app = opened("fusion", **PAIR)
    assert "Over the ranks" not in text_of(app)
    assert "ranks" not in app.dataframe[0].value

"""Run directories of single ranks beside each other, and what a folder of jobs holds."""

import pytest

from profiler_core.errors import NotARun
from profiler_core.ingest.run import open_run
from profiler_core.ranks.find import find_ranks, has_ranks
from profiler_core.ranks.job_of import job_of
from profiler_core.ranks.jobs_below import runs_inside
from profiler_core.ranks.rank_sets import ranks_beside


def test_the_folder_and_each_run_in_it_stand_for_the_job(tmp_path, a_run_of_a_rank):
    runs = [a_run_of_a_rank(tmp_path / "runs" / f"host{1 - r}-{r}", r) for r in (0, 1)]
    for place in (tmp_path / "runs", *runs):
        assert [f.name for f in find_ranks(str(place)).files] == [
            "host1-0/trace.json.gz", "host0-1/trace.json.gz",
        ]  # fmt: skip
    assert has_ranks(runs[1])
    assert job_of(find_ranks(str(tmp_path / "runs"))).straggler.rank == 1


def test_two_jobs_in_one_folder_are_told_apart_by_their_variant(tmp_path, a_run_of_a_rank):
    for variant in ("eager", "default"):
        for rank in (0, 1):
            a_run_of_a_rank(tmp_path / f"{variant}-{rank}", rank, variant=variant)
    assert [p.name for p in runs_inside(tmp_path)] == ["default-0", "eager-0"]
    assert find_ranks(str(tmp_path / "eager-1")).name == "eager"
    with pytest.raises(NotARun, match="4 runs"):
        find_ranks(str(tmp_path))


def test_the_same_job_twice_is_told_apart_by_the_captures_id(tmp_path, a_run_of_a_rank):
    for capture in ("monday", "tuesday"):
        for rank in (0, 1):
            a_run_of_a_rank(tmp_path / f"{capture}-{rank}", rank, capture_id=capture)
    beside = ranks_beside(tmp_path / "tuesday-0")
    assert {rank: p.name for rank, p in beside.items()} == {0: "tuesday-0", 1: "tuesday-1"}


def test_runs_that_are_not_clearly_of_one_job_stay_alone(tmp_path, a_run_of_a_rank):
    for name in ("a", "b"):
        a_run_of_a_rank(tmp_path / name, 0)
    a_run_of_a_rank(tmp_path / "c", 1, world=4)  # of another number of ranks
    assert ranks_beside(tmp_path / "a") == {}
    assert [p.name for p in runs_inside(tmp_path)] == ["a", "b", "c"]


def test_a_rank_without_a_trace_is_named_with_its_reason(tmp_path, a_run_of_a_rank):
    for rank in (0, 1, 2):
        a_run_of_a_rank(tmp_path / "runs" / str(rank), rank, world=3, trace=rank != 1)
    found = find_ranks(str(tmp_path / "runs"))
    assert [f.rank for f in found.files] == [0, 2]
    assert found.notes == ("Rank 1 (1) cannot be shown: it has no trace.",)


def test_folders_of_traces_are_jobs_to_compare(tmp_path, a_trace_file):
    for job in ("eager", "compiled"):
        for rank in (0, 1):
            a_trace_file(tmp_path / job / f"rank{rank}.json.gz")
    assert [p.name for p in runs_inside(tmp_path)] == ["compiled", "eager"]
    assert [p.name for p in runs_inside(tmp_path.parent / tmp_path.name)] == ["compiled", "eager"]
    assert runs_inside(tmp_path / "eager") == ()


def test_a_folder_of_rank_traces_opens_as_a_run_of_its_lowest_rank(tmp_path, a_trace_file):
    for rank in (2, 5):
        a_trace_file(tmp_path / f"rank{rank}.json.gz", rank=rank, world=8)
    run = open_run(tmp_path)
    assert (run.record.rank, run.record.world_size) == (2, 8)
    assert run.trace == tmp_path / "rank2.json.gz"
    assert has_ranks(tmp_path)


def test_traces_of_jobs_of_other_sizes_are_no_job(tmp_path, a_trace_file):
    for rank, world in ((1, 2), (3, 8)):
        a_trace_file(tmp_path / f"rank{rank}.json.gz", rank=rank, world=world)
    with pytest.raises(NotARun, match="2 traces"):
        open_run(tmp_path)
    assert not has_ranks(tmp_path)


def test_two_traces_that_are_no_ranks_are_still_no_run(tmp_path, a_trace_file):
    for name in ("eager.json.gz", "compiled.json.gz"):
        a_trace_file(tmp_path / name)
    with pytest.raises(NotARun, match="2 traces"):
        open_run(tmp_path)
    assert not has_ranks(tmp_path)

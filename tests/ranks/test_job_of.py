"""Many ranks in few processes, on a cluster, from a store; cancelled, damaged, packed."""

import multiprocessing

import fsspec
import polars as pl
import pytest

from profiler_core.errors import BadInput, Cancelled
from profiler_core.ranks.cluster import summaries_on
from profiler_core.ranks.find import find_ranks
from profiler_core.ranks.job_cache import cache_path, cached_job, keep_job
from profiler_core.ranks.job_of import job_of, kept_job
from profiler_core.ranks.summary_of import summary_of

N = 6
SLOW = 4


@pytest.fixture
def job_folder(tmp_path, a_trace_file):
    """Six ranks, rank 4 slow: each of the others waits 30 µs for it."""
    for rank in range(N):
        slow = rank == SLOW
        a_trace_file(
            tmp_path / "job" / f"rank{rank}.json.gz",
            rank=rank, world=N, compute=70 if slow else 40, wait=0 if slow else 30,
        )  # fmt: skip
    return tmp_path / "job"


def check(job):
    assert [row.rank for row in job.ranks] == list(range(N))
    assert job.straggler.rank == SLOW
    assert job.straggler.made_wait_ns == (N - 1) * 30_000
    assert {row.waited_ns for row in job.ranks if row.rank != SLOW} == {30_000}
    assert job.skew_ns == 30_000
    (arrival,) = job.arrivals
    assert (arrival.last_rank, arrival.last_share, arrival.bytes) == (SLOW, 1, 4000)


def test_processes_of_this_machine(job_folder):
    seen = []
    ranks = find_ranks(str(job_folder))
    check(job_of(ranks, n_processes=2, progress=lambda *now: seen.append(now)))
    assert seen == [(done, N) for done in range(1, N + 1)]
    assert multiprocessing.active_children() == []


def test_cancelling_leaves_no_process(job_folder):
    def cancel(done, total):
        raise Cancelled("Stopped.", remedy="Start again.")

    with pytest.raises(Cancelled):
        job_of(find_ranks(str(job_folder)), n_processes=2, progress=cancel)
    assert multiprocessing.active_children() == []


def test_a_store_behind_a_url_leaves_no_copy(job_folder, home):
    store = fsspec.filesystem("memory")
    store.put(str(job_folder), "/jobs/seven", recursive=True)
    check(job_of(find_ranks("memory://jobs/seven"), n_processes=1))
    assert list((home / "cache" / "fetched").iterdir()) == []


def test_the_job_of_a_store_is_kept_until_a_file_of_it_changes(job_folder, home, monkeypatch):
    store = fsspec.filesystem("memory")
    store.put(str(job_folder), "/jobs/kept", recursive=True)
    job = kept_job(find_ranks("memory://jobs/kept"), n_processes=1)
    with monkeypatch.context() as patched:
        patched.setattr("profiler_core.ranks.job_of.job_of", lambda *_: pytest.fail("read again"))
        assert kept_job(find_ranks("memory://jobs/kept")) == job
    store.pipe("/jobs/kept/rank0.json.gz", (job_folder / "rank0.json.gz").read_bytes())
    assert cached_job(find_ranks("memory://jobs/kept")) is None


def test_the_job_of_a_store_that_tells_no_times_is_read_each_time(job_folder, home, monkeypatch):
    store = fsspec.filesystem("memory")
    store.put(str(job_folder), "/jobs/timeless", recursive=True)
    entries = [{"name": entry["name"], "size": entry["size"]}
               for entry in store.ls("/jobs/timeless", detail=True)]  # fmt: skip
    monkeypatch.setattr(type(store), "ls", lambda *_, **__: entries)
    assert cache_path(find_ranks("memory://jobs/timeless"), "job") is None


def test_an_unreadable_rank_is_a_sentence_and_the_others_stand(job_folder):
    (job_folder / "rank5.json.gz").write_bytes(b"\x1f\x8bnot gzip")
    (job_folder / "rank0.json.gz").write_text('{"traceEvents": [')
    found = find_ranks(str(job_folder))
    unreadable = type(found.files[0])(5, str(job_folder / "rank5.json.gz"), "rank5.json.gz")
    summary = summary_of(unreadable)
    assert summary.problem
    job = job_of(type(found)(found.name, (*found.files[1:], unreadable)), n_processes=1)
    assert len(job.ranks) == N - 2
    assert any("rank5.json.gz" in note for note in job.notes)


def test_a_job_survives_packing_and_is_kept_until_a_file_changes(job_folder):
    found = find_ranks(str(job_folder))
    job = job_of(found, n_processes=1)
    assert cached_job(found) is None
    keep_job(found, job)
    assert cached_job(found) == job
    cache_path(found, "job").write_bytes(b"damaged")
    assert cached_job(found) is None
    (job_folder / "rank0.json.gz").touch()
    assert cache_path(find_ranks(str(job_folder)), "job").exists() is False


def test_a_cluster_of_two_processes(job_folder, home):
    distributed = pytest.importorskip("distributed")
    with distributed.LocalCluster(
        n_workers=2, threads_per_worker=1, processes=True, dashboard_address=None,
        env={"FUSIONSCOPE_HOME": str(home)},
    ) as cluster:  # fmt: skip
        check(job_of(find_ranks(str(job_folder)), scheduler=cluster.scheduler_address))


def test_a_scheduler_that_is_not_there_is_a_sentence(job_folder, monkeypatch):
    pytest.importorskip("distributed")
    monkeypatch.setattr("profiler_core.ranks.cluster._CONNECT_S", 0.2)
    with pytest.raises(BadInput, match="No Dask scheduler answers at tcp"):
        list(summaries_on("tcp://127.0.0.1:9", find_ranks(str(job_folder)).files))


def test_many_ranks_are_reduced_in_one_pass(job_folder):
    """A thousand copies of the summaries: the answer is the same, each rank has its own waiting."""
    from profiler_core.analysis.ranks.job import combine

    every = []
    for file in find_ranks(str(job_folder)).files:
        one = summary_of(file)
        for copy in range(100):
            moved = one.calls.with_columns(pl.lit(f"group {copy}").alias("group"))
            rank = copy * N + file.rank
            every.append(type(one)(**{**vars(one), "rank": rank, "calls": moved}))
    job = combine(every)
    assert len(job.ranks) == 100 * N
    assert sum(row.made_wait_ns for row in job.ranks) == 100 * (N - 1) * 30_000
    assert {row.rank % N for row in job.ranks if row.made_wait_ns} == {SLOW}

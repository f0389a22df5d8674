"""Which rank a trace is of, and what lies at a place."""

import zipfile

import fsspec
import pytest

from profiler_core.errors import BadInput, NotARun
from profiler_core.ingest.kinds import rank_header
from profiler_core.ingest.rank_of import rank_in_name
from profiler_core.ranks.find import find_ranks


@pytest.mark.parametrize(
    ("name", "rank"),
    [
        ("rank0.json.gz", 0),
        ("job/rank_12.json", 12),
        ("trace-rank-3.pt.trace.json", 3),
        ("my_resnet_rank=7.json", 7),
        ("worker5.1700000000.pt.trace.json", 5),
        ("run/ranks/4/trace.json.gz", 4),
        ("C:\\jobs\\rank2\\trace.json", 2),
        ("rank1/rank_9.json", 9),
        ("trace.json", None),
        ("frank3.json", None),
        ("epoch_3.json", None),
    ],
)
def test_a_name_tells_the_rank(name, rank):
    assert rank_in_name(name) == rank


def test_the_file_wins_over_its_name(tmp_path, a_trace_file):
    a_trace_file(tmp_path / "job" / "rank_7.json.gz", rank=1)
    a_trace_file(tmp_path / "job" / "rank_8.json", rank=0, packed=False)
    ranks = find_ranks(str(tmp_path / "job"))
    assert [(f.rank, f.name) for f in ranks.files] == [(0, "rank_8.json"), (1, "rank_7.json.gz")]
    assert ranks.notes == ()
    assert rank_header(tmp_path / "job" / "rank_8.json").world_size == 2


def test_without_any_word_the_order_of_the_names_counts_and_is_said(tmp_path, a_trace_file):
    for name in ("b.json.gz", "a.json.gz", "c_rank0.json.gz"):
        a_trace_file(tmp_path / "job" / name)
    ranks = find_ranks(str(tmp_path / "job"))
    assert [(f.rank, f.name) for f in ranks.files] == [
        (0, "c_rank0.json.gz"), (1, "a.json.gz"), (2, "b.json.gz"),
    ]  # fmt: skip
    assert ranks.notes == (
        "The rank of 2 of 3 traces is neither in the file nor in its name; they are numbered in "
        "the order of their names: a.json.gz as rank 1, b.json.gz as rank 2.",
    )


def test_several_files_of_one_rank_are_an_error(tmp_path, a_trace_file):
    for name in ("eager.json.gz", "compiled.json.gz"):
        a_trace_file(tmp_path / "job" / name, rank=1)
    with pytest.raises(BadInput, match=r"Rank 1 is in several files: compiled.*eager"):
        find_ranks(str(tmp_path / "job"))


def test_a_zip_and_a_folder_inside_it(tmp_path, a_trace_file):
    with zipfile.ZipFile(tmp_path / "job.zip", "w") as archive:
        for rank in (0, 1):
            path = a_trace_file(tmp_path / f"rank{rank}.json.gz", rank=rank)
            archive.write(path, f"job/traces/{path.name}")
        archive.writestr("job/traces/notes.txt", "no trace")
    assert [f.rank for f in find_ranks(str(tmp_path / "job.zip")).files] == [0, 1]


def test_a_url_is_listed_and_nothing_of_it_is_read(a_trace_file, tmp_path):
    store = fsspec.filesystem("memory")
    for rank in (1, 0):
        local = a_trace_file(tmp_path / "local.json.gz", rank=rank)
        store.put_file(str(local), f"/bucket/job/rank{rank}/trace.json.gz")
    store.pipe_file("/bucket/job/run.json", b"{}")
    ranks = find_ranks("memory://bucket/job")
    assert [(f.rank, f.name) for f in ranks.files] == [
        (0, "rank0/trace.json.gz"), (1, "rank1/trace.json.gz"),
    ]  # fmt: skip
    assert ranks.files[0].location.startswith("memory://")


def test_a_run_directory_has_rank_0_in_itself_and_the_others_below(tmp_path, a_trace_file):
    run = tmp_path / "eager"
    a_trace_file(run / "trace.json.gz", rank=0)
    a_trace_file(run / "ranks" / "1" / "trace.json.gz", rank=1)
    (run / "ranks" / "2").mkdir()
    (run / "run.json").write_text("{}")
    ranks = find_ranks(str(run))
    assert [f.rank for f in ranks.files] == [0, 1]
    assert ranks.notes == ("Rank 2 has no trace.",)


@pytest.mark.parametrize("place", ["nowhere", "empty", "nosuch://bucket/x", "memory://absent/x"])
def test_where_nothing_lies_it_is_said(tmp_path, place):
    (tmp_path / "empty").mkdir()
    where = place if "://" in place else str(tmp_path / place)
    with pytest.raises((BadInput, NotARun)) as error:
        find_ranks(where)
    assert error.value.remedy


def test_a_broken_file_that_is_named_by_a_rank_keeps_its_place(tmp_path, a_trace_file):
    for rank in (0, 2):
        a_trace_file(tmp_path / "job" / f"rank{rank}.json.gz", rank=rank)
    (tmp_path / "job" / "rank1.json.gz").write_bytes(b"\x1f\x8bbroken")
    (tmp_path / "job" / "rank0_config.json").write_text('{"no": "trace"}')  # rank 0 has one
    (tmp_path / "job" / "rank3.txt").write_text("no trace either")
    ranks = find_ranks(str(tmp_path / "job"))
    assert [(f.rank, f.name) for f in ranks.files] == [
        (0, "rank0.json.gz"), (1, "rank1.json.gz"), (2, "rank2.json.gz"),
    ]  # fmt: skip


def test_a_folder_of_each_rank(tmp_path, a_trace_file):
    for rank in (0, 1):
        a_trace_file(tmp_path / "job" / f"rank_{rank}" / "trace.json.gz")
    assert [f.rank for f in find_ranks(str(tmp_path / "job")).files] == [0, 1]


def test_a_folder_of_two_runs_is_no_job(tmp_path):
    for name in ("eager", "default"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "run.json").write_text("{}")
    with pytest.raises(NotARun, match=r"2 runs \(default, eager\)"):
        find_ranks(str(tmp_path))

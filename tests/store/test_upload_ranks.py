"""A zip of rank traces, or of a run of several ranks, becomes one run for each job."""

import gzip
import json
import shutil
import zipfile
from pathlib import Path

import pytest

from profiler_core.ranks.find import find_ranks
from profiler_core.store import library
from profiler_core.store.upload_ranks import job_name, jobs_among
from tests.everything import comparisons
from tests.uploading import accept

SAMPLE = Path(__file__).resolve().parents[2] / "sample_traces" / "ddp"


@pytest.fixture(autouse=True)
def home(tmp_path, monkeypatch):
    monkeypatch.setenv("FUSIONSCOPE_HOME", str(tmp_path / "home"))


def upload(*files):
    return accept({name: Path(path).read_bytes() for name, path in files})


def zipped(path, members):
    with zipfile.ZipFile(path, "w") as archive:
        for name, source in members:
            archive.write(source, name)
    return path


def traces(variant):
    return SAMPLE / variant / "trace.json.gz", SAMPLE / variant / "ranks" / "1" / "trace.json.gz"


def test_a_zip_of_two_jobs_is_one_comparison_of_two_runs(tmp_path):
    members = [
        (f"job/{variant}/rank{rank}.json.gz", path)
        for variant in ("eager", "default")
        for rank, path in enumerate(traces(variant))
    ]
    accepted = upload(("job.zip", zipped(tmp_path / "job.zip", members)))
    assert accepted.notes == ()
    first, second = (library.entry(key) for key in accepted.keys)
    assert (first.run.name, second.run.name) == ("eager", "default")
    assert (first.run.role, second.run.role) == ("baseline", "candidate")
    assert first.run.world_size == 2
    for entry in (first, second):
        assert [file.rank for file in find_ranks(str(entry.path)).files] == [0, 1]


def test_a_zip_of_a_run_of_two_ranks_is_that_run(tmp_path):
    members = [
        (f"capture/eager/{name}", SAMPLE / "eager" / name)
        for name in ("run.json", "trace.json.gz", "ranks/1/run.json", "ranks/1/trace.json.gz")
    ]
    (key,) = upload(("c.zip", zipped(tmp_path / "c.zip", members))).keys
    entry = library.entry(key)
    assert (entry.run.workload, entry.run.world_size) == ("ddp", 2)
    assert [file.rank for file in find_ranks(str(entry.path)).files] == [0, 1]


def test_ranks_without_the_first_keep_their_numbers(tmp_path):
    def ranked(rank):
        text = gzip.decompress(traces("eager")[1].read_bytes()).replace(
            b'"rank": 1, "world_size": 2', f'"rank": {rank}, "world_size": 8'.encode()
        )
        path = tmp_path / f"{rank}.json.gz"
        path.write_bytes(gzip.compress(text, 1))
        return path

    (key,) = upload(*((f"r{rank}.json.gz", ranked(rank)) for rank in (3, 5))).keys
    entry = library.entry(key)
    assert [file.rank for file in find_ranks(str(entry.path)).files] == [3, 5]
    assert entry.run.world_size == 8  # not 2, the ranks that came along


def single_ranks(folder):
    """The two ranks of the sample as run directories of their own, beside each other."""
    members = []
    for variant in ("eager", "default"):
        for rank, below in ((1, "ranks/1"), (0, ".")):
            source = SAMPLE / variant / below
            record = json.loads((source / "run.json").read_text()) | {"rank": rank}
            file = folder / f"{variant}-{rank}.json"
            file.write_text(json.dumps(record))
            members += [
                (f"runs/{variant}-r{rank}/run.json", file),
                (f"runs/{variant}-r{rank}/trace.json.gz", source / "trace.json.gz"),
            ]
    return members  # fmt: skip


def test_run_directories_of_single_ranks_are_one_run_for_each_job(tmp_path):
    accepted = upload(("runs.zip", zipped(tmp_path / "runs.zip", single_ranks(tmp_path))))
    assert accepted.notes == ()
    entries = [library.entry(key) for key in accepted.keys]
    assert [e.run.variant for e in entries] == ["eager", "default"]
    for entry in entries:
        assert [file.rank for file in find_ranks(str(entry.path)).files] == [0, 1]


@pytest.mark.parametrize(("below", "n_groups"), [("runs", 2), ("runs/job", 1)])
def test_run_directories_of_single_ranks_are_listed_once(tmp_path, below, n_groups):
    for name, source in single_ranks(tmp_path):
        target = tmp_path / "home" / below / name.removeprefix("runs/")
        target.parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(source, target)
    groups = [g for g in comparisons() if g.origin == "capture"]
    assert len(groups) == n_groups
    assert {e.path.name for g in groups for e in g.entries} == {"eager-r0", "default-r0"}


def test_a_broken_first_rank_leaves_the_others(tmp_path):
    broken = tmp_path / "rank0.json"
    broken.write_text('{"schemaVersion": 1, "distributedInfo": {"rank": 0, "world_size": 2}')
    accepted = upload(("rank0.json", broken), ("rank1.json.gz", traces("eager")[1]))
    assert len(accepted.keys) == 1
    assert any("rank0.json" in note for note in accepted.notes)


@pytest.mark.parametrize(
    ("names", "infos", "jobs"),
    [
        # The files say it, in one folder.
        (("j/a.json", "j/b.json"), ((0, 2), (1, 2)), [{0: 0, 1: 1}]),
        # Each in its own folder: the names differ in the rank alone.
        (("j/rank0/t.json", "j/rank1/t.json"), ((0, 2), (1, 2)), [{0: 0, 1: 1}]),
        (("rank0.json", "rank1.json"), (None, None), [{0: 0, 1: 1}]),
        # Two jobs of one rank each, to be compared.
        (("eager.json", "compiled.json"), ((0, 2), (0, 2)), []),
        (("eager_rank0.json", "compiled_rank0.json"), (None, None), []),
        (("eager.json", "compiled.json"), ((0, 1), (0, 1)), []),
        # Rank 3 of a job of 8 and rank 1 of one of 2: the page said "rank 3 of 2".
        (("control.json", "test.json"), ((3, 8), (1, 2)), []),
        (("rank1.json", "rank3.json"), ((1, 2), (3, 8)), []),
    ],
)  # fmt: skip
def test_what_is_a_job(tmp_path, names, infos, jobs):
    found = []
    for number, (name, info) in enumerate(zip(names, infos, strict=True)):
        path = tmp_path / f"{number}.json"
        said = {"distributedInfo": {"rank": info[0], "world_size": info[1]}} if info else {}
        path.write_text(json.dumps({"schemaVersion": 1, **said, "traceEvents": []}))
        found.append((name, path))
    assert jobs_among(found) == jobs


@pytest.mark.parametrize(
    ("names", "name"),
    [
        (("job/eager/rank0.json", "job/eager/rank1.json"), "eager"),
        (("my_rank0.json", "my_rank1.json"), "my"),
        (("rank0/trace.json", "rank1/trace.json"), "trace"),
    ],
)
def test_a_job_has_a_name(names, name):
    assert job_name(names) == name

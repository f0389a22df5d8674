"""The command `ranks` on what torchrun jobs leave behind."""

import json
import zipfile

import pytest

from profiler_core.cli.main import main


@pytest.fixture
def traces(tmp_path, a_trace_file):
    """eager/ and compiled/, each of two ranks; rank 1 is late in both."""
    for job, compute in (("eager", 40), ("compiled", 30)):
        for rank in (0, 1):
            a_trace_file(
                tmp_path / "traces" / job / f"rank{rank}.json.gz",
                rank=rank, compute=compute + 20 * rank, wait=20 - 20 * rank,
            )  # fmt: skip
    return tmp_path / "traces"


def answer(capsys, *words):
    assert main(["ranks", *map(str, words), "--json"]) == 0
    return json.loads(capsys.readouterr().out)


def test_a_folder_of_two_jobs_is_compared_eager_first(traces, capsys):
    found = answer(capsys, traces)
    assert [job["source"].rsplit("/", 1)[-1] for job in found["jobs"]] == ["eager", "compiled"]
    assert [job["headline"] for job in found["jobs"]] == ["Rank 0 waits for rank 1"] * 2
    values = {measure["key"]: measure["values"] for measure in found["comparison"]}
    assert values["compute_ns"] == [50_000, 40_000]
    assert values["straggler"] == [1, 1]
    for key in ("exposed_communication_ns", "skew_ns", "compute_imbalance", "wait_share",
                "bus_bandwidth_all_reduce"):  # fmt: skip
        assert None not in values[key], key


def test_one_rank_alone_neither_waits_nor_makes_wait(traces, capsys):
    """ "Who waits for whom cannot be told from one rank", and "waited 0 ns" below it."""
    assert main(["ranks", str(traces / "eager" / "rank0.json.gz")]) == 0
    (row,) = (line for line in capsys.readouterr().out.splitlines() if line.startswith("rank 0"))
    assert row.split()[-2:] == ["–", "–"]


def test_a_zip_of_two_jobs_is_compared_too(traces, tmp_path, capsys):
    with zipfile.ZipFile(tmp_path / "jobs.zip", "w") as archive:
        for file in traces.rglob("*.gz"):
            archive.write(file, file.relative_to(tmp_path))
    found = answer(capsys, tmp_path / "jobs.zip")
    assert [len(job["ranks"]) for job in found["jobs"]] == [2, 2]


def test_run_directories_of_single_ranks_are_one_job_a_variant(tmp_path, a_run_of_a_rank, capsys):
    for variant in ("default", "eager"):
        for rank in (0, 1):
            a_run_of_a_rank(tmp_path / "runs" / f"{variant}{rank}", rank, variant=variant)
    found = answer(capsys, tmp_path / "runs")
    assert [job["source"].rsplit("/", 1)[-1] for job in found["jobs"]] == ["eager0", "default0"]
    assert [len(job["ranks"]) for job in found["jobs"]] == [2, 2]


def test_a_missing_rank_of_eight_is_named_and_the_rest_stands(tmp_path, a_trace_file, capsys):
    for rank in (0, 1, 2, 4, 5, 6, 7):
        late = rank == 5
        a_trace_file(tmp_path / "job" / f"rank{rank}.json.gz", rank=rank, world=8,
                     compute=40 + 20 * late, wait=20 - 20 * late)  # fmt: skip
    # In this process: a machine that is short of memory may end one of a pool, which is an error.
    (job,) = answer(capsys, tmp_path / "job", "--processes", 1)["jobs"]
    assert job["missing"] == [3]
    assert job["headline"] == "The other 6 ranks wait for rank 5"
    assert "rank 3 is missing" in " ".join(job["notes"])

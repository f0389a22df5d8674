"""Ranks find one folder without asking each other; other runs never share it."""

import pytest

from profiler_core.record.run_location import Ranks, ranks, run_location

TWO = [Ranks(rank, 2, True) for rank in range(2)]


@pytest.fixture(autouse=True)
def bare(monkeypatch):
    for name in (
        "RANK", "WORLD_SIZE", "LOCAL_WORLD_SIZE", "TORCHELASTIC_RUN_ID", "MASTER_PORT",
        "TORCHELASTIC_RESTART_COUNT", "SLURM_RESTART_COUNT", "PMIX_NAMESPACE",
    ):  # fmt: skip
        monkeypatch.delenv(name, raising=False)


def test_a_process_alone_has_a_name_of_its_own_each_time(tmp_path):
    found = [
        run_location(tmp_path, "My Train!", "eager", Ranks(0, 1, True), None, 0) for _ in range(2)
    ]
    assert found[0].directory != found[1].directory
    assert "-my-train-eager-" in found[0].directory.name
    assert found[0].directory == tmp_path / found[0].capture_id


def test_ranks_of_one_host_meet_by_their_parent(tmp_path):
    first, second = (run_location(tmp_path, "w", "eager", own, None, 0) for own in TWO)
    assert first.capture_id == second.capture_id
    assert second.directory == first.directory / "ranks" / "1"


def test_the_second_recording_of_a_job_lies_beside_the_first(tmp_path):
    first, second = (run_location(tmp_path, "w", "eager", TWO[0], None, n) for n in range(2))
    assert first.directory != second.directory


def test_ranks_of_several_hosts_meet_by_what_their_launcher_says(tmp_path, monkeypatch):
    monkeypatch.setenv("TORCHELASTIC_RUN_ID", "4711")
    monkeypatch.setenv("MASTER_PORT", "29500")
    found = {
        run_location(tmp_path, "w", "x", Ranks(r, 4, False), None, 0).capture_id for r in range(4)
    }
    monkeypatch.setenv("MASTER_PORT", "29501")
    other = run_location(tmp_path, "w", "x", Ranks(0, 4, False), None, 0).capture_id
    assert len(found) == 1
    assert other not in found


def test_a_job_that_is_named_twice_gets_a_second_folder(tmp_path):
    places = []
    for _ in range(2):
        places.append([run_location(tmp_path, "w", "x", own, "nightly", 0) for own in TWO])
        for one in places[-1]:
            (one.directory / "run.json").write_text("{}")
    assert places[1][0].directory.name == f"{places[0][0].directory.name}-2"
    assert [p.directory.parent.parent for p in (places[0][1], places[1][1])] == [
        places[0][0].directory,
        places[1][0].directory,
    ]


def meets(tmp_path, process_ranks, job="nightly"):
    """The run to which this rank's files belong."""
    return run_location(tmp_path, "w", "x", process_ranks, job, 0).capture_id


@pytest.mark.parametrize(
    "name", ["TORCHELASTIC_RUN_ID", "TORCHELASTIC_RESTART_COUNT", "SLURM_RESTART_COUNT"]
)
@pytest.mark.parametrize("job", ["nightly", None])
def test_a_start_after_one_of_rank_0_alone_is_a_run_of_its_own(tmp_path, monkeypatch, name, job):
    ranks_of_hosts = [Ranks(rank, 2, False) for rank in range(2)]
    monkeypatch.setenv(name, "0")
    alone = meets(tmp_path, ranks_of_hosts[0], job)
    monkeypatch.setenv(name, "1")
    again = {meets(tmp_path, own, job) for own in ranks_of_hosts}
    assert len(again) == 1
    assert alone not in again


def test_a_start_by_another_torchrun_of_this_host_is_a_run_of_its_own(tmp_path, monkeypatch):
    for name in ("WORLD_SIZE", "LOCAL_WORLD_SIZE"):
        monkeypatch.setenv(name, "2")
    alone = meets(tmp_path, TWO[0])
    monkeypatch.setattr("os.getppid", lambda: 1)
    again = {meets(tmp_path, own) for own in TWO}
    assert len(again) == 1
    assert alone not in again


def test_the_store_of_the_process_group_tells_starts_apart(tmp_path, monkeypatch):
    """Nothing in the environment differs: `mp.spawn`, or one more `torchrun --master-port`."""
    distributed = pytest.importorskip("torch.distributed")
    monkeypatch.setattr(distributed, "is_initialized", lambda: True)
    runs = []
    for n_ranks in (1, 2):
        store = distributed.HashStore()
        monkeypatch.setattr(distributed.distributed_c10d, "_get_default_store", lambda s=store: s)
        runs.append({meets(tmp_path, own) for own in TWO[:n_ranks]})
    assert len(runs[1]) == 1
    assert not runs[0] & runs[1]


def test_two_that_begin_at_once_with_one_name_share_no_folder(tmp_path):
    alone = Ranks(0, 1, True)
    both = [run_location(tmp_path, "w", "x", alone, "nightly", 0).directory for _ in range(2)]
    assert both[1].name == f"{both[0].name}-2"


def test_the_variables_of_torchrun_say_which_rank_this_is(monkeypatch):
    assert ranks() == Ranks(0, 1, True)
    for name, value in (("RANK", "3"), ("WORLD_SIZE", "8"), ("LOCAL_WORLD_SIZE", "4")):
        monkeypatch.setenv(name, value)
    assert ranks() == Ranks(3, 8, False)

"""Work of our own modules as jobs: queued, followed, started again, and what they answer."""

import os
import signal
import sys
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from profiler_core import home
from profiler_core.errors import BadInput
from profiler_core.jobs import directory as files
from profiler_core.jobs import resuming
from profiler_core.jobs import service as jobs
from profiler_core.jobs.queue import QueueFull
from profiler_core.worker.protocol import Progress
from tests.jobs.waiting import is_running, wait_for

READER = "tests.jobs.reader"  # the supervisor stands in the checkout


def submit(folder: Path, name: str, deed: str = "", **more: Any) -> str:
    return jobs.submit(
        [sys.executable, "-m", READER, name, str(folder), deed], title=name, kind="read", **more
    )


def began(folder: Path, name: str) -> list[int]:
    """The process ids of each start."""
    path = folder / f"{name}.began"
    return [int(line) for line in path.read_text().split()] if path.exists() else []


def go(folder: Path, *names: str) -> None:
    for name in names:
        (folder / f"{name}.go").touch()


def ended(job_id: str) -> jobs.Job:
    wait_for(lambda: not jobs.job(job_id).is_live)
    return jobs.job(job_id)


def kill_supervisor(job_id: str) -> None:
    os.kill(int((jobs.job(job_id).directory / files.ALIVE).read_text()), signal.SIGKILL)
    directory = jobs.job(job_id).directory
    wait_for(lambda: not files.is_supervised(directory, files.read_spec(directory)))


def test_a_job_says_how_far_it_is_and_what_it_gave(tmp_path: Path) -> None:
    job_id = submit(tmp_path, "a", "prints")
    wait_for(lambda: jobs.job(job_id).newest.share == 0.25)
    assert jobs.job(job_id).newest.text == "A quarter"
    go(tmp_path, "a")
    assert [p.stage for p in jobs.follow(job_id) if p.stage == "queued"] == []
    assert jobs.result(job_id, dict[str, int]) == {"n_begun": 1}
    assert jobs.log_tail(job_id) == "a library says hello"
    assert files.live_directories(home.jobs_directory()) == {}


def test_a_job_that_has_its_result_is_not_said_to_begin_anew(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """The bar of a page fell back to 0 at the end."""
    progress = (Progress(1, 2), Progress(2, 2), Progress(), None)
    looks = iter(
        SimpleNamespace(is_live=each is not None, state="running", newest=each) for each in progress
    )
    monkeypatch.setattr(jobs, "job", lambda _: next(looks))
    assert list(jobs.follow("j")) == [Progress(1, 2), Progress(2, 2), Progress(2, 2)]


def test_no_more_jobs_run_at_once_than_the_settings_allow(tmp_path: Path) -> None:
    (tmp_path / "settings.toml").write_text("[jobs]\nat_once = 1\n")
    first = submit(tmp_path, "first")
    wait_for(lambda: began(tmp_path, "first"))
    second, third = submit(tmp_path, "second"), submit(tmp_path, "third")
    wait_for(lambda: jobs.job(third).n_ahead == 1)
    assert jobs.job(second).state == "queued"
    assert (began(tmp_path, "second"), began(tmp_path, "third")) == ([], [])
    go(tmp_path, "second", "first")
    wait_for(lambda: began(tmp_path, "third"))
    assert (ended(first).state, ended(second).state) == ("finished", "finished")
    go(tmp_path, "third")
    assert ended(third).state == "finished"


def test_a_person_and_all_together_may_have_so_many_jobs(tmp_path: Path) -> None:
    (tmp_path / "settings.toml").write_text("[jobs]\nper_person = 1\nin_all = 2\n")
    submit(tmp_path, "a", owner="ada")
    with pytest.raises(QueueFull, match="You have 1 jobs that run or wait"):
        submit(tmp_path, "b", owner="ada")
    submit(tmp_path, "b", owner="bob")
    with pytest.raises(QueueFull, match="2 jobs run or wait on this server"):
        submit(tmp_path, "c", owner="carl")
    assert len(jobs.jobs()) == 2


def test_who_wants_the_same_gets_the_same_job(tmp_path: Path) -> None:
    shared = {"subject": "x.json", "is_shared": True}
    first = submit(tmp_path, "a", owner="ada", **shared)
    assert submit(tmp_path, "a", owner="bob", **shared) == first
    assert submit(tmp_path, "b", subject="y.json", is_shared=True) != first
    go(tmp_path, "a", "b")
    ended(first)
    again = submit(tmp_path, "a", **shared)
    assert again != first
    ended(again)


def test_a_failure_has_the_sentences_of_the_module(tmp_path: Path) -> None:
    job = ended(submit(tmp_path, "x.json", "fails"))
    assert (job.state, job.error, job.remedy) == (
        "failed", "x.json is no trace.", "Drop another file.",
    )  # fmt: skip
    with pytest.raises(BadInput, match=r"x\.json is no trace\. Drop another file\."):
        jobs.result(job.job_id, dict[str, int])


def test_a_full_disk_is_told_as_what_it_is(tmp_path: Path) -> None:
    job = ended(submit(tmp_path, "x.json", "full"))
    assert job.error == (
        "There is no room for what was read, at /home/cache/x: No space left on device."
    )
    assert "memory" not in f"{job.error} {job.remedy}"


def test_a_cancelled_job_gives_no_result(tmp_path: Path) -> None:
    job_id = submit(tmp_path, "a")
    wait_for(lambda: began(tmp_path, "a"))
    jobs.cancel(job_id)
    assert ended(job_id).state == "cancelled"
    with pytest.raises(BadInput, match="cancelled before there was a result"):
        jobs.result(job_id, dict[str, int])


def test_a_killed_command_starts_again_and_at_last_is_given_up(tmp_path: Path) -> None:
    job_id = submit(tmp_path, "a")
    wait_for(lambda: began(tmp_path, "a"))
    os.kill(began(tmp_path, "a")[0], signal.SIGKILL)
    wait_for(lambda: len(began(tmp_path, "a")) == 2)
    go(tmp_path, "a")
    ended(job_id)
    assert jobs.result(job_id, dict[str, int]) == {"n_begun": 2}
    job = ended(submit(tmp_path, "b", "dies"))
    assert (job.state, len(began(tmp_path, "b"))) == ("failed", files.MOST_STARTS)
    assert job.error is not None and "(SIGKILL) 3 times" in job.error


def test_what_a_killed_supervisor_left_starts_again(tmp_path: Path) -> None:
    job_id = submit(tmp_path, "a")
    wait_for(lambda: began(tmp_path, "a"))
    kill_supervisor(job_id)
    assert jobs.job(job_id).state == "queued"
    assert jobs.job(job_id).waiting_for == "Was interrupted, and starts again."
    assert resuming.resume_interrupted() == (job_id,)
    assert resuming.resume_interrupted() == ()  # another server looks at the same moment
    wait_for(lambda: len(began(tmp_path, "a")) == 2)
    assert not is_running(began(tmp_path, "a")[0])  # two would write into the same folder
    go(tmp_path, "a")
    assert ended(job_id).state == "finished"


def test_the_end_of_the_machine_keeps_what_can_start_again(tmp_path: Path) -> None:
    job_id = submit(tmp_path, "a")
    wait_for(lambda: began(tmp_path, "a"))
    supervisor = int((jobs.job(job_id).directory / files.ALIVE).read_text())
    os.kill(supervisor, signal.SIGTERM)
    wait_for(lambda: jobs.job(job_id).waiting_for == "Was interrupted, and starts again.")
    assert resuming.resume_interrupted() == (job_id,)
    go(tmp_path, "a")
    assert ended(job_id).state == "finished"


def test_an_interrupted_capture_has_ended_for_good(tmp_path: Path) -> None:
    fake = str(Path(__file__).with_name("fake_capture.py"))
    job_id = jobs.submit(
        [sys.executable, fake, "{progress}", "--until", str(tmp_path / "never")],
        title="x",
        device="cpu",
    )
    wait_for(lambda: "pid" in jobs.log_tail(job_id))
    kill_supervisor(job_id)
    assert resuming.resume_interrupted() == ()
    status = files.read_status(jobs.job(job_id).directory)
    assert status.state == "interrupted"
    assert status.remedy == "Start it again; what was measured is kept with the runs."
    assert files.live_directories(home.jobs_directory()) == {}


def test_a_submission_that_was_killed_half_way_leaves_nothing(tmp_path: Path) -> None:
    root = home.jobs_directory()
    directory = root / "20260101-000000-abcdef"
    files.mark_live(directory)
    directory.mkdir()
    resuming.resume_interrupted()
    assert directory.exists()  # it may be made just now
    os.utime(root / "live" / directory.name, (1, 1))
    resuming.resume_interrupted()
    assert not directory.exists()
    assert files.live_directories(root) == {}


def test_a_read_file_leaves_the_list_after_a_day_and_all_else_after_thirty(tmp_path: Path) -> None:
    go(tmp_path, "a")
    read = ended(submit(tmp_path, "a"))
    failed = ended(submit(tmp_path, "x", "fails"))
    running = submit(tmp_path, "b")
    assert read.ended_at is not None
    day_s = 24 * 3600.0
    resuming.tidy_up(read.ended_at + 0.9 * day_s)
    assert len(jobs.jobs()) == 3
    resuming.tidy_up(read.ended_at + 1.1 * day_s)
    assert {job.job_id for job in jobs.jobs()} == {failed.job_id, running}
    resuming.tidy_up(read.ended_at + 31 * day_s)
    assert [job.job_id for job in jobs.jobs()] == [running]


def test_a_capture_keeps_its_owner_after_any_number_of_newer_jobs(tmp_path: Path) -> None:
    out = tmp_path / "runs" / "20250101-000000-x"
    out.mkdir(parents=True)
    line = b'{"t": 1.0, "phase": "starting"}\n'
    (out / files.PROGRESS).write_bytes(line)
    for n in range(60):
        directory = home.jobs_directory() / f"20260101-000000-{n:06x}"
        directory.mkdir(parents=True)
        files.write(directory, files.JobStatus(state="finished"))
        owner = "ada" if n == 0 else "bob"
        spec = files.JobSpec(
            job_id=directory.name, command=(), title="x", device="cpu", submitted_at=n, owner=owner
        )
        files.write(directory, spec)
        (directory / files.PROGRESS).write_bytes(
            line if n == 0 else line.replace(b"1.0", b"%d.5" % n)
        )
    assert jobs.owner_of_capture(out) == "ada"
    assert jobs.owner_of_capture(tmp_path) is None


def test_a_home_that_cannot_be_written_is_a_sentence(tmp_path: Path) -> None:
    (tmp_path / "jobs").write_text("a file where the folder belongs")
    with pytest.raises(BadInput, match="jobs cannot be written"):
        submit(tmp_path, "a")
    (tmp_path / "jobs").unlink()


def test_files_that_one_person_has_made_do_not_fill_the_disk(tmp_path: Path) -> None:
    for n, (owner, kind, state) in enumerate(
        [("ada", "report", "finished"), ("bob", "report", "finished"), ("ada", "read", "finished"),
         ("ada", "export", "failed"), ("ada", "report", "running"), ("ada", "report", "finished")]
    ):  # fmt: skip
        directory = home.jobs_directory() / f"20260101-000000-{n:06x}"
        directory.mkdir(parents=True)
        files.write(directory, files.JobStatus(state=state))
        files.write(directory, files.JobSpec(
            job_id=directory.name, command=(), title="x", device="", submitted_at=n, owner=owner,
            kind=kind, host="elsewhere",
        ))  # fmt: skip
        (directory / "report.html").write_bytes(b"x" * 1_000)

    def left() -> list[int]:
        return sorted(int(path.name[-1]) for path in home.jobs_directory().iterdir())

    jobs.forget_made("ada", ("report", "export"), 10_000)
    assert left() == [0, 1, 2, 3, 4, 5]
    jobs.forget_made("ada", ("report", "export"), 3_000)
    assert left() == [1, 2, 3, 4, 5]
    jobs.forget_made("ada", ("report", "export"), 1)
    assert left() == [1, 2, 4, 5]

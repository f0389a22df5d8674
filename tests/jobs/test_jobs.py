"""Jobs: what a page sees of a capture that runs on its own, whatever becomes of it."""

import json
import os
import re
import signal
import sys
import time
from pathlib import Path

import pytest

from profiler_core import home
from profiler_core.errors import BadInput
from profiler_core.jobs import directory as job_directory
from profiler_core.jobs import service as jobs
from profiler_core.jobs.bounded_log import trim
from profiler_core.jobs.capture_progress import fold
from tests.jobs.waiting import is_running, wait_for

FAKE = [sys.executable, str(Path(__file__).with_name("fake_capture.py")), "{progress}"]


def submit(*more: str, device: str = "cpu", title: str = "fake", out: Path | None = None) -> str:
    return jobs.submit([*FAKE, *more], title=title, device=device, out=out)


def wait_for_state(job_id: str, *states: str) -> jobs.Job:
    wait_for(lambda: jobs.job(job_id).state in states)
    return jobs.job(job_id)


def wait_for_pid(job_id: str) -> int:
    wait_for(lambda: "pid" in jobs.log_tail(job_id, 1000))
    match = re.search(r"pid (\d+)", jobs.log_tail(job_id, 1000))
    assert match
    return int(match[1])


def supervisor_of(job_id: str) -> int:
    return int((home.jobs_directory() / job_id / job_directory.ALIVE).read_text())


def zombies_of(parent: int) -> list[str]:
    found = []
    for stat in Path("/proc").glob("[0-9]*/stat"):
        try:
            state, ppid = stat.read_text().rpartition(")")[2].split()[:2]
        except (FileNotFoundError, ProcessLookupError):
            continue
        if state == "Z" and int(ppid) == parent:
            found.append(stat.parent.name)
    return found


def test_a_job_finishes_and_says_how_it_went() -> None:
    done = wait_for_state(submit(), "finished")
    assert done.error is None
    assert done.started_at and done.ended_at and done.started_at <= done.ended_at
    timing = next(phase for phase in done.progress.phases if phase.phase == "timing")
    assert (timing.variant, timing.done, timing.total, timing.fraction) == ("eager", 3, 3, 1.0)
    assert jobs.log_tail(done.job_id).splitlines()[-1] == "step 3 red"


def test_the_supervisor_is_no_child_of_the_server(tmp_path: Path) -> None:
    job_id = submit("--until", str(tmp_path / "go"))
    wait_for_state(job_id, "running")
    supervisor = supervisor_of(job_id)
    stat = Path(f"/proc/{supervisor}/stat").read_text()
    assert int(stat.rpartition(")")[2].split()[1]) != os.getpid()
    assert os.getsid(supervisor) != os.getsid(0)
    assert zombies_of(os.getpid()) == []
    (tmp_path / "go").touch()
    wait_for_state(job_id, "finished")


def test_the_sentence_of_the_capture_is_the_error_of_the_job() -> None:
    job = wait_for_state(
        submit("--status", "2", "--fail", "model.py has no function build."), "failed"
    )
    assert job.error == "model.py has no function build."


def test_without_a_sentence_the_last_words_of_the_log_are_the_error() -> None:
    job = wait_for_state(submit("--status", "3"), "failed")
    assert job.error is not None and "step 3" in job.error


def test_a_capture_of_which_some_variants_failed_has_finished() -> None:
    job = wait_for_state(submit("--status", "3", "--last-word", "finished"), "finished", "failed")
    assert (job.state, job.error) == ("finished", None)


def test_a_capture_that_was_stopped_from_a_shell_is_cancelled() -> None:
    job = wait_for_state(submit("--status", "2", "--last-word", "cancelled"), "cancelled", "failed")
    assert job.state == "cancelled"


def test_a_job_finds_its_own_capture_among_others(tmp_path: Path) -> None:
    runs = tmp_path / "runs"
    first = submit("--folder", str(runs / "b"), out=runs)
    second = submit("--folder", str(runs / "a"), out=runs, device="gpu0")
    assert wait_for_state(first, "finished").result == runs / "b"
    assert wait_for_state(second, "finished").result == runs / "a"
    assert wait_for_state(submit(), "finished").result is None


def test_a_command_that_is_not_there_is_one_sentence() -> None:
    job_id = jobs.submit(["/nowhere/python"], title="x", device="cpu")
    job = wait_for_state(job_id, "failed")
    assert job.error is not None and "/nowhere/python" in job.error


def test_cancel_stops_the_capture(tmp_path: Path) -> None:
    job_id = submit("--until", str(tmp_path / "never"))
    pid = wait_for_pid(job_id)
    jobs.cancel(job_id)
    job = wait_for_state(job_id, "cancelled")
    assert job.error is None
    assert not is_running(pid)
    assert "told to stop" in jobs.log_tail(job_id)


def test_cancel_takes_children_that_were_left_behind(tmp_path: Path) -> None:
    note = tmp_path / "child"
    job_id = submit("--until", str(tmp_path / "never"), "--leave-child", str(note))
    wait_for_pid(job_id)
    child = int(note.read_text())
    assert is_running(child)
    jobs.cancel(job_id)
    wait_for_state(job_id, "cancelled")
    wait_for(lambda: not is_running(child))


def test_a_capture_that_does_not_listen_is_told_louder(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("FUSIONSCOPE_CANCEL_GRACE_S", "0.5")
    job_id = submit("--until", str(tmp_path / "never"), "--ignore-sigint")
    pid = wait_for_pid(job_id)
    jobs.cancel(job_id)
    wait_for_state(job_id, "cancelled")
    assert not is_running(pid)


def test_one_device_first_come_first_served(tmp_path: Path) -> None:
    first = submit("--until", str(tmp_path / "go"), title="the first")
    wait_for_state(first, "running")
    second = submit(title="the second")
    third = submit(title="the third")
    elsewhere = submit(device="gpu0")
    wait_for_state(elsewhere, "finished")
    wait_for(lambda: jobs.job(second).waiting_for)
    wait_for(lambda: jobs.job(third).waiting_for)
    assert jobs.job(second).state == "queued"
    assert "the first" in (jobs.job(second).waiting_for or "")
    assert "the second" in (jobs.job(third).waiting_for or "")
    (tmp_path / "go").touch()
    after = [wait_for_state(job_id, "finished") for job_id in (first, second, third)]
    started = [job.started_at for job in after]
    assert started == sorted(started, key=lambda at: at or 0)
    assert [job.job_id for job in jobs.jobs() if job.spec.device == "cpu"] != []


def test_a_queued_job_can_be_cancelled(tmp_path: Path) -> None:
    first = submit("--until", str(tmp_path / "go"))
    wait_for_state(first, "running")
    second = submit()
    jobs.cancel(second)
    assert wait_for_state(second, "cancelled").started_at is None
    (tmp_path / "go").touch()
    wait_for_state(first, "finished")


def test_a_killed_supervisor_is_a_lost_job_and_no_capture_is_left(tmp_path: Path) -> None:
    job_id = submit("--until", str(tmp_path / "never"))
    pid = wait_for_pid(job_id)
    wait_for(lambda: jobs.job(job_id).heartbeat_at)
    os.kill(supervisor_of(job_id), signal.SIGKILL)
    job = wait_for_state(job_id, "interrupted")
    assert job.error is not None and "last sign of life" in job.error
    wait_for(lambda: not is_running(pid))
    assert wait_for_state(submit(), "finished")  # the queue goes on without it


def test_waiting_for_the_device_shows_as_queued(tmp_path: Path) -> None:
    job_id = submit("--until", str(tmp_path / "go"))
    wait_for_state(job_id, "running")
    wait_for(lambda: len(jobs.job(job_id).progress.phases) >= 2)
    line = {"t": time.time(), "phase": "queued", "text": "cpu is used by pid 12."}
    with (jobs.job(job_id).directory / job_directory.PROGRESS).open("a") as file:
        file.write(json.dumps(line) + "\n")
    assert jobs.job(job_id).state == "queued"
    assert jobs.job(job_id).waiting_for == "cpu is used by pid 12."
    (tmp_path / "go").touch()


@pytest.mark.parametrize("name", ["../../etc", "20260101-000000-abcdef/..", "", "x" * 500])
def test_an_id_from_a_url_cannot_leave_the_folder(name: str) -> None:
    with pytest.raises(BadInput, match="not a job"):
        jobs.job(name)


def test_an_unknown_job_is_one_sentence() -> None:
    with pytest.raises(BadInput, match="There is no job 20260101-000000-abcdef"):
        jobs.job("20260101-000000-abcdef")


def test_folders_that_are_no_jobs_are_passed_over(own_home: Path) -> None:
    (own_home / "jobs" / "20260101-000000-abcdef").mkdir(parents=True)
    (own_home / "jobs" / "notes").mkdir()
    (own_home / "jobs" / "gpu0.lock").touch()
    assert jobs.jobs() == ()


def test_progress_counts_what_it_cannot_read() -> None:
    progress = fold(
        [
            b'{"t": 1, "phase": "timing", "variant": "eager", "done": 1, "total": 4}',
            b'{"t": 3, "phase": "timing", "variant": "eager", "done": 2, "total": 4}',
            b"[1, 2]",
            b'{"t": 4, "pha',
        ]
    )
    assert progress.n_unreadable == 2
    (phase,) = progress.phases
    assert (phase.started_at, phase.updated_at, phase.fraction) == (1, 3, 0.5)
    assert progress.variants == ("eager",)


def lines(*said: tuple[float, str, str | None]) -> list[bytes]:
    return [json.dumps({"t": t, "phase": p, "variant": v}).encode() for t, p, v in said]


def test_a_phase_ends_when_the_capture_goes_on_to_something_else() -> None:
    progress = fold(
        lines(
            (0, "starting", "eager"),
            (1, "starting", "default"),
            (5, "compiling", "eager"),
            (6, "warm-up", "eager"),
            (7, "warm-up", "eager"),
            (8, "compiling", "default"),
            (20, "warm-up", "default"),
        )
    )
    ended = {(p.variant, p.phase): p.ended_at for p in progress.phases}
    assert ended["eager", "warm-up"] == 8
    assert ended["default", "compiling"] == 20
    going_on = [p for p in progress.phases if progress.goes_on(p)]
    assert [(p.variant, p.phase) for p in going_on] == [("default", "warm-up")]


def test_variants_start_together() -> None:
    progress = fold(lines((0, "starting", "eager"), (1, "starting", "default")))
    assert all(progress.goes_on(phase) for phase in progress.phases)


def test_a_variant_is_stopped_in_its_last_phase() -> None:
    progress = fold(
        lines((0, "starting", "a"), (1, "compiling", "a"), (2, "failed", "a"), (3, "timing", "b"))
    )
    stopped = progress.stopped_in("a")
    assert stopped is not None and stopped.phase == "compiling"
    assert progress.stopped_in("b") is None


def test_a_log_keeps_its_beginning_and_its_end() -> None:
    prints = (
        "import sys\nfor n in range(120_000): sys.stdout.write(f'line {n:06d} {80 * chr(120)}\\n')"
    )
    job_id = jobs.submit([sys.executable, "-c", prints], title="x", device="cpu")
    wait_for(lambda: not jobs.job(job_id).is_live)
    file = jobs.job(job_id).directory / job_directory.LOG
    log = file.read_bytes()
    assert len(log) < 1_300_000
    assert log.startswith(b"line 000000 x")
    assert log.endswith(b"x\n") and b"\nline 119999 x" in log
    assert bytes_in_all(file) == 120_000 * len(f"line 000000 {80 * 'x'}\n")


def test_a_log_that_is_cut_again_counts_what_was_cut_before(tmp_path: Path) -> None:
    file = tmp_path / "log.txt"
    for n in range(5):
        with file.open("ab", buffering=0) as log:
            for _ in range(50):
                log.write(b"%d\n" % n * 30_000)
        trim(file)
    assert file.read_bytes().startswith(b"0\n")
    assert file.read_bytes().endswith(b"4\n")
    assert bytes_in_all(file) == 5 * 50 * 60_000


def test_what_is_printed_while_a_log_is_cut_stays(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = tmp_path / "log.txt"
    file.write_bytes(b"line\n" * 13_000_000)
    write, late = os.pwrite, iter((b"first\n", b"second\n"))

    def printed_meanwhile(descriptor: int, data: bytes, offset: int) -> int:
        with file.open("ab") as log:
            log.write(next(late, b""))
        return write(descriptor, data, offset)

    monkeypatch.setattr(os, "pwrite", printed_meanwhile)
    trim(file, is_running=True)
    assert file.stat().st_size < 1_300_000
    assert file.read_bytes().endswith(b"line\nfirst\nsecond\n")
    assert bytes_in_all(file) == 13_000_000 * 5 + len(b"first\nsecond\n")


def test_a_log_that_still_grows_is_left_whole_up_to_more(tmp_path: Path) -> None:
    """What is printed in the moment of a cut is lost, so a running command's is cut rarely."""
    file = tmp_path / "log.txt"
    file.write_bytes(b"line\n" * 2_000_000)
    trim(file, is_running=True)
    assert file.stat().st_size == 10_000_000
    trim(file)
    assert file.stat().st_size < 1_300_000


def bytes_in_all(log: Path) -> int:
    """Of a log that was cut: what is kept and what it says was left out."""
    text = log.read_bytes()
    (left_out,) = re.findall(rb"\n\[(\d+) bytes were left out here\]\n", text)
    return len(text) - len(b"\n[ bytes were left out here]\n") - len(left_out) + int(left_out)

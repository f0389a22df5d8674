"""Captures as another user of the system: what that user gets, and what the server takes back."""

import contextlib
import errno
import fcntl
import io
import json
import os
import pwd
import shutil
import signal
import stat
import subprocess
import sys
import tarfile
import tempfile
import threading
from collections.abc import Iterator
from pathlib import Path

import msgspec
import pytest

from profiler_core import owner_file
from profiler_core.errors import BadInput
from profiler_core.jobs import command, received, runner, supervisor
from profiler_core.jobs import directory as files
from profiler_core.jobs import service as jobs
from profiler_core.jobs.resuming import resume_interrupted
from profiler_core.model.run import RunRecord
from profiler_core.run_directory import IMPORTED
from profiler_core.store.captured_here import is_captured_here, is_of_own_code
from tests.jobs.waiting import is_running, wait_for

OTHER = "nobody"
IS_ROOT = os.geteuid() == 0
# The test's own interpreter may lie in a folder that is closed to others.
PYTHON = shutil.which("python3", path="/usr/bin:/usr/local/bin") or sys.executable
FAKE = Path(__file__).with_name("fake_capture.py")
TELLS = "import json, os; print('is', json.dumps([os.getuid(), dict(os.environ)]), flush=True)"


@pytest.fixture
def scratch(own_home: Path) -> Iterator[Path]:
    """A folder in which anybody may work, as the settings name it."""
    folder = Path(tempfile.mkdtemp())
    folder.chmod(0o1777)
    (own_home / "settings.toml").write_text(f'runner_directory = "{folder}"\n')
    yield folder
    shutil.rmtree(folder)


def submit(home: Path, *words: str, python: str = PYTHON) -> str:
    environment = {"PATH": os.environ["PATH"], "HF_TOKEN": "for-the-capture"}
    return jobs.submit(
        [python, *words], title="x", device="cpu", out=home / "runs", runner=OTHER,
        environment={**environment, "FUSIONSCOPE_HOME": str(home)},
    )  # fmt: skip


def ended(job_id: str) -> jobs.Job:
    wait_for(lambda: not jobs.job(job_id).is_live)
    return jobs.job(job_id)


def refused(home: Path) -> bool:
    """Where the tests are not root and may not become anybody, the job says so."""
    if IS_ROOT:
        return False
    job = ended(submit(home, "-c", "pass"))
    assert job.state == "failed"
    assert job.error is not None and "sudo" in job.error
    return True


def test_what_it_says_of_its_progress_reaches_the_job(own_home: Path, scratch: Path) -> None:
    if refused(own_home):
        return
    job = ended(submit(own_home, str(FAKE), "{progress}"))
    assert (job.state, job.error) == ("finished", None)
    assert [phase.phase for phase in job.progress.phases] == ["starting", "timing"]
    assert list(scratch.iterdir()) == []  # nothing of it stays with that user


def test_its_folders_come_home_as_the_servers_own(own_home: Path, scratch: Path) -> None:
    if refused(own_home):
        return
    makes = (
        "import sys, pathlib as p; out = p.Path(sys.argv[1]); c = out / 'cap'; c.mkdir();"
        'line = \'{"t": 1.0, "phase": "starting"}\\n\';'
        "(c / 'progress.jsonl').write_text(line); p.Path(sys.argv[2]).write_text(line);"
        "(c / 'run.json').write_text('{}'); (c / 'secret').symlink_to('/etc/shadow');"
        "import os; os.mkfifo(c / 'pipe'); (out / 'there').mkdir()"
    )
    (own_home / "runs" / "there" / "mine").mkdir(parents=True)
    job = ended(submit(own_home, "-c", makes, "{out}", "{progress}"))
    assert job.state == "finished", job.error
    capture = own_home / "runs" / "cap"
    assert job.result == capture
    assert {path.name for path in capture.iterdir()} == {"progress.jsonl", "run.json", IMPORTED}
    assert capture.stat().st_uid == os.geteuid()
    assert not stat.S_IMODE((capture / "run.json").stat().st_mode) & 0o022
    assert (own_home / "runs" / "there" / "mine").is_dir()  # another's folder stays what it is


def test_nothing_that_its_files_name_is_run_by_a_click_of_somebody_else(
    own_home: Path, scratch: Path
) -> None:
    """Its code can write any workload, folder and interpreter into both of its files."""
    if refused(own_home):
        return
    spec = {"workload": "/tmp/evil.py:build", "directory": "/tmp", "python": "/tmp/evil"}
    asked = json.dumps({"capture_id": "cap", **spec, "variants": ["default"]})
    makes = (
        "import os, sys, pathlib as p; out = p.Path(sys.argv[1], 'cap');"
        "(out / 'default').mkdir(parents=True);"
        "(out / 'capture.json').write_text(sys.argv[2]);"
        "(out / 'default' / 'run.json').write_text('{}')"
    )
    job = ended(submit(own_home, "-c", makes, "{out}", asked))
    assert job.state == "finished", job.error
    assert (own_home / "runs" / "cap" / "default" / "run.json").is_file()
    record = RunRecord(run_id="x", name="x", workload="x", variant="default", spec=spec)
    for key in ("run/cap", "run/cap/default"):
        assert not is_captured_here(key)
        assert not is_of_own_code(record, [key])


def test_it_takes_no_place_of_anothers_experiment(own_home: Path, scratch: Path) -> None:
    if refused(own_home):
        return
    own, others = (f"20260101-000000-try-x-0000000{n}" for n in (1, 2))
    makes = f"import os, sys; [os.mkdir(f'{{sys.argv[1]}}/_{{n}}') for n in ('{own}', '{others}')]"
    for kind, subject, came in (("capture", "", []), ("try", own, [own])):
        job_id = jobs.submit(
            [PYTHON, "-c", makes, "{out}"], title="x", device="cpu", kind=kind, subject=subject,
            out=own_home / "runs", runner=OTHER, environment={"PATH": os.environ["PATH"]},
        )  # fmt: skip
        assert ended(job_id).state == "finished"
        taken = list((own_home / "runs").glob("_*"))
        assert [path.name for path in taken] == [f"_{name}" for name in came]
        assert all((path / IMPORTED).is_file() for path in taken)  # nobody resumes its words


def test_it_gets_its_variables_and_not_the_servers_home(own_home: Path, scratch: Path) -> None:
    if refused(own_home):
        return
    job = ended(submit(own_home, "-c", TELLS))
    (line,) = [line for line in jobs.log_tail(job.job_id).splitlines() if line.startswith("is ")]
    uid, environment = json.loads(line.removeprefix("is "))
    assert uid == pwd.getpwnam(OTHER).pw_uid
    assert environment["HF_TOKEN"] == "for-the-capture"
    assert environment["USER"] == OTHER
    assert environment["FUSIONSCOPE_HOME"].startswith(str(scratch))


def test_it_starts_where_the_servers_folder_is_closed_to_it(
    own_home: Path, scratch: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    if refused(own_home):
        return
    closed = own_home / "closed"
    closed.mkdir(mode=0o700)
    monkeypatch.chdir(closed)
    with (own_home / "log").open("w+b") as log:
        started = command.OthersCommand(
            [PYTHON, "-c", "import os; print(os.getcwd())"], user=OTHER, log=log.fileno(),
            progress=own_home / "p", made=own_home / "made", scratch=scratch,
            environment={"PATH": os.environ["PATH"]},
        )  # fmt: skip
        wait_for(lambda: started.poll() is not None)
        _close(started)
        log.seek(0)
        assert log.read().decode().startswith(str(scratch))
    assert started.poll() == 0


def test_it_is_cancelled_and_ends_with_its_supervisor(own_home: Path, scratch: Path) -> None:
    if refused(own_home):
        return
    words = (str(FAKE), "{progress}", "--until", "/nowhere/x")
    job_id = submit(own_home, *words)
    wait_for(lambda: "pid" in jobs.log_tail(job_id))
    jobs.cancel(job_id)
    assert ended(job_id).state == "cancelled"
    assert "told to stop" in jobs.log_tail(job_id)
    job_id = submit(own_home, *words)
    wait_for(lambda: "pid" in jobs.log_tail(job_id))
    pid = int(jobs.log_tail(job_id).split("pid ")[1].split()[0])
    kill_supervisor(job_id)
    wait_for(lambda: not is_running(pid))
    resume_interrupted()
    assert ended(job_id).state == "interrupted"


def test_nobody_looks_for_its_capture_in_the_library_before_it_is_there(
    own_home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """With ten thousand runs that was a walk through all of them each second."""
    directory = own_home / "jobs" / "20261123-000000-abcdef"
    directory.mkdir(parents=True)
    spec = files.JobSpec(
        job_id=directory.name, command=("x",), title="x", device="cpu", submitted_at=1.0,
        owner="ada", out=str(own_home), runner=OTHER,
    )  # fmt: skip
    files.write(directory, spec)
    files.write(directory, files.JobStatus(state="running"))
    looked: list[object] = []
    monkeypatch.setattr(supervisor, "result_of", lambda *asked: looked.append(asked))
    supervisor.Supervisor(directory)._beat()
    assert looked == []
    files.write(directory, msgspec.structs.replace(spec, runner=None))
    supervisor.Supervisor(directory)._beat()
    assert len(looked) == 1


def kill_supervisor(job_id: str) -> None:
    job = jobs.job(job_id)
    os.kill(int((job.directory / files.ALIVE).read_text()), signal.SIGKILL)
    wait_for(lambda: not files.is_supervised(job.directory, job.spec))


def test_what_a_killed_supervisor_left_with_the_other_user_comes_home(
    own_home: Path, scratch: Path
) -> None:
    if refused(own_home):
        return
    makes = (
        "import os, sys; fake, progress, out = sys.argv[1:]; here = sys.executable;"
        "os.execv(here, [here, fake, progress, '--until=/nowhere/x', f'--folder={out}/cap'])"
    )
    job_id = submit(own_home, "-c", makes, str(FAKE), "{progress}", "{out}")
    wait_for(lambda: "step 3" in jobs.log_tail(job_id))
    kill_supervisor(job_id)
    assert jobs.job(job_id).is_live  # what it made is still to come
    assert resume_interrupted() == (job_id,)
    job = ended(job_id)
    assert job.state == "interrupted"
    assert job.error is not None and "was brought home" in job.error
    assert job.result == own_home / "runs" / "cap"
    assert job.result.stat().st_uid == os.geteuid()
    assert list(scratch.iterdir()) == []
    assert resume_interrupted() == ()


def test_where_nothing_is_left_the_job_says_so(own_home: Path, scratch: Path) -> None:
    if refused(own_home):
        return
    job_id = submit(own_home, str(FAKE), "{progress}", "--until", "/nowhere/x")
    wait_for(lambda: "step 3" in jobs.log_tail(job_id))
    kill_supervisor(job_id)
    left = Path((jobs.job(job_id).directory / files.SCRATCH).read_text())
    wait_for(lambda: not is_locked(left / "lock"))
    shutil.rmtree(left)
    resume_interrupted()
    job = ended(job_id)
    assert job.state == "interrupted"
    assert job.error is not None and f"could not be brought home from {left}" in job.error


def is_locked(path: Path) -> bool:
    with path.open() as file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            return True
    return False


@pytest.mark.parametrize("folder", ["elsewhere", "fusionscope-job-x"])
def test_only_its_own_folder_is_sent(own_home: Path, scratch: Path, folder: str) -> None:
    """What is named as left may be a link, or anybody's."""
    if refused(own_home):
        return
    (own_home / "secret" / "runs").mkdir(parents=True)
    (own_home / "secret" / "runs" / "x").write_text("s3cret")
    (scratch / folder).symlink_to(own_home / "secret")
    with (own_home / "log").open("w+b") as log:
        started = command.OthersCommand(
            (), user=OTHER, log=log.fileno(), progress=own_home / "p", made=own_home / "made",
            scratch=scratch, environment={"PATH": os.environ["PATH"]}, left=str(scratch / folder),
        )  # fmt: skip
        wait_for(lambda: started.poll() is not None)
        _close(started)
    assert started.poll() == 1
    assert not (own_home / "made").exists()
    assert (own_home / "secret" / "runs" / "x").exists()


def test_the_folder_stays_until_the_other_side_has_it(own_home: Path, scratch: Path) -> None:
    """Killed while it is sent, the supervisor has not got it all."""
    order = json.dumps({"command": ["true"], "environment": {}, "directory": "/", "scratch": ""})
    environment = {"TMPDIR": str(scratch), "PATH": os.environ["PATH"]}
    for last, stays in (("taken\n", False), ("2\n", True)):
        with subprocess.Popen(
            [PYTHON, "-I", str(command.RUNNER_SIDE)], stdin=subprocess.PIPE,
            stdout=subprocess.PIPE, env=environment, text=True, errors="replace",
        ) as process:  # fmt: skip
            assert process.stdin is not None and process.stdout is not None
            process.stdin.write(f"{order}\n")
            process.stdin.flush()
            assert process.stdout.read().startswith(f"S{scratch}")
            assert list(scratch.iterdir())
            process.stdin.write(last)
        assert process.returncode == 0
        assert bool(list(scratch.iterdir())) == stays


def test_who_does_not_exist_is_refused_before_anything_starts() -> None:
    runner.check_runner(None)
    with pytest.raises(BadInput, match="there is no user no-such-user on this system"):
        runner.check_runner("no-such-user")


def test_without_root_and_sudo_it_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "geteuid", lambda: 1000)
    monkeypatch.setattr(shutil, "which", lambda *_, **__: None)
    with pytest.raises(BadInput, match="the server is not root, and there is no sudo"):
        runner.check_runner(OTHER)
    monkeypatch.setattr(shutil, "which", lambda *_, **__: "/usr/bin/sudo")
    runner.check_runner(OTHER)
    assert command._identity(OTHER) == (["sudo", "-n", "-u", OTHER, "--"], None, None, None)


def test_an_archive_that_leads_out_of_its_folder_is_not_followed(tmp_path: Path) -> None:
    packed = tmp_path / "packed"
    (tmp_path / "x").write_text("x")
    with packed.open("wb") as file:
        buffer = io.BytesIO()
        with tarfile.open(fileobj=buffer, mode="w|") as archive:
            archive.add(tmp_path / "x", arcname="cap/ok")
            archive.add(tmp_path / "x", arcname="../../escaped")
        file.write(b'P{"t": 1}\nR\n' + _in_pieces(buffer.getvalue()))
    made = tmp_path / "a" / "made"
    made.parent.mkdir()
    with packed.open("rb") as pipe:
        received.receive(pipe, tmp_path / "progress.jsonl", made)
    assert (made / "cap" / "ok").read_text() == "x"
    assert not (tmp_path / "escaped").exists()
    assert (tmp_path / "progress.jsonl").read_text() == '{"t": 1}\n'


def test_nobody_makes_runs_in_anothers_name(tmp_path: Path) -> None:
    made, out = tmp_path / "made", tmp_path / "runs"
    for name in ("a", "b", "c"):
        (made / name).mkdir(parents=True)
    owner_file.write_owner(made / "a", "oidc:issuer#eve")
    (made / "b" / owner_file.FILE).mkdir()
    received.take_in(made, out, "oidc:issuer#ada")
    assert {owner_file.owner_of(out / name) for name in ("a", "b", "c")} == {"oidc:issuer#ada"}
    (made / "d").mkdir(parents=True)
    owner_file.write_owner(made / "d", "oidc:issuer#eve")
    received.take_in(made, out, None)
    assert owner_file.owner_of(out / "d") is None


@pytest.mark.parametrize("is_in_pieces", [True, False])
@pytest.mark.parametrize("damage", [b"no archive", b"\0" * 512, None])
def test_what_follows_a_hostile_archive_is_read_so_that_its_sender_ends(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, damage: bytes | None, is_in_pieces: bool
) -> None:
    if damage is None:  # the disk is full in the middle of it
        damage = _archive(tmp_path)
        monkeypatch.setattr(tarfile.TarFile, "extract", _full_disk)
    reading, writing = os.pipe()
    content = damage + b"x" * 1_000_000
    content = _in_pieces(content) if is_in_pieces else content
    sender = threading.Thread(target=_send, args=(writing, b"R\n" + content))
    sender.start()
    with os.fdopen(reading, "rb") as pipe:
        received.receive(pipe, tmp_path / "progress.jsonl", tmp_path / "made")
        sender.join(10)
        assert not sender.is_alive()


def _in_pieces(data: bytes) -> bytes:
    pieces = (data[at : at + 7000] for at in range(0, len(data), 7000))
    return b"".join(b"%d\n%s" % (len(piece), piece) for piece in pieces) + b"0\n"


def _archive(folder: Path) -> bytes:
    (folder / "x").write_bytes(b"x" * 100_000)
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w|") as archive:
        archive.add(folder / "x", arcname="cap/x")
    return buffer.getvalue()


def _full_disk(*_: object, **__: object) -> None:
    raise OSError(errno.ENOSPC, "No space left on device")


def _send(descriptor: int, content: bytes) -> None:
    with os.fdopen(descriptor, "wb") as pipe, contextlib.suppress(BrokenPipeError):
        pipe.write(content)


def test_who_obeys_no_signal_is_given_up(
    own_home: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    if refused(own_home):
        return
    monkeypatch.setattr(command, "GRACE_S", 0.2)
    # The code holds up the process that stands between, which is of the same user.
    holds_up = (
        "import os, signal, time; above = os.getppid(); os.kill(above, signal.SIGSTOP)\n"
        "while os.getppid() == above: time.sleep(0.05)"
    )
    with (tmp_path / "log").open("wb") as log:
        started = command.OthersCommand(
            [PYTHON, "-c", holds_up], user=OTHER, log=log.fileno(), progress=tmp_path / "p",
            made=tmp_path / "made", scratch=Path(tempfile.gettempdir()),
            environment={"PATH": os.environ["PATH"]},
        )  # fmt: skip
    try:
        wait_for(lambda: _is_stopped(started.pid))
        started.signal(signal.SIGINT)
        assert started.poll() is None
        started.signal(signal.SIGKILL)
        wait_for(lambda: started.poll() is not None)
        assert started.poll() == -signal.SIGKILL
        wait_for(lambda: started._process.poll() is not None)
    finally:
        started._process.kill()
        _close(started)


def _close(started: command.OthersCommand) -> None:
    started._hears.join()
    for pipe in (started._process.stdin, started._process.stdout):
        assert pipe is not None
        pipe.close()


def _is_stopped(pid: int) -> bool:
    return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] == "T"

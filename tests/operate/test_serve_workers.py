"""The processes of a server: ended together by a signal, started again where one ends by itself."""

import configparser
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

from profiler_core.operate import workers
from tests.attack.servers import ROOT

# A worker that writes its process id, and ends well when it is asked to.
WELL = """
import os, pathlib, signal, sys
signal.signal(signal.SIGTERM, lambda *_: sys.exit(0))
pathlib.Path(sys.argv[1], f"{sys.argv[2]}-{os.getpid()}").touch()
while True:
    signal.pause()
"""
DEAF = WELL.replace("lambda *_: sys.exit(0)", "signal.SIG_IGN")
BROKEN = "import sys; sys.exit(7)"
SUPERVISOR = """
import sys
from profiler_core.operate import workers
workers._STARTS_WITHIN_S = float(sys.argv[1])
workers._FIRST_DELAY_S = 0.05
names = sys.argv[4:]
commands = {n: [sys.executable, "-c", sys.argv[2], sys.argv[3], n] for n in names}
sys.exit(workers.Workers(commands, grace_s=1.0).run())
"""


def supervisor(worker: str, folder: Path, *names: str, starts_within_s: float = 0.0):
    return subprocess.Popen(
        [sys.executable, "-c", SUPERVISOR, str(starts_within_s), worker, str(folder), *names],
        cwd=ROOT, stderr=subprocess.PIPE, text=True,
    )  # fmt: skip


def pids(folder: Path, n: int) -> dict[str, int]:
    """Name -> process, once so many have begun."""
    deadline = time.monotonic() + 240
    while len(files := [path.name for path in folder.iterdir()]) < n:
        assert time.monotonic() < deadline, files
        time.sleep(0.02)
    return {name.partition("-")[0]: int(name.partition("-")[2]) for name in files}


def is_alive(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    return True


def ended(process, number: int) -> int:
    process.send_signal(number)
    process.communicate(timeout=60)
    return process.returncode


def test_a_signal_ends_all_of_them(tmp_path):
    process = supervisor(WELL, tmp_path, "a", "b")
    begun = pids(tmp_path, 2)
    assert ended(process, signal.SIGTERM) == 0
    assert not any(is_alive(pid) for pid in begun.values())


def test_who_does_not_listen_is_killed_after_a_while(tmp_path):
    process = supervisor(DEAF, tmp_path, "a")
    begun = pids(tmp_path, 1)
    assert ended(process, signal.SIGINT) == 0
    assert not is_alive(begun["a"])


def test_one_that_ends_is_started_again_and_the_other_goes_on(tmp_path):
    process = supervisor(WELL, tmp_path, "a", "b")
    before = pids(tmp_path, 2)
    os.kill(before["a"], signal.SIGKILL)
    (tmp_path / f"a-{before['a']}").unlink()
    after = pids(tmp_path, 2)
    assert after["a"] != before["a"]
    assert after["b"] == before["b"]
    assert ended(process, signal.SIGTERM) == 0


def test_one_that_is_killed_while_it_starts_takes_nobody_along(tmp_path):
    """As by a machine that runs out of memory, which says nothing of whether it can start."""
    process = supervisor(WELL, tmp_path, "a", "b", starts_within_s=60.0)
    before = pids(tmp_path, 2)
    os.kill(before["a"], signal.SIGKILL)
    (tmp_path / f"a-{before['a']}").unlink()
    after = pids(tmp_path, 2)
    assert after["a"] != before["a"]
    assert after["b"] == before["b"]
    assert ended(process, signal.SIGTERM) == 0


def test_one_that_cannot_start_ends_the_server_with_its_status(tmp_path):
    process = supervisor(BROKEN, tmp_path, "a", starts_within_s=60.0)
    _, said = process.communicate(timeout=60)
    assert process.returncode == 7
    assert "Worker a ended at once, with status 7." in said


# A worker that has started a job, which belongs to a session of its own.
WITH_JOB = """
import subprocess
job = subprocess.Popen(["sleep", "300"], start_new_session=True, stderr=subprocess.DEVNULL)
"""
WITH_JOB += WELL.replace("os.getpid()", "job.pid")


def test_jobs_that_a_worker_has_started_go_on(tmp_path):
    process = supervisor(WITH_JOB, tmp_path, "job")
    job = pids(tmp_path, 1)["job"]
    try:
        assert ended(process, signal.SIGTERM) == 0
        assert is_alive(job)
    finally:
        os.kill(job, signal.SIGKILL)


def test_the_unit_of_systemd_leaves_jobs_alone_and_tries_again():
    unit = configparser.ConfigParser(strict=False, interpolation=None)
    unit.optionxform = str
    unit.read(ROOT / "deploy" / "fusionscope.service")
    service = unit["Service"]
    assert service["ExecStart"].endswith("/bin/fusionscope serve")
    assert service["KillMode"] == "process"
    assert service["Restart"] == "on-failure"  # after a start before the database's, say
    assert "RestartPreventExitStatus" not in service
    assert float(service["TimeoutStopSec"]) > workers._GRACE_S
    home = dict([service["Environment"].split("=", 1)])["FUSIONSCOPE_HOME"]
    assert Path(home).is_relative_to(service["ReadWritePaths"])
    assert service["User"] != "root"

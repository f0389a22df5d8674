"""What another machine sends is its word alone: it changes, starts and loses nothing here."""

import errno
import io
import json
import os
import shutil
import subprocess
import sys
import tarfile
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import fsspec
import pytest

from profiler_core.capture.elsewhere import far_files, near
from profiler_core.capture.elsewhere.bundle import project_of
from profiler_core.capture.elsewhere.far_files import FarFolder
from profiler_core.capture.elsewhere.host import Address
from profiler_core.capture.elsewhere.plan import Plan, plan_of
from profiler_core.capture.provenance import code_version
from profiler_core.capture.spec import CaptureSpec
from profiler_core.cli.server_traces import folder_at, put_together
from profiler_core.errors import BadInput, CaptureFailed
from profiler_core.experiments.request import new_experiment
from profiler_core.home import runs_directory
from profiler_core.jobs import directory as files
from profiler_core.jobs import received, runner_side
from profiler_core.jobs.brought import PREFIX, bring_left, held, note_shared
from profiler_core.jobs.room import KEEP_FREE_BYTES
from profiler_core.jobs.supervisor import Supervisor
from profiler_core.owner_file import owner_of, write_owner
from profiler_core.ranks.remote import download
from profiler_core.run_directory import IMPORTED
from profiler_core.settings import Host
from profiler_core.store import history
from profiler_core.store.captured_here import is_captured_here
from profiler_core.store.experiments import (
    experiments,
    folder_of,
    read_experiment,
    write_experiment,
)
from profiler_core.store.history.reconciliation import reconcile

SPARSE = {"major": "1", "minor": "0", "name": "trace.json", "realsize": str(10**15)}
RUN = {"schema_version": 1, "name": "x eager", "status": "finished", "spec": {}}


def pieces(data: bytes) -> bytes:
    return b"%d\n%s0\n" % (len(data), data) if data else b"0\n"


@pytest.fixture
def plan(home: Path) -> Plan:
    return plan_of(CaptureSpec("customcnn"), Host(ssh="box"), runs_directory(), is_code_there=True)


def machine(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, plan: Plan, members: dict[str, bytes]
) -> Path:
    """Let ssh be a machine that sends these files; returns what it was told at last."""
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w|") as archive:
        for name, data in members.items():
            member = tarfile.TarInfo(name)
            member.size = len(data)
            archive.addfile(member, io.BytesIO(data))
    (tmp_path / "answer").write_bytes(b'S/there/x\nP{"t": 1, "phase": "starting"}\nR\n'
                                      + pieces(buffer.getvalue()))  # fmt: skip
    told = tmp_path / "told"
    script = tmp_path / "machine.py"
    script.write_text(
        "import json, os, pathlib, sys\n"
        "sent = sys.stdin.buffer\n"
        "sent.read(int(sent.readline()))\n"
        "sent.read(json.loads(sent.readline())['n_bytes'])\n"
        f"os.write(1, pathlib.Path({str(tmp_path / 'answer')!r}).read_bytes())\n"
        "os.close(1)\n"
        f"pathlib.Path({str(told)!r}).write_bytes(sent.readline())\n"
    )
    monkeypatch.setattr(Plan, "transport", property(lambda _: [sys.executable, "-I", str(script)]))
    return told


def brought(plan: Plan) -> tuple[Path, ...]:
    return near.capture_there(
        plan, progress_file=None, listener=lambda _: None, is_cancelled=lambda: False
    )


def test_a_run_that_came_is_started_by_no_click(
    plan: Plan, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    record = json.dumps({**RUN, "spec": {"workload": "/tmp/evil.py:f"}}).encode()
    experiment = b'{"words": ["/tmp/evil.py:f"]}'
    machine(monkeypatch, tmp_path, plan, {
        "cap/eager/run.json": record, "cap/capture.json": b"{}", "alone/run.json": record,
        "alone/capture.json": b"{}", "_20260101-000000-try-x-abcd/experiment.json": experiment,
    })  # fmt: skip
    assert brought(plan) == (plan.out / "alone", plan.out / "cap")
    assert (plan.out / "cap" / "eager" / IMPORTED).exists()
    assert not is_captured_here("run/cap/eager")
    assert not is_captured_here("run/alone")
    assert sorted(path.name for path in plan.out.iterdir()) == ["alone", "cap"]


def test_a_disk_that_takes_no_mark_costs_no_run_and_starts_none(
    plan: Plan, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    machine(monkeypatch, tmp_path, plan, {
        "cap/eager/run.json": json.dumps(RUN).encode(), "cap/capture.json": b"{}",
    })  # fmt: skip
    monkeypatch.setattr(Path, "touch", _full_disk)
    (folder,) = brought(plan)
    assert (folder / "eager" / "run.json").exists()
    assert not is_captured_here("run/cap/eager")


def _full_disk(*_: object, **__: object) -> None:
    raise OSError(errno.ENOSPC, "No space left on device")


def test_what_came_is_not_lost_where_temporary_files_lie_on_another_disk(
    plan: Plan, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    machine(monkeypatch, tmp_path, plan, {"cap/eager/run.json": json.dumps(RUN).encode()})
    real = Path.replace

    def within_one_disk(self: Path, target: Path) -> Path:
        if self.is_relative_to(plan.out) is not Path(target).is_relative_to(plan.out):
            raise OSError(18, "Invalid cross-device link")
        return real(self, target)

    monkeypatch.setattr(Path, "replace", within_one_disk)
    (folder,) = brought(plan)
    assert (folder / "eager" / "run.json").exists()


@pytest.mark.parametrize("record", [b"[" * 100_000, b"{}", b"\xff"])
def test_a_run_that_cannot_be_read_costs_the_others_nothing(
    plan: Plan, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, record: bytes
) -> None:
    (tmp_path / "model.py").write_text("def build():\n    return 1\n")
    spec = CaptureSpec(f"{tmp_path}/model.py:build", directory=str(tmp_path))
    sent = plan_of(spec, Host(ssh="box"), plan.out, is_code_there=False)
    machine(monkeypatch, tmp_path, sent, {
        "cap/a/run.json": record, "cap/b/run.json": json.dumps(RUN).encode(),
    })  # fmt: skip
    (folder,) = brought(sent)
    assert (folder / "b" / "run.json").exists()


def test_what_has_no_room_here_stays_there(
    plan: Plan, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    told = machine(monkeypatch, tmp_path, plan, {"cap/eager/run.json": json.dumps(RUN).encode()})
    free = iter([2 * KEEP_FREE_BYTES])  # at the beginning
    monkeypatch.setattr(shutil, "disk_usage", lambda _: SimpleNamespace(free=next(free, 0)))
    folders = brought(plan)
    assert told.read_bytes() == b"keep\n"
    (record,) = [json.loads(path.read_bytes()) for path in folders[0].glob("eager/run.json")]
    assert record["status"] == "failed" and "/there/x" in record["error"]


def killed_on_the_way(plan: Plan) -> None:
    """The process that waits is killed once all came, before anything is moved."""
    child = os.fork()
    if not child:
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(near, "_brought_home", lambda *_: os._exit(9))
            brought(plan)
        os._exit(1)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 9


def test_what_came_and_was_not_moved_yet_is_moved_by_the_next(
    plan: Plan, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    told = machine(monkeypatch, tmp_path, plan, {
        "cap/eager/run.json": json.dumps({**RUN, "run_id": "x"}).encode(),
        "cap/capture.json": b"{}", "_20260101-000000-try-x-abcd/experiment.json": b"{}",
    })  # fmt: skip
    killed_on_the_way(plan)
    assert told.read_bytes() == b"taken\n"
    assert list(plan.out.glob("cap")) == []
    reconcile()
    assert (plan.out / "cap" / "eager" / "run.json").exists()
    assert not is_captured_here("run/cap/eager")
    assert [path.name for path in plan.out.iterdir()] == ["cap"]
    assert [run.run_id for run in history.runs()] == ["x"]


def test_what_is_on_its_way_or_never_came_whole_is_left(
    plan: Plan, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    members = {"cap/eager/run.json": json.dumps(RUN).encode()}
    machine(monkeypatch, tmp_path, plan, members)
    killed_on_the_way(plan)
    (work,) = plan.out.glob(".elsewhere-*")
    with held(work):
        bring_left(plan.out)
        assert (work / "made" / "cap").exists()
    (work / "made.whole").unlink()
    bring_left(plan.out)
    assert (work / "made" / "cap").exists()  # the other machine still has it
    os.utime(work, (0, 0))
    bring_left(plan.out)
    assert list(plan.out.iterdir()) == []


def test_a_job_of_slurm_whose_waiting_process_was_killed_is_brought_home_at_its_end(
    home: Path, tmp_path: Path
) -> None:
    out, shared = runs_directory(), tmp_path / "scratch" / ".fusionscope-x"
    work = out / f"{PREFIX}abc"
    work.mkdir(parents=True)
    run = shared / "runs" / "cap" / "eager"
    run.mkdir(parents=True)
    (run / "run.json").write_text(json.dumps(RUN))
    note_shared(work, shared)
    progress = shared / "progress.jsonl"
    progress.write_text('{"t": 1, "phase": "finished", "variant": "eager"}\n')
    bring_left(out)
    assert run.exists()  # it measures another variant
    with progress.open("a") as file:
        file.write('{"t": 2, "phase": "finished"}\n')
    with held(work):
        bring_left(out)
        assert run.exists()
    bring_left(out)
    assert (out / "cap" / "eager" / "run.json").exists()
    assert not shared.exists() and not work.exists()


@pytest.mark.parametrize("tells", [True, False])
def test_what_a_job_of_slurm_shared_is_removed_also_where_it_made_no_run(
    home: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, tells: bool
) -> None:
    """Its folder stayed on the shared disk, with a copy of the captured code."""
    shared = Host(slurm=True, folder=str(tmp_path / "scratch"))
    plan = plan_of(CaptureSpec("customcnn"), shared, runs_directory(), is_code_there=True)

    def no_run(_argv: object, _options: object, made: Path, *_: object, **__: object) -> None:
        assert made.is_dir()
        if tells:
            (made / near.FAILURE).write_text('{"problem": "No GPU there.", "remedy": "Ask one."}')

    monkeypatch.setattr(near.slurm, "run_on_slurm", no_run)
    with pytest.raises(CaptureFailed, match=r"No GPU there\." if tells else "made no run"):
        brought(plan)
    assert list((tmp_path / "scratch").iterdir()) == []
    assert not list(plan.out.iterdir() if plan.out.is_dir() else [])


def test_no_other_folder_is_taken_for_that_of_a_job_of_slurm(home: Path, tmp_path: Path) -> None:
    out, other = runs_directory(), tmp_path / "other"
    work = out / f"{PREFIX}abc"
    work.mkdir(parents=True)
    (other / "runs" / "cap").mkdir(parents=True)
    (other / "progress.jsonl").write_text('{"t": 2, "phase": "finished"}\n')
    note_shared(work, other)
    bring_left(out)
    assert (other / "runs" / "cap").exists()


def test_what_came_is_copied_where_the_library_is_another_disk(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    made, out = tmp_path / "scratch" / "made", tmp_path / "runs"
    (made / "cap" / "eager").mkdir(parents=True)
    (made / "cap" / "eager" / "run.json").write_text(json.dumps(RUN))
    out.mkdir()
    real = Path.replace

    def within_one_disk(self: Path, target: Path) -> Path:
        if self.is_relative_to(out) is not Path(target).is_relative_to(out):
            raise OSError(errno.EXDEV, "Invalid cross-device link")
        return real(self, target)

    monkeypatch.setattr(Path, "replace", within_one_disk)
    assert received.take_in(made, out, "oidc:issuer#ada") == 1
    assert (out / "cap" / "eager" / "run.json").exists()
    assert owner_of(out / "cap") == "oidc:issuer#ada"
    assert [path.name for path in out.iterdir()] == ["cap"]


def test_nothing_is_taken_that_would_not_be_found_again(
    plan: Plan, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    told = machine(monkeypatch, tmp_path, plan, {"cap/eager/run.json": json.dumps(RUN).encode()})
    monkeypatch.setattr(received, "note_whole", lambda _: False)
    brought(plan)
    assert told.read_bytes() == b"keep\n"


def test_nothing_begins_that_could_not_come_home(
    home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A pod takes what it measured along."""
    started: list[object] = []
    monkeypatch.setattr(near, "running_pod", lambda *words: started.append(words))
    monkeypatch.setattr(shutil, "disk_usage", lambda _: SimpleNamespace(free=KEEP_FREE_BYTES))
    host = Host(kubernetes=True, image="torch")
    pod = plan_of(CaptureSpec("customcnn"), host, runs_directory(), is_code_there=True)
    with pytest.raises(CaptureFailed, match="has to come there"):
        brought(pod)
    assert started == []


@pytest.mark.parametrize("text", [b"[" * 100_000, b"\xff", b'{"problem": "' + b"x" * 100_000])
def test_a_failure_that_cannot_be_read_is_a_sentence(
    plan: Plan, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, text: bytes
) -> None:
    machine(monkeypatch, tmp_path, plan, {"failure.json": text})
    with pytest.raises(CaptureFailed, match="What came back cannot be read"):
        brought(plan)


@pytest.mark.parametrize(("line", "is_left"), [(b"taken\n", False), (b"keep\n", True), (b"", True)])
def test_the_other_side_deletes_only_what_was_taken(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, line: bytes, is_left: bool
) -> None:
    scratch = tmp_path / "fusionscope-job-x"
    (scratch / "runs").mkdir(parents=True)
    lines = iter([b"2\n", line])
    monkeypatch.setattr(runner_side, "_line", lambda: next(lines))
    monkeypatch.setattr(runner_side, "_write", lambda _: None)
    monkeypatch.setattr(os, "close", lambda _: None)
    monkeypatch.setattr(runner_side._Pieces, "write", lambda _, data: len(data))
    runner_side._send(scratch)
    assert scratch.exists() is is_left


def test_a_machine_that_lists_files_of_this_one_moves_none_of_them(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    own = tmp_path / "runs" / "trace.json"
    own.parent.mkdir()
    own.write_text("{}")
    names = [str(own), f"../{own.parent.name}/{own.name}", "a/b.json"]

    def answer(_: object, wanted: object, output: int, *__: float) -> None:
        os.write(output, json.dumps({name: [1, 1] for name in names}).encode())

    monkeypatch.setattr(FarFolder, "_run", answer)
    folder = FarFolder(Address(None, "box", None), "/traces")
    listed = folder.listing()
    assert list(listed) == ["a/b.json"]
    fetched = tmp_path / "fetched"
    (fetched / "a").mkdir(parents=True)
    (fetched / "a" / "b.json").write_text("{}")
    put_together(fetched, listed)
    assert own.exists()


@pytest.mark.parametrize("text", [b"[1]", b'{"a": [1]}', b'{"a": "b"}', b"[" * 100_000, b"\xff{}"])
def test_a_listing_that_is_none_is_a_sentence(monkeypatch: pytest.MonkeyPatch, text: bytes) -> None:
    monkeypatch.setattr(FarFolder, "_run", lambda *words: os.write(words[2], text))
    with pytest.raises(BadInput, match="did not list"):
        FarFolder(Address(None, "box", None), "/traces").listing()


@pytest.mark.parametrize(
    ("headers", "problem"),
    [
        ({f"GNU.sparse.{name}": text for name, text in SPARSE.items()}, "sends more than"),
        ({"comment": "x" * 100_000}, "a header without end"),
    ],
    ids=["a file of holes", "a long header"],
)
def test_traces_that_are_larger_unpacked_than_on_their_way_stay_there(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, headers: dict[str, str], problem: str
) -> None:
    """A zip is made of them, which takes room for holes, too, and hours."""
    member = tarfile.TarInfo("trace.json")
    member.size, member.pax_headers = 512, headers
    packed = io.BytesIO()
    with tarfile.open(fileobj=packed, mode="w", format=tarfile.PAX_FORMAT) as archive:
        archive.addfile(member, io.BytesIO(b"1\n0\n0\n".ljust(512, b"\0")))
    monkeypatch.setattr(FarFolder, "_run", lambda *words: os.write(words[2], packed.getvalue()))
    with pytest.raises(BadInput, match=problem):
        FarFolder(Address(None, "box", None), "/traces").fetch(["trace.json"], tmp_path)
    assert not (tmp_path / "trace.json").exists()


def test_links_of_a_servers_folder_are_not_followed(tmp_path: Path) -> None:
    secret = tmp_path / "settings.toml"
    secret.write_text("s3cret")
    traces = tmp_path / "traces"
    traces.mkdir()
    (traces / "a.json").symlink_to(secret)
    (traces / "plain.json").write_text("{}")
    os.mkfifo(traces / "b.json")
    folder = folder_at(str(traces))
    assert list(folder.listing()) == ["plain.json"]
    target = tmp_path / "fetched"
    target.mkdir()
    with pytest.raises(OSError, match="symbolic links"):  # put there after it was listed
        folder.fetch(["a.json"], target)
    assert not (target / "a.json").exists()


def test_a_url_writes_nothing_outside_of_its_copy(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Of an older fsspec, which takes the names of a store as they are."""
    system = fsspec.filesystem("memory")
    system.pipe("/bucket/run/run.json", b"{}")
    real = type(system).find

    def with_a_name_that_leads_out(self: Any, path: str, **more: Any) -> Any:
        about = real(self, path, **more)
        extra = "/bucket/run/../../owned"
        return {**about, extra: {"size": 1}} if isinstance(about, dict) else [*about, extra]

    monkeypatch.setattr(type(system), "find", with_a_name_that_leads_out)
    monkeypatch.setattr(type(system), "get", write_as_named)
    place = tmp_path / "a" / "b" / "run"
    place.parent.mkdir(parents=True)
    with pytest.raises(BadInput, match="leads out"):
        download("memory://bucket/run", place)
    assert not (tmp_path / "a" / "owned").exists()


def write_as_named(self: Any, remote: str, local: str, **_: Any) -> None:
    for name in self.find(remote):
        path = Path(local + name.removeprefix(remote))
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(b"owned")


def test_a_link_that_leads_out_of_a_project_is_not_sent(tmp_path: Path) -> None:
    folder = tmp_path / "project"
    folder.mkdir()
    (folder / "model.py").write_text("")
    (tmp_path / "id_ed25519").write_text("s3cret")
    (folder / "weights").symlink_to(tmp_path / "id_ed25519")
    (folder / "same").symlink_to(folder / "model.py")
    spec = CaptureSpec(f"{folder}/model.py:build", directory=str(folder))
    assert [str(path) for path in project_of(spec).paths] == ["model.py", "same"]
    (folder / "__init__.py").write_text("send = open(__file__.replace('__init__', 'key')).read()")
    (folder / "key.py").symlink_to(tmp_path / "id_ed25519")
    with pytest.raises(BadInput, match=r"key\.py is a link that leads out"):
        project_of(replace(spec, workload=f"{folder}/key.py:build"))


def test_a_folder_that_becomes_a_link_is_not_followed(tmp_path: Path) -> None:
    (tmp_path / "keys").mkdir()
    (tmp_path / "keys" / "a.json").write_text("s3cret")
    traces = tmp_path / "traces"
    (traces / "day").mkdir(parents=True)
    (traces / "day" / "a.json").write_text("{}")
    folder = folder_at(str(traces))
    assert list(folder.listing()) == ["day/a.json"]
    (traces / "day").rename(traces / "other")
    (traces / "day").symlink_to(tmp_path / "keys")
    target = tmp_path / "fetched"
    target.mkdir()
    with pytest.raises(OSError, match="day"):
        folder.fetch(["day/a.json"], target)
    folder.fetch(["other/a.json"], target)
    assert (target / "other" / "a.json").read_text() == "{}"


def test_a_trace_that_becomes_a_pipe_or_grows_without_end_is_copied_no_further(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    traces, target = tmp_path / "traces", tmp_path / "fetched"
    traces.mkdir()
    target.mkdir()
    (traces / "a.json").write_text("1234")
    folder = folder_at(str(traces))
    real = os.fstat

    def grows(descriptor: int) -> os.stat_result:
        status = real(descriptor)
        with (traces / "a.json").open("a") as file:
            file.write("5" * 3_000_000)
        return status

    monkeypatch.setattr(os, "fstat", grows)
    folder.fetch(["a.json"], target)
    monkeypatch.undo()
    assert (target / "a.json").read_text() == "1234"
    (traces / "a.json").unlink()
    os.mkfifo(traces / "a.json")
    with pytest.raises(OSError, match="no plain file"):
        folder.fetch(["a.json"], target)


def test_a_machine_that_sends_without_end_or_nothing_is_a_sentence(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = FarFolder(Address(None, "box", None), "/traces")
    words = ["sh", "-c", "cat /dev/zero"]
    monkeypatch.setattr(far_files, "ssh_words", lambda *_: words)
    room = KEEP_FREE_BYTES + 3 * 5_000_000
    monkeypatch.setattr(shutil, "disk_usage", lambda _: SimpleNamespace(free=room))
    with pytest.raises(BadInput, match="box sends more than 5"):
        folder.fetch(["a.json"], tmp_path)
    words[2] = "cat > /dev/null; head -c 10240 /dev/zero"
    with pytest.raises(BadInput, match="and did not send it"):
        folder.fetch(["a.json"], tmp_path)


def test_an_experiment_stands_for_no_other(home: Path) -> None:
    mine, other = (f"20260101-000000-try-x-{end}" for end in ("aaaa", "bbbb"))
    experiment = new_experiment(CaptureSpec("customcnn"), budget_s=60.0, experiment_id=mine)
    write_experiment(runs_directory(), experiment)
    folder_of(runs_directory(), mine).rename(folder_of(runs_directory(), other))
    with pytest.raises(BadInput, match="of another experiment"):
        read_experiment(runs_directory(), other)
    assert list(experiments(runs_directory())) == []


@pytest.mark.parametrize("owner", [None, "oidc:issuer#bob"])
def test_a_line_of_progress_makes_nobody_the_owner_of_anothers_capture(
    home: Path, owner: str | None
) -> None:
    """A job finds its capture by its first line of progress, which another machine writes."""
    line = b'{"t": 1.0, "phase": "starting", "text": "x"}\n'
    theirs = runs_directory() / "20260101-theirs"
    theirs.mkdir(parents=True)
    (theirs / files.PROGRESS).write_bytes(line)
    if owner is not None:
        write_owner(theirs, owner)
    directory = home / "jobs" / "20261123-000000-abcdef"
    directory.mkdir(parents=True)
    words = (
        f"import pathlib; p = pathlib.Path({str(directory / files.PROGRESS)!r}); "
        f"p.write_bytes({line!r}); import time; time.sleep(0.5)"
    )
    spec = files.JobSpec(
        job_id=directory.name, command=(sys.executable, "-c", words), title="x", device="cpu",
        submitted_at=1.0, owner="oidc:issuer#eve", out=str(runs_directory()),
    )  # fmt: skip
    files.write(directory, spec)
    files.write(directory, files.JobStatus(state="running"))
    eves = Supervisor(directory)
    eves._run_once()
    assert eves._beat() is None and owner_of(theirs) == owner
    own = runs_directory() / "20260102-own"
    own.mkdir()
    (own / files.PROGRESS).write_bytes(line)
    eves._write_owner()
    assert owner_of(own) == "oidc:issuer#eve"


PROGRAMS = {
    "core.fsmonitor": "{}",
    "filter.a=b.clean": "{}",
    "filter.a=b.required": "true",
    "filter.c.process": "{}",
}


def test_a_project_that_is_sent_starts_no_program_here(home: Path, tmp_path: Path) -> None:
    """Its code runs there; `.git/config` of an archive that was unpacked names programs, too."""
    project, ran = tmp_path / "project", tmp_path / "ran"
    (project / "data").mkdir(parents=True)
    for name in ("model.py", "data/a.bin", "data/b.txt"):
        (project / name).write_text("def build(): ...\n")

    def git(*words: str) -> None:
        user = ("-c", "user.name=a", "-c", "user.email=a@example.org")
        subprocess.run(["git", "-C", str(project), *user, *words], check=True, capture_output=True)

    git("init")
    git("add", ".")
    git("commit", "-m", "first")
    script = tmp_path / "script.sh"
    script.write_text(f"#!/bin/sh\necho $0 $@ >> {ran}\n")
    script.chmod(0o755)
    for key, value in PROGRAMS.items():
        git("config", key, value.format(script))
    (project / ".git" / "info").mkdir(exist_ok=True)
    (project / ".git" / "info" / "attributes").write_text("*.bin filter=a=b\n*.txt filter=c\n")
    (project / ".git" / "hooks").mkdir(exist_ok=True)
    shutil.copy(script, project / ".git" / "hooks" / "post-index-change")
    for path in project.rglob("*.*"):
        if ".git" not in path.parts:
            os.utime(path, (1, 1))  # their content is compared again
    ran.unlink(missing_ok=True)
    spec = CaptureSpec(f"{project / 'model.py'}:build")
    sent = plan_of(spec, Host(ssh="box"), runs_directory(), is_code_there=False).project
    assert sent is not None
    assert [path.as_posix() for path in sent.paths] == ["data/a.bin", "data/b.txt", "model.py"]
    version = code_version(project)
    assert version["git_commit"]
    assert version["git_dirty"] is False
    assert not ran.exists()

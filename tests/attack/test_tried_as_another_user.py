"""*Try it* with `runner_user`: what is started is what a person asked for, whatever its code wrote.

Only root can become another user; the command that stands for the capture is that user's code.
"""

import json
import os
import pwd
import shutil
import sys
import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest

from profiler_core import home as home_of
from profiler_core.capture.spec import CaptureSpec, parse_sweep, parse_variants
from profiler_core.door import deeds, experimenting
from profiler_core.jobs import service as jobs
from profiler_core.jobs.vouched import vouch
from profiler_core.model.run import RunRecord
from profiler_core.run_directory import CAPTURE_JSON, IMPORTED, RUN_JSON
from profiler_core.store.captured_here import is_captured_here
from profiler_core.store.history import database
from profiler_core.store.records import read_record
from profiler_core.ui.experiments.start import spec_to_try, start_to_try
from profiler_core.ui.sign_in.asker import asker
from tests.attack.conftest import RUNNER, TEAM, Server
from tests.jobs.waiting import wait_for

OTHER = "nobody"
ONLY_ROOT = pytest.mark.skipif(os.geteuid() != 0, reason="only root becomes another user")
PYTHON = shutil.which("python3", path="/usr/bin:/usr/local/bin") or sys.executable
EVIL = {"workload": "/tmp/evil.py:build", "directory": "/tmp/evil", "python": "/tmp/evil/python"}

# A capture as its own user's code leaves it: the file of the capture, and that of its run.
MAKES = """
import json, pathlib, sys
out, asked, run = pathlib.Path(sys.argv[1]), *map(json.loads, sys.argv[2:])
(out / "cap" / "default").mkdir(parents=True)
(out / "cap" / "capture.json").write_text(json.dumps({"capture_id": "cap", **asked}))
(out / "cap" / "default" / "run.json").write_text(json.dumps(run))
"""


@pytest.fixture
def code(tmp_path: Path) -> Path:
    file = tmp_path / "model.py"
    file.write_text("def build(): raise SystemExit")
    return file


@pytest.fixture
def runs_as_nobody(server: Server) -> Iterator[str]:
    """The settings of a server whose captures are another user's."""
    scratch = Path(tempfile.mkdtemp())
    scratch.chmod(0o1777)
    text = f'allow_capture = true\nrunner_user = "{OTHER}"\nrunner_directory = "{scratch}"\n{TEAM}'
    server.is_at("127.0.0.1", text, RUNNER)
    yield text
    shutil.rmtree(scratch)
    database.close_all()


def run_of(spec: CaptureSpec, **forged: object) -> dict[str, Any]:
    """run.json as the launcher writes it, of the variant `default`."""
    fields = {k: v for k, v in spec.to_dict().items() if k not in ("variants", "sweep")}
    changed = json.loads(json.dumps({**fields, **forged}))
    return {
        "schema_version": 1, "run_id": "cap.default", "capture_id": "cap", "status": "finished",
        "name": "x", "workload": "x", "variant": "default", "spec": changed,
    }  # fmt: skip


def captured(spec: CaptureSpec, asked: object, run: object, patch: pytest.MonkeyPatch) -> RunRecord:
    """What lies here after a capture whose code wrote these two files."""
    words = [PYTHON, "-c", MAKES, "{out}", json.dumps(asked), json.dumps(run)]
    with patch.context() as replaced:
        replaced.setattr(deeds, "module_words", lambda *_: words)
        job_id = deeds.start_capture(asker(), spec)
    wait_for(lambda: not jobs.job(job_id).is_live)
    assert jobs.job(job_id).state == "finished", jobs.job(job_id).error
    folder = home_of.runs_directory() / "cap"
    assert folder.stat().st_uid == os.geteuid()
    return read_record(folder / "default", may_be_alive=False)[0]


def started_by_a_click(record: RunRecord, patch: pytest.MonkeyPatch) -> Sequence[str]:
    """The words of the experiment that *Try it* of this run starts; none: it starts none."""
    submitted: list[tuple[Sequence[str], dict[str, Any]]] = []
    patch.setattr(
        experimenting.jobs, "submit", lambda words, **more: submitted.append((words, more))
    )
    keys = ["run/cap/default"]
    spec = spec_to_try(record, keys)
    if spec is None:
        return ()
    wish = experimenting.Wish("10m", start=start_to_try(record, keys))
    experimenting.start_experiment(asker(), spec, wish)
    ((words, more),) = submitted
    assert more["runner"] == OTHER
    return words


@ONLY_ROOT
def test_a_click_starts_what_was_asked_for(
    runs_as_nobody: str, code: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert pwd.getpwnam(OTHER).pw_uid != os.geteuid()
    spec = CaptureSpec(workload=f"{code}:build", batch_size=3)
    record = captured(spec, {"schema": 1, **spec.to_dict()}, run_of(spec), monkeypatch)
    assert is_captured_here("run/cap/default")
    words = started_by_a_click(record, monkeypatch)
    assert words[words.index("try") + 1] == f"{code}:build"
    assert {"--batch-size=3", "--from=default"} <= set(words)


@ONLY_ROOT
@pytest.mark.parametrize("forges", ["capture", "run", "both"])
def test_what_its_code_wrote_over_is_not_started(
    runs_as_nobody: str, code: Path, monkeypatch: pytest.MonkeyPatch, forges: str
) -> None:
    spec = CaptureSpec(workload=f"{code}:build")
    asked = spec.to_dict() | (EVIL if forges != "run" else {})
    record = captured(
        spec, asked, run_of(spec, **(EVIL if forges != "capture" else {})), monkeypatch
    )
    words = started_by_a_click(record, monkeypatch)
    assert words == ()


@ONLY_ROOT
def test_of_what_its_code_adds_to_a_run_nothing_is_started(
    runs_as_nobody: str, code: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A variant may name a program, and a newer version has options that this one knows not."""
    spec = CaptureSpec(workload=f"{code}:build")
    run = run_of(spec, newer="--evil") | {"variant": "default+cpp.cxx=/tmp/evil"}
    record = captured(spec, spec.to_dict(), run, monkeypatch)
    assert started_by_a_click(record, monkeypatch) == ()
    honest = RunRecord(variant="default", spec=run["spec"])
    words = started_by_a_click(honest, monkeypatch)
    assert not any("evil" in word for word in words)
    assert words


@ONLY_ROOT
@pytest.mark.parametrize("then", ["", 'runner_user = "daemon"\n'])
def test_it_ends_with_the_user_that_it_ran_as(
    server: Server, runs_as_nobody: str, code: Path, monkeypatch: pytest.MonkeyPatch, then: str
) -> None:
    """Its code may lie where that user changes it: it would run as the server, or as another."""
    spec = CaptureSpec(workload=f"{code}:build")
    record = captured(spec, spec.to_dict(), run_of(spec), monkeypatch)
    assert spec_to_try(record, ["run/cap/default"]) is not None
    server.is_at("127.0.0.1", f"allow_capture = true\n{then}{TEAM}", RUNNER)
    assert spec_to_try(record, ["run/cap/default"]) is None


def test_each_capture_of_a_sweep_is_vouched_for_by_its_own_point(
    server: Server, runs_as_nobody: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    submitted: list[dict[str, Any]] = []
    monkeypatch.setattr("profiler_core.jobs.runner.why_not_as", lambda _: None)
    monkeypatch.setattr(jobs, "submit", lambda _, **more: submitted.append(more))
    variants = parse_variants("eager,default")
    swept = CaptureSpec("customcnn", variants=variants, sweep=parse_sweep("batch_size=1,2"))
    deeds.start_capture(asker(), swept)
    (more,) = submitted
    asked = json.loads(json.dumps(more["asked"]))
    assert [spec["batch_size"] for spec in asked] == [1, 2]
    for name, spec in (("a", asked[0]), ("b", asked[1]), ("c", {**asked[1], "batch_size": 3})):
        (tmp_path / name).mkdir()
        (tmp_path / name / CAPTURE_JSON).write_text(json.dumps({"capture_id": name, **spec}))
    vouch([tmp_path / name for name in "abc"], asked, OTHER)
    assert [(tmp_path / name / IMPORTED).exists() for name in "abc"] == [False, False, True]


def test_what_comes_from_a_machine_is_vouched_for_by_nobody(
    server: Server, monkeypatch: pytest.MonkeyPatch
) -> None:
    box = '[hosts.box]\nssh = "u@box"\npython = "/opt/python"\n'
    text = f'allow_capture = true\nrunner_user = "{OTHER}"\n{TEAM}{box}'
    server.is_at("127.0.0.1", text, RUNNER)
    submitted: list[dict[str, Any]] = []
    monkeypatch.setattr("profiler_core.jobs.runner.why_not_as", lambda _: None)
    monkeypatch.setattr(jobs, "submit", lambda _, **more: submitted.append(more))
    deeds.start_capture(asker(), CaptureSpec("customcnn"), "box")
    assert submitted[0]["asked"] == []
    database.close_all()


@pytest.mark.parametrize("text", ["", "[]", "[" * 100_000, '{"capture_id": "a"}', None])
def test_a_folder_without_what_was_asked_for_is_marked(tmp_path: Path, text: str | None) -> None:
    folder = tmp_path / "a"
    (folder / "default").mkdir(parents=True)
    (folder / "default" / RUN_JSON).write_text("{}")
    if text is None:
        (folder / CAPTURE_JSON).mkdir()
    else:
        (folder / CAPTURE_JSON).write_text(text)
    vouch([folder], [json.loads(json.dumps(CaptureSpec("customcnn").to_dict()))], OTHER)
    assert (folder / IMPORTED).exists() and (folder / "default" / IMPORTED).exists()


def test_a_full_disk_costs_what_was_asked_for(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked = json.loads(json.dumps(CaptureSpec("customcnn").to_dict()))
    (tmp_path / "a").mkdir()
    (tmp_path / "a" / CAPTURE_JSON).write_text(json.dumps(asked))

    def full(*_: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("profiler_core.jobs.vouched.write_through", full)
    vouch([tmp_path / "a"], [asked], OTHER)
    assert (tmp_path / "a" / IMPORTED).exists()

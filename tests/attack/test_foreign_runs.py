"""What a run or an experiment from elsewhere names is not run by the click of who looks at it."""

from pathlib import Path

import msgspec
import pytest

from profiler_core import home as home_of
from profiler_core.capture.spec import CaptureSpec
from profiler_core.door import experimenting
from profiler_core.door.asker import Refused
from profiler_core.errors import BadInput
from profiler_core.experiments.request import new_experiment
from profiler_core.jobs.brought import mark
from profiler_core.model.run import RunRecord
from profiler_core.run_directory import CAPTURE_JSON, IMPORTED
from profiler_core.store import history
from profiler_core.store.backup.selection import Choice, units
from profiler_core.store.captured_here import is_captured_here
from profiler_core.store.experiments import folder_of, write_experiment
from profiler_core.store.library import key_of_path
from profiler_core.ui.experiments.start import spec_to_try, start_to_try
from profiler_core.ui.sign_in.asker import asker
from tests.attack.conftest import RUNNER, TEAM, Server
from tests.store.history.samples import redated_copy

LIST = "allow_capture = true\ninterpreters = []\n"


def hostile(tmp_path: Path, workload: str, variant: str = "default") -> RunRecord:
    spec = {"workload": workload, "directory": str(tmp_path), "python": "/bin/sh", "batch_size": 3}
    return RunRecord(run_id="x", name="x", workload=workload, variant=variant, spec=spec)


def captured(record: RunRecord, capture_id: str, variants: list[str]) -> Path:
    """A capture's folder as the launcher makes it, of what this record was asked for."""
    folder = home_of.runs_directory() / capture_id
    for variant in variants:
        (folder / variant).mkdir(parents=True, exist_ok=True)
    asked = {"capture_id": capture_id, **record.spec, "variants": variants}
    (folder / CAPTURE_JSON).write_bytes(msgspec.json.encode(asked))
    return folder


@pytest.mark.parametrize(
    "key", ["upload/20260102-030405-00000000/1", "history/x", "path/tmp/x", "run/../x"]
)
def test_an_uploaded_run_does_not_choose_the_code_that_is_tried(
    server: Server, tmp_path: Path, key: str
) -> None:
    code = tmp_path / "model.py"
    code.write_text("def build(): raise SystemExit")
    assert spec_to_try(hostile(tmp_path, f"{code}:build"), ["sample/breaky/eager", key]) is None
    spec = spec_to_try(hostile(tmp_path, "customcnn"), [key])
    assert spec is not None
    assert (spec.workload, spec.batch_size) == ("customcnn", 3)
    assert (spec.python, spec.directory) == (None, None)
    own_keys = ["run/c1/eager", "run/c1/default"]
    captured(hostile(tmp_path, f"{code}:build"), "c1", ["eager", "default"])
    own = spec_to_try(hostile(tmp_path, f"{code}:build"), own_keys)
    assert own is not None and own.directory == str(tmp_path)
    assert spec_to_try(hostile(tmp_path, f"{code}:build"), [*own_keys, key]) is None
    assert spec_to_try(hostile(tmp_path, f"{code}:build"), []) is None


def test_an_imported_run_does_not_choose_the_code_that_is_tried(home: Path, tmp_path: Path) -> None:
    """It lies among the captures; that it came from elsewhere is kept, in a backup too."""
    elsewhere = redated_copy(tmp_path / "elsewhere", "c9")
    (imported,) = history.receive(elsewhere)[0]
    changed = "default+cpp.cxx=true"
    captured(hostile(tmp_path, "customcnn"), "c9", ["eager", changed])
    assert not is_captured_here(imported.key)
    assert is_captured_here("run/c9/eager")
    assert spec_to_try(hostile(tmp_path, f"{tmp_path}/model.py:build"), [imported.key]) is None
    record = hostile(tmp_path, "customcnn", changed)
    assert start_to_try(record, [imported.key]) == "default"
    assert start_to_try(record, ["run/c9/eager"]) == changed
    kept = [path.name for unit in units(Choice()) for path in unit.files]
    assert IMPORTED in kept


@pytest.mark.parametrize("target", ["keys/id_rsa", "keys", "nothing", "elsewhere/c8/default/a"])
def test_an_import_takes_nothing_along_that_its_links_lead_to(
    home: Path, tmp_path: Path, target: str
) -> None:
    """It would go to the team with the next `runs push`, as a file of the run."""
    (tmp_path / "keys").mkdir()
    (tmp_path / "keys" / "id_rsa").write_text("secret")
    elsewhere = redated_copy(tmp_path / "elsewhere", "c9")
    (elsewhere / "notes").mkdir()
    (elsewhere / "notes" / "a").symlink_to(tmp_path / target)
    with pytest.raises(BadInput, match="notes/a is a link that leads out"):
        history.receive(elsewhere)
    assert not [path for path in home.rglob("*") if path.name in ("a", "id_rsa")]
    assert history.runs() == ()


def test_an_import_keeps_what_links_within_the_run_lead_to(home: Path, tmp_path: Path) -> None:
    elsewhere = redated_copy(tmp_path / "elsewhere", "c9")
    (elsewhere / "same.json").symlink_to("run.json")
    (imported,) = history.receive(elsewhere)[0]
    copy = history.directory_of(imported) / "same.json"
    assert not copy.is_symlink()
    assert copy.read_bytes() == (elsewhere / "run.json").read_bytes()


def test_an_import_of_a_home_that_is_older_than_the_marker_starts_nothing(
    home: Path, tmp_path: Path
) -> None:
    """It lies there without the marker: alone, or among the runs of a capture of ours."""
    record = hostile(tmp_path, f"{tmp_path}/model.py:build")
    alone = redated_copy(home, "c1")
    assert not is_captured_here("run/c1/default")
    assert spec_to_try(record, ["run/c1/default"]) is None
    ours = msgspec.structs.replace(record, spec={**record.spec, "workload": "/own/model.py:build"})
    captured(ours, "c1", ["eager"])
    assert is_captured_here("run/c1/eager")
    assert spec_to_try(record, ["run/c1/eager", "run/c1/default"]) is None
    assert spec_to_try(msgspec.structs.replace(ours, variant="eager"), ["run/c1/eager"]) is not None
    assert start_to_try(msgspec.structs.replace(ours, variant="default"), ["run/c1/eager"]) == (
        "default"
    )
    assert spec_to_try(ours, ["run/c1/eager"]) is None  # no variant of that capture
    assert alone.is_dir()


def test_of_two_versions_the_one_that_was_asked_for_can_be_tried(
    home: Path, tmp_path: Path
) -> None:
    own = hostile(tmp_path, f"{tmp_path}/model.py:build")
    asked = {**own.spec, "against": "git:main", "training": False}
    captured(msgspec.structs.replace(own, spec=asked), "c1", ["default"])
    keys = ["run/c1/default", "run/c1/default"]
    run = msgspec.structs.replace(own, spec={**own.spec, "against": None, "training": True})
    spec = spec_to_try(run, keys)
    assert spec is not None and (spec.against, spec.training) == (None, True)
    other = {**run.spec, "workload": "/tmp/worktree/model.py:build"}  # gone with its capture
    assert spec_to_try(msgspec.structs.replace(own, spec=other), keys) is None


def test_what_lies_inside_of_a_run_was_captured_by_nobody(home: Path, tmp_path: Path) -> None:
    """A path below the library leads deeper than a key of it does."""
    record = hostile(tmp_path, f"{tmp_path}/model.py:build")
    folder = captured(record, "c1", ["default"])
    inside = folder / "default" / "torch_trace"
    captured(record, "c1/default", [inside.name])
    assert is_captured_here(key_of_path(folder / "default"))
    assert not is_captured_here(key_of_path(inside))
    assert spec_to_try(record, [key_of_path(inside)]) is None


@pytest.mark.parametrize("text", [b"", b"[]", b"[" * 100_000, b"\xff", b'{"variants": "default"}'])
def test_a_capture_json_that_is_none_vouches_for_nothing(
    home: Path, tmp_path: Path, text: bytes
) -> None:
    record = hostile(tmp_path, f"{tmp_path}/model.py:build")
    folder = captured(record, "c1", ["default"])
    assert spec_to_try(record, ["run/c1/default"]) is not None
    (folder / CAPTURE_JSON).write_bytes(text)
    assert spec_to_try(record, ["run/c1/default"]) is None


def test_a_resumed_experiment_keeps_to_the_list_of_interpreters(
    server: Server, home: Path, spy: object, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its file may be older than the list, or another user's code may have written it."""
    server.is_at("127.0.0.1", LIST + TEAM, RUNNER)
    made = new_experiment(CaptureSpec(workload="customcnn"), budget_s=60.0)
    words = (*made.words, f"--python={spy.path}")  # type: ignore[attr-defined]
    changed = msgspec.structs.replace(made, words=words, state="cancelled")
    write_experiment(home_of.runs_directory(), changed)
    submitted: list[object] = []
    monkeypatch.setattr(experimenting.jobs, "submit", lambda *words, **_: submitted.append(words))
    with pytest.raises(Refused, match="may not be started here"):
        experimenting.resume_experiment(asker(), made.experiment_id)
    assert submitted == []


def test_an_experiment_that_another_user_of_the_system_wrote_is_not_resumed(
    server: Server, home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """`runner_user` was taken out of the settings since: its words would run as the server."""
    server.is_at("127.0.0.1", LIST + TEAM, RUNNER)
    made = new_experiment(CaptureSpec(workload="/tmp/evil.py:build"), budget_s=60.0)
    cancelled = msgspec.structs.replace(made, state="cancelled")
    write_experiment(home_of.runs_directory(), cancelled)
    monkeypatch.setattr(experimenting.jobs, "submit", lambda *_, **__: pytest.fail("it runs"))
    mark([folder_of(home_of.runs_directory(), made.experiment_id)])
    with pytest.raises(BadInput, match="Another user of the system"):
        experimenting.resume_experiment(asker(), made.experiment_id)

"""What a run or an experiment from elsewhere names is not run by the click of who looks at it."""

from pathlib import Path

import msgspec
import pytest

from profiler_core import home as home_of
from profiler_core.capture.spec import CaptureSpec
from profiler_core.door import experimenting
from profiler_core.door.asker import Refused
from profiler_core.experiments.request import new_experiment
from profiler_core.model.run import RunRecord
from profiler_core.run_directory import IMPORTED
from profiler_core.store import history
from profiler_core.store.backup.selection import Choice, units
from profiler_core.store.experiments import write_experiment
from profiler_core.store.library import is_captured_here
from profiler_core.ui.experiments.start import spec_to_try, start_to_try
from profiler_core.ui.sign_in.asker import asker
from tests.attack.conftest import RUNNER, TEAM, Server
from tests.store.history.samples import redated_copy

LIST = "allow_capture = true\ninterpreters = []\n"


def hostile(tmp_path: Path, workload: str) -> RunRecord:
    spec = {"workload": workload, "directory": str(tmp_path), "python": "/bin/sh", "batch_size": 3}
    return RunRecord(run_id="x", name="x", workload=workload, variant="default", spec=spec)


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
    own = spec_to_try(hostile(tmp_path, f"{code}:build"), ["run/c1/eager", "run/c1/default"])
    assert own is not None and own.directory == str(tmp_path)


def test_an_imported_run_does_not_choose_the_code_that_is_tried(home: Path, tmp_path: Path) -> None:
    """It lies among the captures; that it came from elsewhere is kept, in a backup too."""
    elsewhere = redated_copy(tmp_path / "elsewhere", "c9")
    (imported,) = history.receive(elsewhere)[0]
    (home_of.runs_directory() / "c9" / "eager").mkdir()
    assert not is_captured_here(imported.key)
    assert is_captured_here("run/c9/eager")
    assert spec_to_try(hostile(tmp_path, f"{tmp_path}/model.py:build"), [imported.key]) is None
    record = hostile(tmp_path, "customcnn")
    record = msgspec.structs.replace(record, variant="default+cpp.cxx=true")
    assert start_to_try(record, [imported.key]) == "default"
    assert start_to_try(record, ["run/c9/eager"]) == "default+cpp.cxx=true"
    kept = [path.name for unit in units(Choice()) for path in unit.files]
    assert IMPORTED in kept


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

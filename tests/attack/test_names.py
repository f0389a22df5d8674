"""Names without text and names without end: no run is lost by them, and none is torn apart."""

import io
import json
import os
import shutil
import tarfile
import zipfile
from pathlib import Path

import pytest

from profiler_core.cli.main import main
from profiler_core.errors import NotARun
from profiler_core.jobs.received import receive
from profiler_core.store import catalogue, history
from profiler_core.store.history import database
from tests.store.history.samples import redated_copy
from tests.uploading import accept

NAMELESS = os.fsdecode(b"caf\xe9")
# As a recorder names the folder of a run: workload and variant with 40 characters each.
LONG = f"20261123-233256-{'w' * 40}-{'v' * 40}-a1b2c3d4"


@pytest.fixture(autouse=True)
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("FUSIONSCOPE_HOME", str(tmp_path / "home"))
    monkeypatch.setenv("FUSIONSCOPE_PERSON", "Ada")
    return tmp_path / "home"


def test_a_file_without_text_for_a_name_takes_nobodys_backup(
    home: Path,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    run = redated_copy(home, "c1", whole=True)
    (run / NAMELESS).write_text("x")
    redated_copy(home, "c2")
    assert len(history.reconcile().recorded) == 2
    history.set_baseline("main", "c1.default")  # refused where its files seem changed
    for target in (tmp_path / "backups", tmp_path / "backup.zip"):
        assert main(["backup", str(target)]) == 0
        assert "runs/c1/default/caf?: its name is no text" in capsys.readouterr().out
        database.close_all()
        new_home = str(tmp_path / f"{target.name}-restored")
        assert main(["restore", str(target), "--home", new_home]) == 0
        assert len(list(Path(new_home).glob("runs/*/*/run.json"))) == 2
        monkeypatch.setenv("FUSIONSCOPE_HOME", str(home))
        database.close_all()


def test_a_folder_without_text_for_a_name_keeps_no_other_run_out(home: Path) -> None:
    redated_copy(home, "c1").parent.rename(home / "runs" / NAMELESS)
    variant = redated_copy(home, "c2")
    variant.rename(variant.with_name(NAMELESS))
    redated_copy(home, "c3")
    catalogue.refresh(everything=True)
    reconciled = history.reconcile()
    assert reconciled.recorded == ("c3.default",)
    assert reconciled.problems == (
        ("runs/caf?", "Not recorded: its name is no text in UTF-8."),
        ("c2/caf?", "Not recorded: its name is no text in UTF-8."),
    )


def test_no_such_name_comes_from_another_machine(tmp_path: Path) -> None:
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w|") as archive:
        for name in ("cap/run.json", f"cap/{NAMELESS}", f"{NAMELESS}/run.json"):
            archive.addfile(tarfile.TarInfo(name), io.BytesIO())
    packed = buffer.getvalue()
    stream = io.BytesIO(b"R\n%d\n%s0\n" % (len(packed), packed))
    assert receive(stream, tmp_path / "progress", tmp_path / "made").is_all_here
    made = [path.relative_to(tmp_path / "made") for path in (tmp_path / "made").rglob("*")]
    assert sorted(map(str, made)) == ["cap", "cap/run.json"]


def test_a_run_of_a_long_name_comes_whole_out_of_its_archive(home: Path, tmp_path: Path) -> None:
    run = redated_copy(tmp_path, LONG, whole=True, run_id=LONG)
    files = {path.name for path in run.iterdir()}
    directory = run.rename(tmp_path / LONG)
    packed = tmp_path / f"{LONG}.zip"
    packed.write_bytes(b"".join(history.packed(directory)))
    (recorded,), notes = history.receive(packed)
    assert (recorded.run_id, notes) == (LONG, ())
    assert recorded.metrics.n_kernels is not None
    (unpacked,) = home.glob("uploads/*/1")
    assert {path.name for path in unpacked.iterdir()} == files


def test_a_dropped_folder_far_below_is_one_run(tmp_path: Path) -> None:
    run = redated_copy(tmp_path, "c1", whole=True)
    above = "/".join("folder" * 10 for _ in range(6))
    files = {f"{above}/{p.relative_to(run)}": p.read_bytes() for p in run.rglob("*") if p.is_file()}
    accepted = accept(files)
    assert (len(accepted.keys), accepted.notes) == (1, ())


def test_what_is_said_of_a_long_name_is_short(tmp_path: Path) -> None:
    run = redated_copy(tmp_path, "c1", whole=True)
    trace = (run / "trace.json.gz").read_bytes()
    accepted = accept({"trace.json.gz": trace, f"{'deep/' * 500}notes.bin": b"\1\2\3"})
    (note,) = accepted.notes
    assert len(note) < 400


@pytest.mark.parametrize("capture_id", ["x" * 300, "ü" * 200])
def test_a_run_of_a_capture_with_an_endless_name_is_refused_in_words(
    tmp_path: Path, capture_id: str
) -> None:
    run = redated_copy(tmp_path, "c1")
    record = json.loads((run / "run.json").read_text())
    (run / "run.json").write_text(json.dumps(record | {"capture_id": capture_id}))
    with pytest.raises(NotARun, match="cannot be the name of a folder"):
        history.receive(run)


@pytest.mark.parametrize("other", ["a\u3000b", "a\xa0b"])
def test_folders_whose_names_look_alike_are_two_runs(
    home: Path, tmp_path: Path, other: str
) -> None:
    first = redated_copy(tmp_path, "c1", variant="eager", run_id="first")  # it has no trace
    second = redated_copy(tmp_path, "c2", whole=True, run_id="second")
    with zipfile.ZipFile(tmp_path / "both.zip", "w") as archive:
        for run, folder in ((first, "a b"), (second, other)):
            for file in run.rglob("*"):
                if file.is_file():
                    archive.write(file, f"{folder}/{file.relative_to(run)}")
    recorded, _ = history.receive(tmp_path / "both.zip")
    traces = {run.run_id: history.directory_of(run) / "trace.json.gz" for run in recorded}
    assert not traces.pop("first").exists()
    assert traces.pop("second").read_bytes() == (second / "trace.json.gz").read_bytes()
    assert not traces


@pytest.mark.parametrize("capture_id", ["実験" * 20, "ü" * 127, ".hidden", ""])
def test_a_run_of_any_capture_is_kept_among_the_artifacts(
    home: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capture_id: str
) -> None:
    monkeypatch.setenv("FUSIONSCOPE_ARTIFACTS_URL", f"file://{tmp_path / 'artifacts'}")
    run = redated_copy(home, "c1")
    record = json.loads((run / "run.json").read_text()) | {"capture_id": capture_id}
    (run / "run.json").write_text(json.dumps(record))
    assert history.reconcile() == history.Reconciled(("c1.default",), ())
    shutil.rmtree(run.parent)
    inside = json.loads((history.directory_of(history.run("c1.default")) / "run.json").read_text())
    assert inside == record
    assert history.reconcile() == history.Reconciled((), ())

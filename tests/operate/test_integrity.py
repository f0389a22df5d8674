"""A run is its files: what was changed after it was recorded is named, and never judged by."""

import json
import os
import shutil

import pytest

from profiler_core.agents.runs import compared, run_at
from profiler_core.cli.main import main
from profiler_core.errors import BadInput
from profiler_core.store import history
from profiler_core.store.history import FilesChanged, integrity
from profiler_core.store.history.packing import content_hash
from tests.store.history.samples import redated_copy


@pytest.fixture
def home(home, columns):
    """The copies have the samples' content, whose columns are read once for all tests."""
    home.mkdir()
    (home / "cache").symlink_to(columns)
    return home


@pytest.fixture
def run(home):
    """A whole recorded run, kept as the baseline "main"."""
    recorded = history.record(redated_copy(home, "c1", whole=True))
    history.set_baseline("main", recorded.run_id)
    return recorded


@pytest.fixture
def directory(run):
    return history.directory_of(run)


@pytest.fixture
def candidate(home):
    return redated_copy(home, "c2", whole=True, variant="eager")


def append(path, data=b" "):
    stat = path.stat()
    path.write_bytes(path.read_bytes() + data)
    os.utime(path, ns=(stat.st_atime_ns, stat.st_mtime_ns))


def change_in_place(path):
    """Another content of the same size."""
    data = bytearray(path.read_bytes())
    data[len(data) // 2] ^= 1
    path.write_bytes(bytes(data))


def truncate(path):
    path.write_bytes(path.read_bytes()[: path.stat().st_size // 2])


CHANGES = [
    (lambda d: append(d / "run.json"), r"run\.json, .* then, .* now"),
    (lambda d: truncate(d / "trace.json.gz"), r"trace\.json\.gz, .*B then, .*B now"),
    (lambda d: change_in_place(d / "torch_logs.txt"), r"torch_logs\.txt has the same .* and other"),
    (lambda d: (d / "nvml.jsonl").unlink(), r"nvml\.jsonl \(.*\) is gone"),
    (lambda d: (d / "more.txt").write_text("x"), r"more\.txt was added"),
]


@pytest.mark.parametrize(("change", "words"), CHANGES)
def test_a_changed_file_is_named_and_no_baseline(run, directory, candidate, change, words, capsys):
    assert main(["gate", "main", str(candidate)]) in (0, 1)
    capsys.readouterr()
    change(directory)
    with pytest.raises(FilesChanged, match=words):
        history.directory_of(run)
    with pytest.raises(FilesChanged, match=words):
        history.set_baseline("other", run.run_id)
    for baseline, other in (("main", candidate), (directory, candidate), (candidate, directory)):
        assert main(["gate", str(baseline), str(other)]) == 2
        assert "changed after it was recorded" in capsys.readouterr().err
    for asked in (lambda: run_at(run.key), lambda: compared("run/c2/eager", run.key)):
        with pytest.raises(FilesChanged, match=words):
            asked()
    assert history.notice(run.run_id, run.key, directory).startswith("The files of this run were")
    assert main(["runs", "verify", run.run_id]) == 1
    assert "changed after it was recorded" in capsys.readouterr().out


def test_the_changed_files_are_not_recorded_in_its_place(run, directory):
    change_in_place(directory / "torch_logs.txt")
    with pytest.raises(BadInput, match=r"torch_logs\.txt was another"):
        history.record(directory)
    (directory / "torch_logs.txt").unlink()
    with pytest.raises(BadInput, match=r"it had torch_logs\.txt, too"):
        history.record(directory)


def test_an_import_of_the_recorded_files_mends_it(run, directory, tmp_path):
    archive = tmp_path / "run.zip"
    archive.write_bytes(b"".join(history.packed(directory)))
    truncate(directory / "trace.json.gz")
    (mended,), _ = history.receive(archive)
    assert mended.key != run.key
    assert history.directory_of(history.baseline("main")) != directory
    assert history.notice(run.run_id, run.key, directory) is not None


def test_an_exported_run_is_the_same_run_also_with_its_structured_log(run, directory, tmp_path):
    """An upload numbers the files of that log; by name it was another run."""
    archive = tmp_path / "run.zip"
    archive.write_bytes(b"".join(history.packed(directory)))
    (again,), _ = history.receive(archive)
    assert again.key == run.key


def test_opening_hashes_nothing_and_after_a_copy_once(run, directory, monkeypatch):
    hashed = []
    really = integrity.sha256

    def counted(path):
        hashed.append(path.name)
        return really(path)

    monkeypatch.setattr(integrity, "sha256", counted)
    assert history.changed_files(run.run_id, directory) == ()
    assert hashed == []
    aside = directory.with_name("aside")
    shutil.copytree(directory, aside, copy_function=shutil.copyfile)  # without the times
    shutil.rmtree(directory)
    aside.rename(directory)
    assert history.changed_files(run.run_id, directory) == ()
    assert len(hashed) == len([p for p in directory.rglob("*") if p.is_file()])
    assert history.changed_files(run.run_id, directory) == ()
    assert len(hashed) == len([p for p in directory.rglob("*") if p.is_file()])


def test_what_hides_behind_size_and_time_verify_sees(run, directory, capsys):
    path = directory / "torch_logs.txt"
    stat = path.stat()
    change_in_place(path)
    os.utime(path, ns=(stat.st_atime_ns, stat.st_mtime_ns))
    assert history.changed_files(run.run_id, directory) == ()
    assert main(["runs", "verify", "--all", "--json"]) == 1
    (answer,) = json.loads(capsys.readouterr().out)["runs"]
    assert (answer["run_id"], answer["outcome"]) == (run.run_id, "changed")
    assert "torch_logs.txt has the same" in answer["sentence"]


def test_a_run_whose_rounds_say_when_they_began_is_the_same_run_again(home, tmp_path):
    """What a capture writes of its rounds, and the history keeps only in part."""
    copies = [redated_copy(folder, "c3") for folder in (home, tmp_path / "sent")]
    for directory in copies:
        run_json = directory / "run.json"
        run = json.loads(run_json.read_text())
        for begun, timed in enumerate(run["measurement"]["rounds"]):
            timed |= {"started_ns": 1_795_299_016_577_451_146 + begun, "cpu": 3}
        run_json.write_text(json.dumps(run))
    recorded = history.record(copies[0])
    assert history.record(copies[0]) == recorded
    assert history.receive(copies[1])[0] == (recorded,)


def test_without_a_history_nothing_was_recorded_and_none_is_made(home, capsys):
    paths = [redated_copy(home, "c1", variant=variant) for variant in ("eager", "default")]
    assert main(["gate", *map(str, paths)]) in (0, 1, 3)
    assert not (home / "history.sqlite3").exists()


def test_counters_may_come_later(run, directory):
    (directory / "counters.csv").write_text("")
    assert history.changed_files(run.run_id, directory) == ()
    assert history.record(directory).run_id == run.run_id


def test_a_run_of_an_earlier_version_is_remembered_when_it_is_verified(run, directory, capsys):
    with history.writing() as connection:
        connection.exec_driver_sql("DELETE FROM run_files")
    assert history.changed_files(run.run_id, directory) == ()
    assert main(["runs", "verify", run.run_id]) == 0
    assert "they are kept now" in capsys.readouterr().out
    append(directory / "run.json")
    assert history.changed_files(run.run_id, directory) != ()
    assert main(["runs", "verify"]) == 2


def other_way(way, forged, home, tmp_path, monkeypatch):
    """Bring a forged copy in by one of the ways; returns the sentence that refuses it."""
    if way in ("folder", "zip", "record"):
        path = forged
        if way == "zip":
            path = tmp_path / "forged.zip"
            path.write_bytes(b"".join(history.packed(forged)))
        with pytest.raises(BadInput) as raised:
            history.record(path) if way == "record" else history.receive(path)
        return str(raised.value)
    if way == "artifact":
        kept = tmp_path / "kept" / "c1"
        kept.mkdir(parents=True, exist_ok=True)
        archive = kept / f"{content_hash(forged)}.zip"
        archive.write_bytes(b"".join(history.packed(forged)))
        ((_, sentence),) = history.reconcile().problems
        return sentence
    # As the page does, or a copy by hand: the files first, then the history by itself.
    target = home / ("uploads/u1/1" if way == "upload" else "runs/c9/default")
    target.parent.mkdir(parents=True)
    shutil.copytree(forged, target)
    reconciled = history.reconcile()
    assert reconciled == history.Reconciled((), reconciled.problems)
    # A part of what was recorded contradicts nothing by itself.
    is_named = (forged / "torch_logs.txt").exists()
    assert [("though it has its run_id" in named) for _, named in reconciled.problems] == (
        [True] if is_named else []
    )
    key = "upload/u1/1" if way == "upload" else "run/c9/default"
    if is_named:
        assert "though it has its run_id" in (history.notice("c1.default", key, target) or "")
    with pytest.raises(BadInput) as raised:
        history.record(target)
    return str(raised.value)


@pytest.mark.parametrize("are_files_here", [True, False])
@pytest.mark.parametrize("way", ["folder", "zip", "record", "upload", "copy", "artifact"])
@pytest.mark.parametrize("forged_by", ["rounds", "log", "less"])
def test_known_run_and_other_files_is_refused_on_every_way_in(
    home, tmp_path, monkeypatch, way, forged_by, are_files_here
):
    monkeypatch.setenv("FUSIONSCOPE_ARTIFACTS_URL", (tmp_path / "kept").as_uri())
    original = redated_copy(home, "c1", whole=True)
    run = history.record(original)
    slower = 0.1 if forged_by == "rounds" else 1.0
    forged = redated_copy(tmp_path / "elsewhere", "c1", whole=True, slower=slower)
    if forged_by == "log":
        append(forged / "torch_logs.txt", b"V1121 made up\n")
    if not are_files_here:
        history.delete_files([run])
        history.empty(run.run_id)
    if forged_by == "less":
        (forged / "torch_logs.txt").unlink()
        if are_files_here:  # nothing is lost then, and nothing changes
            return
    problem = other_way(way, forged, home, tmp_path, monkeypatch)
    assert "contradicts the run “c1.default”" in problem
    kept = history.run(run.run_id)
    assert (kept.rounds, kept.key, kept.artifact) == (run.rounds, run.key, run.artifact)
    if are_files_here:
        assert history.directory_of(kept) == original

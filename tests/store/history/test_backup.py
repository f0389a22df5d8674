"""A backup put back holds every row and every file; what is killed on the way is never half."""

import hashlib
import json
import os
import shutil
import zipfile
from pathlib import Path

import pytest
from sqlalchemy import text
from sqlalchemy.exc import SQLAlchemyError

from profiler_core.cli.main import main
from profiler_core.errors import BadInput
from profiler_core.owner_file import write_owner
from profiler_core.store import aside, history
from profiler_core.store.backup import Choice, back_up, check, restore, selection
from profiler_core.store.backup.vaults import FolderVault, backups_in, source_of
from profiler_core.store.history import database, dump
from tests.store.history.any_rows import fill, rows_of
from tests.store.history.samples import redated_copy
from tests.store.history.test_crashes import killed_in_the_middle

ON_SQLITE = pytest.mark.parametrize("kind", ["sqlite"], indirect=True)  # the files are the point


def a_library(home):
    """Two captures with files, an upload, settings, and a row in every table."""
    for capture_id in ("c1", "c2"):
        directory = redated_copy(home, capture_id)
        (directory / "sources").mkdir()
        (directory / "sources" / "model.py").write_text(f"# {capture_id}\n" * 100_000)
        (directory / "stdout.txt").write_bytes(b"\xff no text\n")
        history.record(directory)
        write_owner(home / "runs" / capture_id, "oidc:issuer#ada")
    upload = redated_copy(home, "c3")
    (home / "uploads").mkdir()
    upload.parent.rename(home / "uploads" / "u1")
    history.record(home / "uploads" / "u1" / "default")
    history.set_baseline("main", "c1.default", note="the newest")
    history.tag("c2.default", "weekly")
    with history.writing() as connection:
        fill(connection)
    (home / "settings.toml").write_text("keep_captures = 20\n")
    (home / "server.key").write_bytes(b"a key")
    (home / "cache" / "made").mkdir(parents=True)
    (home / "cache" / "made" / "columns").write_bytes(b"made again at any time")


def all_rows():
    with history.reading() as connection:
        return rows_of(connection)


def digests(home, *roots):
    return {
        path.relative_to(home).as_posix(): (
            hashlib.sha256(path.read_bytes()).hexdigest(),
            path.stat().st_mtime_ns,
        )
        for root in roots
        for path in sorted((home / root).rglob("*"))
        if path.is_file()
    }


@pytest.fixture
def move_to(tmp_path, monkeypatch, new_database):
    """From now on the home and the database are new, empty ones."""

    def move_to(kind: str, name: str = "new") -> Path:
        database.close_all()
        url = new_database(kind)
        monkeypatch.setenv("FUSIONSCOPE_HOME", str(tmp_path / name))
        if url is None:
            monkeypatch.delenv("FUSIONSCOPE_DATABASE_URL", raising=False)
        else:
            monkeypatch.setenv("FUSIONSCOPE_DATABASE_URL", url)
        return tmp_path / name

    return move_to


@pytest.mark.parametrize(
    ("new_kind", "target"),
    [("sqlite", "kept"), ("postgresql", "kept"), ("postgresql", "kept.zip")],
)
def test_all_rows_and_files_come_back(home, tmp_path, move_to, target, new_kind, capsys):
    a_library(home)
    assert main(["backup", str(tmp_path / target)]) == 0
    rows, files = all_rows(), digests(home, "runs", "uploads")
    new = move_to(new_kind)
    assert main(["restore", str(tmp_path / target), "--home", str(new)]) == 0
    restored = all_rows()
    assert restored["audit"].pop()["action"] == "restore"
    assert restored == rows
    assert all(rows.values())
    assert digests(new, "runs", "uploads") == files
    assert not list(new.rglob("*.restoring"))
    assert (new / "settings.toml").read_text() == "keep_captures = 20\n"
    assert not (new / "cache").exists()
    assert not (new / "server.key").exists()
    # It is a history to work with: new rows get new ids, and the audit still only grows.
    history.note("ada", "look", "c1.default")
    assert history.baseline("main").run_id == "c1.default"
    assert history.directory_of(history.run("c1.default")) == new / "runs" / "c1" / "default"
    with pytest.raises((SQLAlchemyError, BadInput)), history.writing() as connection:
        connection.execute(text("DELETE FROM audit"))
    assert history.reconcile().recorded == ()


@ON_SQLITE
def test_a_backup_counts_runs_as_the_list_does(home, tmp_path, move_to, capsys):
    """A push that is repeated after a crash leaves a run's files in two folders."""
    a_library(home)
    shutil.copytree(home / "uploads" / "u1", home / "uploads" / "u2")
    history.untag("c2.default", "weekly")
    history.delete_run("c2.default")
    kept = str(tmp_path / "kept")
    main(["backup", kept, "--trash"])
    n_runs = history.n_runs()
    assert n_runs == len(history.runs())
    main(["restore", kept, "--check"])
    main(["restore", kept, "--home", str(move_to("sqlite"))])
    made, checked, restored = (
        line for line in capsys.readouterr().out.splitlines() if "folders of runs" in line
    )
    for printed in (made, checked, restored):
        assert f": {n_runs} runs, 4 folders of runs, " in printed
    assert history.n_runs() == n_runs


@ON_SQLITE
def test_a_second_backup_adds_only_what_is_new(home, tmp_path):
    a_library(home)
    back_up(FolderVault(tmp_path / "kept"), Choice())
    history.record(redated_copy(home, "c9"))
    made = back_up(FolderVault(tmp_path / "kept"), Choice())
    names = backups_in(tmp_path / "kept")
    assert len(names) == 2
    first, second = (check(source_of(tmp_path / "kept", name)) for name in names)
    assert second.n_runs == first.n_runs + 1
    rows = second.files[0]
    new_run = (home / "runs" / "c9" / "default" / "run.json").stat().st_size
    assert second.n_new_bytes == made.n_new_bytes == rows.n_bytes + new_run


@ON_SQLITE
def test_experiments_come_along_without_what_they_compiled(home, tmp_path, move_to):
    a_library(home)
    folder = home / "runs" / "_20261123-101500-try-made-up-1a2b"
    (folder / "caches" / "default").mkdir(parents=True)
    (folder / "caches" / "default" / "kernel.so").write_bytes(b"made again")
    (folder / "running.lock").touch()
    (folder / "experiment.json").write_text("{}")
    (folder / "owner").write_text("ada")
    assert main(["backup", str(tmp_path / "kept")]) == 0
    new = move_to("sqlite")
    assert main(["restore", str(tmp_path / "kept"), "--home", str(new)]) == 0
    there = new / "runs" / folder.name
    assert {path.name for path in there.iterdir()} == {"experiment.json", "owner"}


@ON_SQLITE
def test_a_run_that_is_captured_is_left_out_and_one_that_ended_is_whole(home, tmp_path):
    a_library(home)
    running = redated_copy(home, "c7", status="running")
    record = json.loads((running / "run.json").read_text())
    record["measurement"] |= {"pid": os.getpid(), "host": os.uname().nodename}
    (running / "run.json").write_text(json.dumps(record))
    (running / "heartbeat").touch()
    manifest = back_up(FolderVault(tmp_path / "kept"), Choice())
    assert not any("c7" in file.path for file in manifest.files)
    assert ("runs/c7/default", "it is being captured") in [
        (left.path, left.reason) for left in manifest.left_out
    ]
    assert sum("runs/c1/default/" in file.path for file in manifest.files) == len(
        [path for path in (home / "runs/c1/default").rglob("*") if path.is_file()]
    )


@ON_SQLITE
@pytest.mark.parametrize("when", ["before it is looked at", "while it is looked at"])
def test_a_run_that_ends_meanwhile_is_in_it_whole_or_not_at_all(
    home, tmp_path, monkeypatch, move_to, when
):
    redated_copy(home, "c1", variant="eager")
    running = redated_copy(home, "c1", variant="reduce-overhead", status="running")
    ended = (running / "run.json").read_text().replace('"running"', '"finished"')
    with monkeypatch.context() as patch:

        def end(*_):
            (running / "trace.json.gz").write_bytes(b"a trace")
            (running / "run.json").write_text(ended)

        if when == "before it is looked at":  # the baseline's files take minutes
            keep = FolderVault.keep
            patch.setattr(FolderVault, "keep", lambda *a: (keep(*a), "eager" in a[1] and end())[0])
        else:
            is_made = selection.Unit.is_being_made.fget
            patch.setattr(
                selection.Unit, "is_being_made", property(lambda unit: (end(), is_made(unit))[1])
            )
        back_up(FolderVault(tmp_path / "kept"), Choice())
    new_home = move_to("sqlite")
    restore(source_of(tmp_path / "kept"))
    kept = new_home / "runs" / "c1" / "reduce-overhead"
    assert not kept.exists() or {path.name for path in kept.iterdir()} == {
        "run.json", "trace.json.gz",
    }  # fmt: skip


def test_a_run_that_is_recorded_meanwhile_is_in_it_whole_or_not_at_all(
    home, kind, tmp_path, monkeypatch, move_to
):
    a_library(home)
    rows = dump.Dump.__iter__
    names = (f"m{n}" for n in range(10))

    def then_recorded(self):
        yield from rows(self)
        history.record(redated_copy(home, next(names)))

    with monkeypatch.context() as patch:
        patch.setattr(dump.Dump, "__iter__", then_recorded)
        manifest = back_up(FolderVault(tmp_path / "kept"), Choice())
    meanwhile = {run.run_id for run in history.runs() if run.run_id.startswith("m")}
    move_to(kind)
    restore(source_of(tmp_path / "kept"))
    recorded = {run.run_id for run in history.runs() if run.run_id.startswith("m")}
    with_files = {f.path.split("/")[1] for f in manifest.files if f.path.startswith("runs/m")}
    assert {f"{name}.default" for name in with_files} == recorded
    assert recorded < meanwhile  # at least the last one is not in it
    assert history.reconcile().recorded == ()


def test_a_run_that_is_deleted_meanwhile_is_in_neither(home, tmp_path, monkeypatch, move_to):
    a_library(home)
    rows = dump.Dump.__iter__

    def then_deleted(self):
        yield from rows(self)
        if "c2.default" in {run.run_id for run in history.runs()}:
            history.untag("c2.default", "weekly")
            history.delete_run("c2.default")

    with monkeypatch.context() as patch:
        patch.setattr(dump.Dump, "__iter__", then_deleted)
        back_up(FolderVault(tmp_path / "kept"), Choice())
    move_to("sqlite")
    restore(source_of(tmp_path / "kept"))
    assert "c2.default" not in {run.run_id for run in history.runs()}
    assert history.reconcile().recorded == ()


@ON_SQLITE
@pytest.mark.parametrize("with_trash", [True, False])
def test_what_was_deleted_comes_along_where_it_is_asked_for(home, tmp_path, move_to, with_trash):
    a_library(home)
    history.untag("c2.default", "weekly")
    record = (home / "runs" / "c2" / "default" / "run.json").read_bytes()
    history.delete_run("c2.default")
    manifest = back_up(FolderVault(tmp_path / "kept"), Choice(with_trash=with_trash))
    assert any("c2" in file.path for file in manifest.files) == with_trash
    move_to("sqlite")
    restore(source_of(tmp_path / "kept"))
    history.restore("c2.default")
    assert history.run("c2.default").workload
    assert history.has_files(history.run("c2.default")) == with_trash
    if with_trash:
        there = history.directory_of(history.run("c2.default"))
        assert (there / "run.json").read_bytes() == record


@ON_SQLITE
@pytest.mark.parametrize("with_trash", [False, True])
def test_the_trash_comes_along_where_it_is_asked_for(home, tmp_path, move_to, with_trash):
    a_library(home)
    history.untag("c2.default", "weekly")
    history.delete_run("c2.default")
    (deletion,) = [d for d in history.trash_contents() if "c2.default" in d.run_ids]
    manifest = back_up(FolderVault(tmp_path / "kept"), Choice(with_trash=with_trash))
    assert any("c2" in file.path for file in manifest.files) is with_trash
    new = move_to("sqlite")
    restore(source_of(tmp_path / "kept"))
    assert "c2.default" not in {run.run_id for run in history.runs()}
    history.restore(deletion.deletion_id)
    assert history.run("c2.default").workload == "breaky"
    assert (new / "runs" / "c2" / "default" / "run.json").is_file() is with_trash


@ON_SQLITE
def test_secrets_only_where_they_are_asked_for(home, tmp_path, move_to):
    a_library(home)
    (home / "settings.toml").write_text(
        'keep_captures = 20\nartifacts_url = "s3://key:pass@host/bucket"\n[team]\nviewers = ["*"]\n'
    )
    for name, choice in (("plain", Choice()), ("whole", Choice(with_secrets=True))):
        back_up(FolderVault(tmp_path / name), choice)
    stored = b"".join(p.read_bytes() for p in (tmp_path / "plain").rglob("*") if p.is_file())
    assert b"key:pass" not in stored
    assert b"a key" not in stored
    new = move_to("sqlite")
    restore(source_of(tmp_path / "whole"))
    assert (new / "server.key").read_bytes() == b"a key"
    assert "key:pass" in (new / "settings.toml").read_text()


@ON_SQLITE
def test_the_restored_server_does_not_use_the_old_ones_database(home, tmp_path, move_to):
    a_library(home)
    url = f"sqlite:///{home}/history.sqlite3"
    (home / "settings.toml").write_text(f'keep_captures = 20\ndatabase_url = "{url}"\n')
    back_up(FolderVault(tmp_path / "kept"), Choice(with_secrets=True))
    new = move_to("sqlite")
    restore(source_of(tmp_path / "kept"))
    assert (new / "settings.toml").read_text() == "keep_captures = 20\n"


@ON_SQLITE
def test_nothing_is_restored_over_something(home, tmp_path, move_to, capsys):
    a_library(home)
    kept = str(tmp_path / "kept")
    assert main(["backup", kept]) == 0
    assert main(["restore", kept, "--home", str(home)]) == 2
    assert f"{home} is not empty" in capsys.readouterr().err
    assert len(history.runs()) > 3


@ON_SQLITE
def test_a_restore_that_was_killed_at_its_mark_is_begun_again(home, tmp_path, move_to):
    """The piece of the mark that it left behind made the home "not empty"."""
    a_library(home)
    back_up(FolderVault(tmp_path / "kept"), Choice())
    new = move_to("sqlite")
    new.mkdir(exist_ok=True)
    (new / f"{database.UNFINISHED}.4711.1a2b3c4d").write_bytes(b"")
    restore(source_of(tmp_path / "kept"))
    assert not list(new.glob(f"{database.UNFINISHED}*"))
    assert len(history.runs()) > 3


def test_a_database_with_rows_is_refused_and_the_new_home_stays_empty(home, kind, tmp_path, capsys):
    if kind == "sqlite":
        return  # it lies in the home
    a_library(home)
    kept = str(tmp_path / "kept")
    main(["backup", kept])
    new = tmp_path / "new"
    assert main(["restore", kept, "--home", str(new)]) == 2
    assert "is not empty" in capsys.readouterr().err
    assert list(new.iterdir()) == []


def test_damage_is_seen_and_nothing_of_the_rows_is_kept(home, kind, tmp_path, move_to, capsys):
    a_library(home)
    manifest = back_up(FolderVault(tmp_path / "kept"), Choice())
    for path in ("history.jsonl", "runs/c2/default/run.json"):
        file = next(file for file in manifest.files if file.path == path)
        stored = tmp_path / "kept" / "objects" / file.sha256[:2] / file.sha256
        content = stored.read_bytes()
        stored.write_bytes(content.replace(b"breaky", b"brEAky", 1))
        with pytest.raises(BadInput, match=f"damaged: {path}"):
            check(source_of(tmp_path / "kept"))
        move_to(kind, path.replace("/", "-"))
        with pytest.raises(BadInput, match=f"damaged: {path}"):
            restore(source_of(tmp_path / "kept"))
        with pytest.raises(BadInput, match="being restored"):
            history.runs()
        stored.write_bytes(content)
        restore(source_of(tmp_path / "kept"))  # once it is mended, it goes on
        assert "c1.default" in {run.run_id for run in history.runs()}


@ON_SQLITE
def test_a_manifest_of_somebody_else_leads_nowhere(home, tmp_path, move_to):
    a_library(home)
    manifest = back_up(FolderVault(tmp_path / "kept"), Choice())
    (name,) = backups_in(tmp_path / "kept")
    file = tmp_path / "kept" / "backups" / f"{name}.json"
    for bad in ("../outside", "/etc/outside", "runs/../../outside", "links/token", "runs"):
        text_of = file.read_text()
        file.write_text(text_of.replace(manifest.files[1].path, bad, 1))
        move_to("sqlite", f"new{len(bad)}")
        with pytest.raises(BadInput, match="which no backup does"):
            restore(source_of(tmp_path / "kept"))
        file.write_text(text_of)
    assert not (tmp_path / "outside").exists()


STOP = """
import os, sys, signal
from pathlib import Path
ready, target = Path(sys.argv[1]), sys.argv[2]
from profiler_core.cli.main import main
from profiler_core.store.backup import vaults, restoring
def stop_here(*_, **__):
    ready.write_text(str(os.getpid()))
    signal.pause()
"""
HALF_OBJECT = """
copied = vaults._copied
def half(blocks, sink):
    blocks = iter(blocks)
    sink.write(next(blocks, b"")[:7])
    sink.flush()
    stop_here()
vaults._copied = half
"""
BEFORE_THE_MANIFEST = """
from profiler_core.store.backup import making
making.Manifest = stop_here
"""


@ON_SQLITE
@pytest.mark.parametrize(
    ("target", "where"), [("kept", BEFORE_THE_MANIFEST), ("kept.zip", HALF_OBJECT)]
)
def test_a_backup_that_is_killed_is_none(home, tmp_path, target, where):
    a_library(home)
    kept = tmp_path / target
    killed_in_the_middle(f"{STOP}{where}\nmain(['backup', target])", tmp_path / "ready", kept)
    with pytest.raises(BadInput, match=r"holds no backup|is no backup"):
        source_of(kept)
    assert main(["backup", str(kept)]) == 0  # beside what the dead one left
    check(source_of(kept))
    if kept.suffix == ".zip":
        assert zipfile.ZipFile(kept).testzip() is None


@ON_SQLITE
def test_the_next_backup_takes_away_what_a_killed_one_left_beside_it(home, tmp_path, monkeypatch):
    a_library(home)
    kept = tmp_path / "backups" / "kept.zip"
    kept.parent.mkdir()
    script = f"{STOP}{HALF_OBJECT}\nmain(['backup', target])"
    killed_in_the_middle(script, tmp_path / "ready", kept)
    (left,) = kept.parent.iterdir()
    assert main(["backup", str(kept)]) == 0
    assert left.exists()  # another process may be writing it
    assert kept.stat().st_mode & 0o777 == 0o600
    monkeypatch.setattr(aside, "_LEFT_AFTER_S", 0.0)
    assert main(["backup", str(kept)]) == 0
    assert list(kept.parent.iterdir()) == [kept]


IN_THE_FILES = """
put = restoring._put
def half(source, file):
    put(source, file)
    if file.path.endswith("run.json"):
        stop_here()
restoring._put = half
"""
IN_A_FILE = """
def half(source, file):
    yield b"{"
    if file.path.endswith("run.json"):
        stop_here()
restoring.verified = half
"""
IN_THE_ROWS = """
from profiler_core.store.history import dump
dump._move_counters = stop_here
"""
AFTER_THE_ROWS = "restoring.close_all = stop_here\n"


@pytest.mark.parametrize(
    ("kind", "where"),
    [
        ("sqlite", IN_THE_FILES),
        ("sqlite", IN_A_FILE),
        ("sqlite", IN_THE_ROWS),
        ("postgresql", IN_THE_ROWS),
        ("postgresql", AFTER_THE_ROWS),
    ],
    indirect=["kind"],
)
def test_a_restore_that_is_killed_says_so_and_goes_on(home, kind, tmp_path, move_to, where, capsys):
    a_library(home)
    kept = tmp_path / "kept"
    back_up(FolderVault(kept), Choice())
    rows, files = all_rows(), digests(home, "runs", "uploads")
    new = move_to(kind)
    script = f"{STOP}{where}\nmain(['restore', target, '--home', {str(new)!r}])"
    killed_in_the_middle(script, tmp_path / "ready", kept)
    with pytest.raises(BadInput, match="being restored") as refused:
        history.runs()
    assert "restore the same backup once more" in refused.value.remedy
    other = tmp_path / "other"
    (tmp_path / "elsewhere").mkdir()
    os.environ["FUSIONSCOPE_HOME"] = str(tmp_path / "elsewhere")
    database.close_all()
    url = os.environ.pop("FUSIONSCOPE_DATABASE_URL", None)
    back_up(FolderVault(other), Choice())
    if url is not None:
        os.environ["FUSIONSCOPE_DATABASE_URL"] = url
    assert main(["restore", str(other), "--home", str(new)]) == 2
    assert "Another backup" in capsys.readouterr().err
    assert main(["restore", str(kept), "--home", str(new)]) == 0
    restored = all_rows()
    assert restored["audit"].pop()["action"] == "restore"
    assert restored == rows
    assert digests(new, "runs", "uploads") == files

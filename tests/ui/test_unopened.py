"""What arrived and was not opened, because the page was reloaded say, is offered to its sender."""

import errno
import gzip
import io
import os
import shutil
import threading
import time
import zipfile
from pathlib import Path

import pytest
from streamlit.testing.v1 import AppTest

from profiler_core.door import deeds
from profiler_core.errors import BadInput
from profiler_core.owner_file import write_owner
from profiler_core.person import system_user
from profiler_core.store import history, incoming, uploads
from tests.apps import text_of
from tests.store.history.samples import SAMPLES

TRACE = SAMPLES / "breaky" / "default" / "trace.json.gz"


def panel() -> None:
    from profiler_core.ui.upload.panel import upload_panel

    upload_panel()


@pytest.fixture(autouse=True)
def own_home(tmp_path, monkeypatch):
    monkeypatch.setenv("FUSIONSCOPE_HOME", str(tmp_path))
    return tmp_path


def arrive(name="mine.json.gz", person=None, *, ago_s=0.0):
    upload_id = incoming.new_upload_id()
    partial = incoming.part_path(upload_id, 0)
    write_owner(partial.parent, person or system_user())
    shutil.copyfile(TRACE, partial)
    incoming.keep(partial, name)
    moment = time.time() - ago_s
    os.utime(partial.with_suffix(".data"), (moment, moment))
    return upload_id


def opened():
    app = AppTest.from_function(panel, default_timeout=300).run()
    assert not app.exception
    return app


def test_what_arrived_is_offered_after_a_reload_and_opens():
    upload_id = arrive()
    app = opened()
    said = text_of(app).replace("\\", "")
    assert "mine.json.gz: " in said
    assert "not opened yet. It is deleted after a day." in said
    started = []
    with pytest.MonkeyPatch.context() as patch:

        def start(who, upload, places):
            started.append((who.person, upload, places))
            raise BadInput("Enough.", remedy="None.")

        patch.setattr(deeds, "start_reading_upload", start)
        app.button(f"fs_open_{upload_id}").click().run()
    assert started == [(system_user(), upload_id, (0,))]
    assert incoming.kept(upload_id) == (0,)  # and it is offered again


def test_it_is_deleted_on_request_and_the_audit_says_so():
    upload_id = arrive()
    opened().button(f"fs_discard_{upload_id}").click().run()
    assert not incoming.incoming_directory(upload_id).exists()
    (entry,) = history.entries(action="discard")
    assert entry.subject == f"upload/{upload_id}"
    assert entry.detail["reason"] == "deleted unopened"


def test_of_others_and_of_what_is_still_sent_nothing_is_said():
    arrive("theirs.json", "mallory")
    half = arrive("half.json")
    incoming.part_path(half, 1).write_bytes(b"{")
    app = opened()
    assert not app.button
    old = time.time() - 600
    os.utime(incoming.part_path(half, 1), (old, old))  # its sender is gone
    assert [button.key for button in opened().button] == [f"fs_open_{half}", f"fs_discard_{half}"]


def test_the_newest_come_first():
    ids = [arrive(f"{n}.json", ago_s=100.0 * n) for n in range(3)]
    assert [upload.upload_id for upload in incoming.unopened(system_user())] == ids


def test_an_upload_that_two_tabs_open_at_once_is_read_once():
    upload_id = arrive()
    outcomes = []

    def say(*_):
        if not other.ident:
            other.start()
            other.join(0.5)

    def accept(said):
        outcomes.append(uploads.accept(upload_id, (0,), said, system_user()))

    other = threading.Thread(target=accept, args=(lambda *_: None,))
    accept(say)
    other.join()
    assert outcomes[0] == outcomes[1]
    assert outcomes[0].keys == (f"upload/{upload_id}/1",)


@pytest.mark.parametrize("name", ["hardlink_to", "replace"])
def test_what_a_full_disk_keeps_from_being_read_stays_and_is_offered_again(monkeypatch, name):
    """It was deleted, gigabytes of it, with a sentence that asks to make room."""
    upload_id = arrive()
    function = getattr(Path, name)

    def full(path, *more):
        if "runs" in path.parts:
            raise OSError(errno.ENOSPC, "No space left on device")
        return function(path, *more)

    with monkeypatch.context() as patch:
        patch.setattr(Path, name, full)
        patch.setattr(shutil, "copyfile", lambda _, target: full(target))
        with pytest.raises(OSError, match="No space"):
            uploads.accept(upload_id, (0,), lambda *_: None, system_user())
    (left,) = incoming.unopened(system_user())
    assert left.upload_id == upload_id
    folder = incoming.incoming_directory(upload_id)
    assert not (folder / "runs").exists()
    accepted = uploads.accept(upload_id, (0,), lambda *_: None, system_user())
    assert accepted.keys == (f"upload/{upload_id}/1",)


def zipped(packing):
    data = io.BytesIO()
    with zipfile.ZipFile(data, "w", packing) as archive:
        archive.writestr("trace.json", gzip.decompress(TRACE.read_bytes()))
    return bytearray(data.getvalue())


def damaged_lzma():
    data = zipped(zipfile.ZIP_LZMA)
    data[200:260] = bytes(60)
    return data


def damaged_bzip2():
    data = zipped(zipfile.ZIP_BZIP2)
    data[300:340] = bytes(40)
    return data


def with_no_beginning():
    data = zipped(zipfile.ZIP_DEFLATED)
    end = data.rfind(b"PK\5\6")
    data[end + 16 : end + 20] = b"\xff\xff\xff\xff"
    return data


@pytest.mark.parametrize("made", [damaged_lzma, damaged_bzip2, with_no_beginning])
def test_a_damaged_archive_is_called_so_however_it_is_packed_and_does_not_stay(made):
    """It was taken for a fault of ours, or of the disk, which would offer it again and again."""
    upload_id = incoming.new_upload_id()
    partial = incoming.part_path(upload_id, 0)
    write_owner(partial.parent, system_user())
    partial.write_bytes(made())
    incoming.keep(partial, "mine.zip")
    with pytest.raises(BadInput, match="damaged"):
        uploads.accept(upload_id, (0,), lambda *_: None, system_user())
    assert not incoming.unopened(system_user())

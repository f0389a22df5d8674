"""Uploads whose process is killed: nothing is lost, nothing half is listed, nothing comes twice."""

import gzip
import io
import zipfile
from pathlib import Path

import pytest

from profiler_core.owner_file import write_owner
from profiler_core.store import incoming, library, uploads
from profiler_core.store.owners import used_bytes
from tests.everything import comparisons
from tests.uploading import drop

CAPTURE = Path(__file__).parents[1] / "fixtures" / "captures" / "customcnn_b1"
TRACE = gzip.decompress((CAPTURE / "eager" / "trace.json.gz").read_bytes())


def _zipped() -> bytes:
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w") as archive:
        archive.writestr("compiled.json", TRACE)
    return packed.getvalue()


FILES = {"eager.json": TRACE, "compiled.zip": _zipped()}


@pytest.fixture(autouse=True)
def own_home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("FUSIONSCOPE_HOME", str(tmp_path / "home"))


def uploaded() -> list[library.Comparable]:
    return [group for group in comparisons() if group.origin == "upload"]


class _Killed(BaseException):
    """Stands for kill -9, after which nothing of the process runs."""


@pytest.mark.parametrize("step", ["_lay_out", "_readable", "_write_records"])
def test_killed_in_the_middle_it_begins_anew_from_what_was_received(
    step: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    upload_id, numbers = drop(FILES)
    real_step = getattr(uploads, step)

    def killed(*arguments: object) -> object:
        real_step(*arguments)
        raise _Killed

    with monkeypatch.context() as patch:
        patch.setattr(uploads, step, killed)
        patch.setattr(incoming, "forget", lambda _: None)
        with pytest.raises(_Killed):
            uploads.accept(upload_id, numbers, lambda *_: None)
    assert uploaded() == []
    accepted = uploads.accept(upload_id, numbers, lambda *_: None)
    assert len(accepted.keys) == 2
    assert [entry.key for group in uploaded() for entry in group.entries] == list(accepted.keys)
    assert not incoming.incoming_directory(upload_id).exists()


def test_killed_after_the_runs_are_there_it_makes_none_twice(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    upload_id, numbers = drop(FILES)
    with monkeypatch.context() as patch:
        patch.setattr(incoming, "forget", lambda _: None)
        first = uploads.accept(upload_id, numbers, lambda *_: None)
    assert uploads.accept(upload_id, numbers, lambda *_: None) == first
    assert not incoming.incoming_directory(upload_id).exists()


def test_a_file_that_has_two_names_meanwhile_counts_once_for_the_quota(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    upload_id, numbers = drop(FILES)
    write_owner(incoming.incoming_directory(upload_id), "ada")
    before = used_bytes("ada")
    during = []

    def counted(*arguments: object) -> object:
        during.append(used_bytes("ada"))
        return readable(*arguments)

    readable = uploads._readable
    monkeypatch.setattr(uploads, "_readable", counted)
    uploads.accept(upload_id, numbers, lambda *_: None, "ada")
    (n_bytes,) = during
    assert before <= n_bytes < 1.1 * before + len(TRACE)  # the archive's member is unpacked beside


def test_an_upload_whose_name_a_power_cut_emptied_can_be_opened() -> None:
    upload_id, numbers = drop({"eager.json": TRACE})
    write_owner(incoming.incoming_directory(upload_id), "ada")
    (incoming.incoming_directory(upload_id) / "0.json").write_bytes(b"")
    ((names, n_bytes),) = [(u.names, u.n_bytes) for u in incoming.unopened("ada")]
    assert (names, n_bytes) == (("unnamed",), len(TRACE))
    assert len(uploads.accept(upload_id, numbers, lambda *_: None).keys) == 1

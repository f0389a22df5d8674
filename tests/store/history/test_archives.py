"""Runs in and out: as a .zip, and among a team's artifacts below a URL."""

import io
import zipfile

import fsspec
import pytest

from profiler_core.errors import BadInput, FusionscopeError, NothingToAnalyse
from profiler_core.ingest.run import open_run
from profiler_core.store import history, library
from profiler_core.store.history import database, packing
from profiler_core.store.history.artifacts import artifacts
from profiler_core.store.key_parts import encode_part
from tests.everything import comparisons
from tests.store.history.samples import redated_copy


def zip_of(directory, target):
    target.write_bytes(b"".join(history.packed(directory)))
    return target


def another_home(tmp_path, monkeypatch):
    """Another machine: nothing of the first one's home; the same database only if it has a URL."""
    monkeypatch.setenv("FUSIONSCOPE_HOME", str(tmp_path / "other"))
    database.close_all()
    return tmp_path / "other"


def test_a_zip_brings_the_whole_run_back(home, tmp_path, monkeypatch, kind):
    directory = redated_copy(home, "c1", whole=True, environment={"git_commit": "abc"})
    run = history.record(directory)
    archive = zip_of(directory, tmp_path / "run.zip")
    with zipfile.ZipFile(archive) as opened:
        assert opened.testzip() is None
        assert "default/run.json" in opened.namelist()
        assert not any("heartbeat" in name for name in opened.namelist())
    other = another_home(tmp_path, monkeypatch)
    if kind == "postgresql":
        history.empty(history.delete_run("c1.default"))
    (back,), notes = history.receive(archive, tags=("from a zip",))
    assert notes == ()
    assert (back.run_id, back.metrics, back.rounds) == (run.run_id, run.metrics, run.rounds)
    assert back.origin == "upload"
    assert back.tags == ("from a zip",)
    there = history.directory_of(back)
    assert there.is_relative_to(other)
    for name in ("run.json", "trace.json.gz", "torch_logs.txt", "nvml.jsonl", "sources.json"):
        assert (there / name).read_bytes() == (directory / name).read_bytes()
    assert len(open_run(there).torch_trace) == len(open_run(directory).torch_trace)


def test_a_whole_capture_is_received_from_its_folder(home, tmp_path):
    for variant in ("eager", "default"):
        redated_copy(tmp_path / "elsewhere", "c1", variant=variant)
    found, _ = history.receive(tmp_path / "elsewhere" / "runs" / "c1")
    assert {run.run_id for run in found} == {"c1.eager", "c1.default"}
    (group,) = [g for g in comparisons() if g.origin == "capture"]
    assert len(group.entries) == 2


def hostile(kind_of_evil):
    data = io.BytesIO()
    with zipfile.ZipFile(data, "w", zipfile.ZIP_DEFLATED) as archive:
        if kind_of_evil == "leads out":
            archive.writestr("../../evil/run.json", "{}")
        elif kind_of_evil == "absolute":
            archive.writestr("/etc/run.json", "{}")
        elif kind_of_evil == "a link":
            link = zipfile.ZipInfo("run/run.json")
            link.external_attr = 0o120777 << 16
            archive.writestr(link, "/etc/passwd")
        elif kind_of_evil == "a bomb":
            archive.writestr("run/run.json", b"0" * 400_000_000)
        elif kind_of_evil == "no run":
            archive.writestr("holiday.jpg", b"\xff\xd8")
    packed = data.getvalue()
    return packed[: len(packed) // 2] if kind_of_evil == "cut off" else packed


@pytest.mark.parametrize("evil", ["leads out", "absolute", "a link", "a bomb", "no run", "cut off"])
def test_a_hostile_zip_is_refused(home, tmp_path, evil):
    archive = tmp_path / "evil.zip"
    archive.write_bytes(hostile(evil))
    with pytest.raises(FusionscopeError):
        history.receive(archive)
    assert history.runs() == ()
    assert not (tmp_path / "evil").exists()
    assert not list(home.glob("uploads/.incoming/*"))


@pytest.fixture(params=["memory", "file"])
def artifacts_url(request, tmp_path, monkeypatch):
    url = "memory://fusionscope" if request.param == "memory" else (tmp_path / "kept").as_uri()
    monkeypatch.setenv("FUSIONSCOPE_ARTIFACTS_URL", url)
    yield url
    if request.param == "memory":
        files = fsspec.filesystem("memory")
        files.store.clear()
        files.pseudo_dirs[:] = [""]


def test_artifacts_reach_another_machine(home, tmp_path, monkeypatch, artifacts_url):
    directory = redated_copy(home, "c1", variant="reduce-overhead", whole=True)
    run = history.record(directory)
    assert run.artifact == f"c1/{packing.content_hash(directory)}.zip"
    other = another_home(tmp_path, monkeypatch)
    # With SQLite the other machine has a history of its own, and finds the run by looking.
    history.reconcile()
    (found,) = history.runs()
    assert found.run_id == run.run_id
    assert found.metrics == run.metrics
    assert history.has_files(found)
    there = history.directory_of(found)
    assert there.is_relative_to(other / "cache")
    assert (there / "trace.json.gz").read_bytes() == (directory / "trace.json.gz").read_bytes()
    entry = library.entry(library.key_of_recorded(found))
    assert (entry.origin, entry.variant, entry.is_readable) == ("history", "reduce-overhead", True)
    assert entry.key == f"history/{encode_part(run.run_id)}"


def test_deleting_takes_the_artifact(home, artifacts_url):
    run = history.record(redated_copy(home, "c1"))
    kept = artifacts()
    assert kept is not None
    assert kept.names() == (run.artifact,)
    history.delete_run("c1.default")
    assert kept.names() == ()
    assert history.reconcile().recorded == ()


def test_a_hostile_artifact_is_refused(home, artifacts_url):
    kept = artifacts()
    assert kept is not None
    kept.files.makedirs(f"{kept.root}/c1", exist_ok=True)
    with kept.files.open(f"{kept.root}/c1/evil.zip", "wb") as target:
        target.write(hostile("leads out"))
    done = history.reconcile()
    assert done.recorded == ()
    ((name, sentence),) = done.problems
    assert name == "c1/evil.zip"
    assert "leads out" in sentence


def test_files_that_lie_elsewhere_are_a_sentence(home):
    directory = redated_copy(home, "c1")
    run = history.record(directory)
    (directory / "run.json").unlink()
    assert not history.has_files(run)
    with pytest.raises(NothingToAnalyse, match="not on this machine"):
        history.directory_of(run)


def test_a_url_of_no_known_kind_is_a_sentence(home, monkeypatch):
    monkeypatch.setenv("FUSIONSCOPE_ARTIFACTS_URL", "nosuch://x")
    with pytest.raises(BadInput, match="URL cannot be opened"):
        history.record(redated_copy(home, "c1"))


def test_a_missing_package_is_a_sentence(home, monkeypatch):
    def not_installed(url):
        raise ImportError("Install s3fs to access S3")

    monkeypatch.setattr(fsspec, "url_to_fs", not_installed)
    monkeypatch.setenv("FUSIONSCOPE_ARTIFACTS_URL", "s3://bucket/runs")
    with pytest.raises(BadInput, match="Install s3fs"):
        history.record(redated_copy(home, "c1"))

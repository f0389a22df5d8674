"""A trace vendor is one new file: every place that lists, recognises or reads kinds knows it."""

import gzip
import json
import shutil
import subprocess
import sys
import zipfile
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

import profiler_core
from profiler_core.analysis.memory.report import memory_report
from profiler_core.cli import open as cli_open
from profiler_core.cli.main import main
from profiler_core.errors import BadInput, NotATrace
from profiler_core.ingest import formats, kinds
from profiler_core.ingest.fingerprint import fingerprint
from profiler_core.ingest.open import cache_folder, is_cached, open_trace
from profiler_core.ingest.options import keep
from profiler_core.ingest.run import open_run
from profiler_core.ingest.version import version_of
from profiler_core.ranks.find import find_ranks
from profiler_core.ranks.remote import listed
from profiler_core.store import incoming, library
from profiler_core.ui.upload import drop_zone
from tests.ingest.slug_of import slug_of
from tests.uploading import accept, drop

VENDOR = Path(__file__).parents[1] / "fixtures" / "formats" / "acme.py"
EAGER = Path(__file__).parents[1] / "fixtures" / "captures" / "customcnn_b1.eager"
MODULE = "profiler_core.ingest.formats.acme"

# Two steps of 500 ticks with 300 and 250 ticks of kernels; a tick is 10 ns unless one says more.
TRACE = b"""ACMETRACE 1
rank 0 of 2
step 0 1000 500
kernel gemm 1100 200
kernel relu 1300 100
step 1 1500 500
kernel gemm 1600 200
kernel relu 1800 50
"""
KERNEL_NS = 5_500


@pytest.fixture(autouse=True)
def own_home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("FUSIONSCOPE_HOME", str(tmp_path / "home"))
    monkeypatch.setenv("FUSIONSCOPE_TICK_NS", "")  # whatever a verb sets is undone
    return tmp_path / "home"


@pytest.fixture
def vendor(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """The one file, in a folder of its own that the package looks into."""
    folder = tmp_path / "more_formats"
    folder.mkdir()
    shutil.copy(VENDOR, folder)
    assert [file.name for file in folder.iterdir()] == ["acme.py"]
    monkeypatch.setattr(formats, "__path__", [*formats.__path__, str(folder)])
    kinds.forget()
    yield
    monkeypatch.undo()
    sys.modules.pop(MODULE, None)
    kinds.forget()


@pytest.fixture
def trace(tmp_path: Path) -> Path:
    path = tmp_path / "eager.acme"
    path.write_bytes(TRACE)
    return path


def test_without_its_file_nobody_knows_it(trace):
    assert slug_of(trace) is None
    assert "Acme" not in kinds.accepted_sentence()
    with pytest.raises(BadInput, match="is not recognised: it starts with “ACMETRACE"):
        open_run(trace)


@pytest.mark.usefixtures("vendor")
def test_it_is_recognised_and_read_however_it_is_packed(trace, tmp_path):
    packed = tmp_path / "no name of a trace"
    packed.write_bytes(gzip.compress(TRACE))
    archive = tmp_path / "eager.zip"
    with zipfile.ZipFile(archive, "w") as made:
        made.writestr("job/eager.acme", TRACE)
        made.writestr("job/notes.txt", "nothing of ours")
    assert [slug_of(path) for path in (trace, packed)] == ["acme", "acme"]
    for path in (trace, packed, archive):
        read = open_trace(path)
        assert read.device["dur_ns"].sum() == KERNEL_NS
        assert read.source == path.name
    run = open_run(archive)
    assert run.trace is not None and run.trace.name == "eager.acme"


@pytest.mark.usefixtures("vendor")
def test_summary_has_its_totals_and_its_notes(trace, capsys):
    assert main(["summary", str(trace), "--json"]) == 0
    answer = json.loads(capsys.readouterr().out)
    assert answer["recorded_by"] == "Acme Profiler"
    assert (len(answer["steps"]), answer["n_kernels"]) == (2, 4)
    assert answer["kernel_time_ns"] == answer["busy_ns"] == KERNEL_NS
    assert {k["name"]: k["time_ns"] for k in answer["kernels"]} == {"gemm": 4_000, "relu": 1_500}
    assert "Acme records no calls of the host." in answer["notes"]
    assert not any("ProfilerActivity" in note for note in answer["notes"])


@pytest.mark.usefixtures("vendor")
def test_why_it_has_no_memory_curve_is_a_field_of_the_report(trace):
    report = memory_report(open_trace(trace))
    assert report.no_curve is not None and report.no_curve.startswith("Acme Profiler does not")
    assert report.notes[0] == report.no_curve


@pytest.mark.usefixtures("vendor")
def test_it_compares_with_a_trace_of_torch(trace, capsys):
    assert main(["compare", str(EAGER), str(trace), "--json"]) == 0
    (candidate,) = json.loads(capsys.readouterr().out)["candidates"]
    (note,) = [n for n in candidate["notes"] if n.startswith("One side was recorded by")]
    assert "torch.profiler" in note and "Acme Profiler" in note


@pytest.mark.usefixtures("vendor")
def test_its_option_is_one_of_the_command_line_and_of_the_cache(trace, capsys):
    assert main(["summary", str(trace), "--json", "--tick-ns", "20"]) == 0
    assert json.loads(capsys.readouterr().out)["kernel_time_ns"] == 2 * KERNEL_NS


@pytest.mark.usefixtures("vendor")
def test_a_kept_option_holds_for_the_content_and_moves_the_version(trace):
    plain = version_of(trace)
    keep(formats.trace_format("acme"), fingerprint(trace), {"tick_ns": 30})
    assert version_of(trace) != plain
    assert open_trace(trace).device["dur_ns"].sum() == 3 * KERNEL_NS
    keep(formats.trace_format("acme"), fingerprint(trace), {})
    assert version_of(trace) == plain
    assert open_trace(trace).device["dur_ns"].sum() == KERNEL_NS


@pytest.mark.usefixtures("vendor")
def test_a_new_version_of_its_reader_reads_anew(trace, monkeypatch):
    open_trace(trace)
    assert is_cached(trace)
    before = cache_folder(trace)
    newer = replace(formats.trace_format("acme"), version=2)
    monkeypatch.setattr(sys.modules[MODULE], "FORMAT", newer)
    kinds.forget()
    assert cache_folder(trace) != before
    assert not is_cached(trace)


@pytest.mark.usefixtures("vendor")
def test_an_upload_stores_it_under_its_own_name():
    candidate = TRACE.replace(b"200\n", b"100\n")
    log = b"V0101 00:00:00.000000 1 torch/_dynamo/guards.py:1] [0/0] [__guards] GUARDS:\n"
    accepted = accept(
        {"a-eager.acme": TRACE, "b-fused.acme.gz": gzip.compress(candidate), "b-fused.log": log}
    )
    assert accepted.notes == ()
    entries = [library.entry(key) for key in accepted.keys]
    assert [entry.run.name for entry in entries] == ["a-eager", "b-fused"]
    assert all(entry.is_readable for entry in entries)
    runs = [open_run(entry.path) for entry in entries]
    assert [run.trace and run.trace.name for run in runs] == ["trace.acme", "trace.acme.gz"]
    assert len(runs[1].torch_logs) == 1
    totals = [int(open_trace(run.trace).device["dur_ns"].sum()) for run in runs if run.trace]
    assert totals == [KERNEL_NS, KERNEL_NS - 2_000]


@pytest.mark.usefixtures("vendor")
def test_an_upload_that_its_reader_refuses_names_the_file_as_it_was_dropped():
    with pytest.raises(NotATrace) as refused:
        accept({"hollow.acme": b"ACMETRACE 1\nstep 0 1 2\n"})
    assert refused.value.problem == "hollow.acme holds no kernel."
    assert refused.value.remedy == "Record it with acme -k."


@pytest.mark.usefixtures("vendor")
def test_its_ranks_are_one_job(tmp_path):
    job = tmp_path / "job"
    job.mkdir()
    for rank in (0, 1):
        (job / f"{'ab'[rank]}.acme").write_bytes(TRACE.replace(b"rank 0", f"rank {rank}".encode()))
    found = find_ranks(str(job))
    assert [(file.rank, file.name) for file in found.files] == [(0, "a.acme"), (1, "b.acme")]
    remote = [name for _, name in listed(job.as_uri(), 10)]
    assert remote == ["a.acme", "b.acme"]


@pytest.mark.usefixtures("vendor")
def test_users_read_of_it(trace, capsys, monkeypatch):
    assert "traces of the Acme Profiler (.acme)" in kinds.accepted_sentence()
    with pytest.raises(SystemExit):
        main(["open", "--help"])
    assert "Acme" in capsys.readouterr().out
    shown: dict[str, str] = {}

    class Result:
        done = None

    def component(*, data: dict[str, str], **_: object) -> Result:
        shown.update(data)
        return Result()

    monkeypatch.setattr(drop_zone, "_component", component)
    drop_zone.drop_zone(incoming.new_upload_id(), key="zone")
    assert "traces of the Acme Profiler (.acme)" in shown["kinds"]
    with pytest.raises(BadInput) as refused:
        accept({"notes.txt": b"nothing of ours"})
    assert "traces of the Acme Profiler (.acme)" in refused.value.remedy
    assert cli_open._key(trace).endswith("/eager.acme")


def test_a_copy_of_the_program_with_the_one_file_has_it_in_every_process(tmp_path, trace):
    package = Path(profiler_core.__file__).parent
    copy = tmp_path / "program" / "profiler_core"
    shutil.copytree(package, copy, ignore=shutil.ignore_patterns("_bundled", "*.pyc.*"))
    shutil.copy(VENDOR, copy / "ingest" / "formats")

    def run(*words: str) -> str:
        done = subprocess.run(
            [sys.executable, "-m", *words], cwd=copy.parent, capture_output=True, text=True
        )
        assert done.returncode == 0, done.stderr
        return done.stdout

    answer = json.loads(run("profiler_core", "summary", str(trace), "--json"))
    assert (answer["kernel_time_ns"], answer["recorded_by"]) == (KERNEL_NS, "Acme Profiler")
    upload_id, _ = drop({"mine.acme.gz": gzip.compress(TRACE)})
    line = json.loads(run("profiler_core.store.uploads", upload_id, "0").splitlines()[-1])
    accepted = line["value"]
    assert (len(accepted["keys"]), accepted["notes"]) == (1, [])
    assert library.entry  # the home is shared: what the copy stored is seen here too
    stored = tmp_path / "home" / "uploads" / upload_id / "1" / "trace.acme.gz"
    assert gzip.decompress(stored.read_bytes()) == TRACE
    read = json.loads(run("profiler_core.ingest", str(stored)).splitlines()[-1])
    assert read == {
        "event": "result",
        "value": {"n_events": 6, "n_skipped": 0},
    }

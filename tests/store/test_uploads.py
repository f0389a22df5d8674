"""Uploads: dropped files become runs by what they hold, and hostile ones end in one sentence."""

import gzip
import io
import json
import stat
import subprocess
import time
import zipfile
from pathlib import Path

import pytest

from profiler_core.errors import BadInput
from profiler_core.ingest.run import open_run
from profiler_core.store import incoming, library, uploads
from profiler_core.store.upload_groups import display_names
from tests.everything import comparisons
from tests.ingest.slug_of import slug_of
from tests.uploading import accept, drop

CAPTURE = Path(__file__).parents[1] / "fixtures" / "captures" / "customcnn_b1"
EAGER, COMPILED = CAPTURE / "eager", CAPTURE / "reduce-overhead"
COUNTERS = Path(__file__).resolve().parents[1] / "fixtures" / "counters"


@pytest.fixture(autouse=True)
def own_home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    home = tmp_path / "home"
    monkeypatch.setenv("FUSIONSCOPE_HOME", str(home))
    return home


def zipped(files: dict[str, bytes]) -> bytes:
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, data in files.items():
            archive.writestr(name, data)
    return packed.getvalue()


def run_directory(folder: Path, prefix: str = "") -> dict[str, bytes]:
    return {
        f"{prefix}{path.relative_to(folder)}": path.read_bytes()
        for path in sorted(folder.rglob("*"))
        if path.is_file()
    }


def left_over(home: Path) -> list[Path]:
    return [path for path in (home / "uploads").rglob("*") if ".incoming" in path.parts[-3:-1]]


def test_two_traces_are_one_comparison_with_the_eager_one_as_baseline(own_home: Path) -> None:
    accepted = accept(
        {
            "a-compiled.json.gz": (COMPILED / "trace.json.gz").read_bytes(),
            "b-plain.json": gzip.decompress((EAGER / "trace.json.gz").read_bytes()),
        }
    )
    assert accepted.notes == ()
    baseline, candidate = (library.entry(key) for key in accepted.keys)
    assert (baseline.run.name, baseline.run.role) == ("b-plain", "baseline")
    assert (candidate.run.name, candidate.run.role) == ("a-compiled", "candidate")
    assert candidate.run.baseline_run_id == baseline.run.run_id
    assert open_run(baseline.path).trace == baseline.path / "trace.json"
    (group,) = [group for group in comparisons() if group.origin == "upload"]
    assert tuple(entry.key for entry in group.entries) == accepted.keys
    assert left_over(own_home) == []


def test_a_single_trace_is_a_run_without_a_role() -> None:
    (key,) = accept({"mine.pt.trace.json.gz": (EAGER / "trace.json.gz").read_bytes()}).keys
    entry = library.entry(key)
    assert (entry.run.name, entry.run.role, entry.run.status) == ("mine", None, "finished")


def test_logs_go_to_the_trace_whose_name_they_share() -> None:
    accepted = accept(
        {
            "cnn_eager.json.gz": (EAGER / "trace.json.gz").read_bytes(),
            "cnn_reduce.json.gz": (COMPILED / "trace.json.gz").read_bytes(),
            "cnn_reduce_log.txt": (COMPILED / "torch_logs.txt").read_bytes(),
            "cnn_reduce.torch_trace.gz": (COMPILED / "torch_trace" / "0.log.gz").read_bytes(),
            "eager nvml": (EAGER / "nvml.jsonl").read_bytes(),
            "eager-snapshot.bin": (EAGER / "memory_snapshot.pickle.gz").read_bytes(),
        }
    )
    assert accepted.notes == ()
    eager, compiled = (open_run(library.entry(key).path) for key in accepted.keys)
    assert (eager.nvml, eager.memory_snapshot) != (None, None)
    assert (compiled.nvml, compiled.memory_snapshot) == (None, None)
    assert len(compiled.torch_logs) == len(compiled.torch_trace) == 1
    assert compiled.memory_snapshot is None and eager.torch_trace == ()


def test_counters_go_to_the_trace_whose_name_they_share() -> None:
    counters = (COUNTERS / "resnet50_b32.eager.ncu.csv.gz").read_bytes()
    accepted = accept(
        {
            "cnn_eager.json.gz": (EAGER / "trace.json.gz").read_bytes(),
            "cnn_reduce.json.gz": (COMPILED / "trace.json.gz").read_bytes(),
            "cnn_eager.ncu.csv.gz": counters,
        }
    )
    assert accepted.notes == ()
    eager, compiled = (open_run(library.entry(key).path) for key in accepted.keys)
    assert eager.counters is not None and eager.counters.name == "counters.csv.gz"
    assert eager.counters.read_bytes() == counters
    assert compiled.counters is None


def test_a_log_that_fits_no_trace_is_left_out_and_said() -> None:
    accepted = accept(
        {
            "one.json.gz": (EAGER / "trace.json.gz").read_bytes(),
            "two.json.gz": (COMPILED / "trace.json.gz").read_bytes(),
            "samples.jsonl": (EAGER / "nvml.jsonl").read_bytes(),
        }
    )
    (note,) = accepted.notes
    assert note.startswith(
        "samples.jsonl is NVML samples, but it is unclear to which of the 2 traces"
    )


def test_a_zip_of_a_capture_keeps_its_runs_and_their_roles() -> None:
    files = run_directory(EAGER, "cap/eager/") | run_directory(COMPILED, "cap/reduce-overhead/")
    accepted = accept({"cap.zip": zipped(files | {"cap/capture.json": b"{}"})})
    assert accepted.notes == ()
    eager, compiled = (open_run(library.entry(key).path) for key in accepted.keys)
    assert (eager.record.variant, eager.record.role) == ("eager", "baseline")
    assert compiled.record.variant == "reduce-overhead"
    assert compiled.torch_trace and compiled.nvml and compiled.memory_snapshot
    assert compiled.record.measurement is not None and compiled.record.measurement.rounds


def test_a_dropped_folder_is_read_like_a_zip() -> None:
    accepted = accept(run_directory(EAGER, "eager/") | run_directory(COMPILED, "compiled/"))
    assert [library.entry(key).run.variant for key in accepted.keys] == ["eager", "reduce-overhead"]


def test_names_are_shown_and_never_used_as_paths(own_home: Path) -> None:
    (key,) = accept({"../../../etc/cron.d/x\x1b[31m": (EAGER / "trace.json.gz").read_bytes()}).keys
    entry = library.entry(key)
    assert entry.path.is_relative_to(own_home / "uploads")
    assert "\x1b" not in entry.run.name and ".." not in entry.run.name
    assert not (own_home.parent / "etc").exists()


@pytest.mark.parametrize(
    ("content", "words"),
    [
        (b"\x00\x01 nothing of ours", "notes.bin is neither a trace, nor a log, nor a run."),
        (b"hello, world\n" * 50, "is neither a trace"),
        (b'{"traceEvents": 7}', "notes.bin"),
        (gzip.compress(b"hello " * 100, mtime=0), "is neither a trace"),
        (b"\x1f\x8b\x08\x00broken", "is neither a trace"),
        (b"[" * 200_000, "is neither a trace"),
        (b'{"traceEvents": ' + b"[" * 200_000, "notes.bin"),
        (b"PK\x03\x04 no archive at all", "notes.bin is a damaged zip archive"),
    ],
)
def test_garbage_is_one_sentence_and_leaves_nothing(
    own_home: Path, content: bytes, words: str
) -> None:
    with pytest.raises(BadInput) as caught:
        accept({"notes.bin": content})
    assert words in caught.value.problem
    assert "\n" not in caught.value.problem and len(caught.value.problem) < 300
    assert left_over(own_home) == []
    assert all(group.origin == "sample" for group in comparisons())


def test_one_bad_file_among_good_ones_is_a_note() -> None:
    accepted = accept(
        {
            "good.json.gz": (EAGER / "trace.json.gz").read_bytes(),
            "bad.json": b'{"schemaVersion": 1, "traceEvents": 7}',
            "readme.md": b"# notes",
        }
    )
    assert len(accepted.keys) == 1
    assert any("bad.json" in note for note in accepted.notes)
    assert any(
        "readme.md is not a file type that Fusionscope reads" in note for note in accepted.notes
    )


def hostile_link() -> bytes:
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w") as archive:
        link = zipfile.ZipInfo("trace.json.gz")
        link.create_system = 3
        link.external_attr = (stat.S_IFLNK | 0o777) << 16
        archive.writestr(link, "/etc/passwd")
    return packed.getvalue()


def bomb() -> bytes:
    return zipped({"trace.json": b"\0" * (300 << 20)})


@pytest.mark.parametrize(
    ("content", "words"),
    [
        (zipped({"../../evil.json": b"{}"}), "leads out of the archive"),
        (zipped({"/etc/evil.json": b"{}"}), "leads out of the archive"),
        (zipped({"C:\\evil.json": b"{}"}), "leads out of the archive"),
        (hostile_link(), "leads out of the archive"),
        (zipped({"inner.zip": zipped({"a.json": b"{}"})}), "is neither a trace"),
        (zipped({}), "is neither a trace"),
    ],
    ids=["dots", "absolute", "drive", "symlink", "nested", "empty"],
)
def test_hostile_archives_are_refused(own_home: Path, content: bytes, words: str) -> None:
    with pytest.raises(BadInput, match=words):
        accept({"run.zip": content})
    assert left_over(own_home) == []


def test_a_bomb_is_refused_by_what_it_claims(own_home: Path) -> None:
    with pytest.raises(BadInput, match="unpack"):
        accept({"run.zip": bomb()})
    assert left_over(own_home) == []


def test_a_hostile_run_json_is_a_problem_of_that_run_alone() -> None:
    files = {
        "a/run.json": b'{"schema_version": 1, "run_id": 5, "role": [' + b"[" * 5000,
        "a/trace.json.gz": (EAGER / "trace.json.gz").read_bytes(),
        "b/trace.json.gz": (COMPILED / "trace.json.gz").read_bytes(),
    }
    accepted = accept(files)
    assert len(accepted.keys) == 2
    problems = [library.entry(key).problem for key in accepted.keys]
    assert sum(problem is not None for problem in problems) == 1


def test_only_the_named_places_are_taken() -> None:
    upload_id, _ = drop(
        {"a.json.gz": (EAGER / "trace.json.gz").read_bytes(), "b.json.gz": b"removed again"}
    )
    accepted = uploads.accept(upload_id, (0, 99), lambda *_: None)
    assert len(accepted.keys) == 1 and accepted.notes == ()


def test_the_process_says_how_far_it_is_and_where_the_runs_are(quick_python: Path) -> None:
    upload_id, places = drop({"a.json.gz": (EAGER / "trace.json.gz").read_bytes()})
    done = subprocess.run(
        [quick_python, "-m", "profiler_core.store.uploads", upload_id, *map(str, places)],
        capture_output=True,
        text=True,
        check=True,
        cwd=Path(__file__).parents[2],
    )
    lines = [json.loads(line) for line in done.stdout.splitlines()]
    assert lines[-1] == {
        "event": "result",
        "value": {"keys": [f"upload/{upload_id}/1"], "notes": []},
    }
    assert all(line["event"] == "progress" and line["text"] for line in lines[:-1])


def test_the_process_answers_garbage_with_a_sentence(quick_python: Path) -> None:
    upload_id, places = drop({"a.bin": b"garbage"})
    done = subprocess.run(
        [quick_python, "-m", "profiler_core.store.uploads", upload_id, *map(str, places)],
        capture_output=True,
        text=True,
        cwd=Path(__file__).parents[2],
    )
    answer = json.loads(done.stdout.splitlines()[-1])
    assert done.returncode == 2 and "a.bin is neither" in answer["problem"] and answer["remedy"]
    assert "Traceback" not in done.stderr


def test_what_nobody_came_back_for_is_outdated_after_a_day(own_home: Path) -> None:
    upload_id, _ = drop({"a": b"x"})
    assert incoming.outdated(time.time()) == {}
    now, hour = time.time(), 3600
    assert incoming.outdated(now + 13 * hour) == {}
    assert incoming.outdated(now + 24 * hour) == {}
    assert incoming.outdated(now + 25 * hour) == {upload_id: ""}
    assert incoming.kept(upload_id) == (0,)


def test_a_clock_that_jumps_ahead_and_back_forgets_no_upload():
    upload_id = incoming.new_upload_id()
    partial = incoming.part_path(upload_id, 0)
    partial.write_bytes(b"{}")
    incoming.keep(partial, "trace.json")

    now, day = time.time(), 24 * 3600
    assert incoming.outdated(now + 2 * day) == {}
    assert incoming.outdated(now + 2 * day + 3600) == {}
    assert incoming.outdated(now + 3600) == {}
    assert incoming.outdated(now + 13 * 3600) == {}
    assert incoming.outdated(now + 26 * 3600) == {upload_id: ""}


@pytest.mark.parametrize("upload_id", ["", "..", "../../x", "20260101-000000-abc", "a" * 99])
def test_an_upload_id_cannot_leave_the_folder(upload_id: str) -> None:
    with pytest.raises(BadInput, match="is no upload"):
        incoming.incoming_directory(upload_id)


def test_too_many_files_are_refused() -> None:
    with pytest.raises(BadInput, match="More than 200 files"):
        incoming.part_path(incoming.new_upload_id(), incoming.MOST_FILES)


@pytest.mark.parametrize(
    ("names", "shown"),
    [
        (["resnet.eager.json.gz", "resnet.default.json.gz"], ["resnet.eager", "resnet.default"]),
        (["eager/trace.json.gz", "default/trace.json.gz"], ["eager", "default"]),
        (["a/b/trace.json", "c/b/trace.json"], ["a/b/trace", "c/b/trace"]),
        (["x.json", "x.json"], ["x (1)", "x (2)"]),
        ([".json"], [".json"]),
    ],
)
def test_names_are_short_and_distinct(names: list[str], shown: list[str]) -> None:
    assert display_names(names) == shown


@pytest.mark.parametrize(
    ("file", "kind"),
    [
        ("trace.json.gz", "kineto"),
        ("run.json", "run_record"),
        ("nvml.jsonl", "nvml"),
        ("memory_snapshot.pickle.gz", "memory_snapshot"),
        ("torch_logs.txt", "torch_logs"),
        ("torch_trace/0.log.gz", "torch_trace"),
    ],
)
def test_the_content_tells_the_kind(file: str, kind: str, tmp_path: Path) -> None:
    unnamed = tmp_path / "x"
    unnamed.write_bytes((COMPILED / file).read_bytes())
    assert slug_of(unnamed) == kind


def test_a_compiler_log_with_a_name_of_its_own_goes_to_the_only_compiled_run() -> None:
    accepted = accept(
        {
            "model_eager.json.gz": (EAGER / "trace.json.gz").read_bytes(),
            "model_default.json.gz": (COMPILED / "trace.json.gz").read_bytes(),
            "model_logs.txt": (COMPILED / "torch_logs.txt").read_bytes(),
        }
    )
    assert accepted.notes == (
        "model_logs.txt was taken as the log of model_default, the only compiled run.",
    )
    baseline, candidate = (open_run(library.entry(key).path) for key in accepted.keys)
    assert baseline.torch_logs == ()
    (log,) = candidate.torch_logs
    assert log.read_bytes() == (COMPILED / "torch_logs.txt").read_bytes()


def test_a_compiler_log_beside_two_compiled_runs_is_left_out_and_said() -> None:
    compiled = (COMPILED / "trace.json.gz").read_bytes()
    log = (COMPILED / "torch_logs.txt").read_bytes()
    accepted = accept({"a.json.gz": compiled, "b.json.gz": compiled, "both.txt": log})
    assert "it is unclear to which of the 2 traces" in accepted.notes[0]
    assert all(open_run(library.entry(key).path).torch_logs == () for key in accepted.keys)

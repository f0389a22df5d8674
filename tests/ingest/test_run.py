"""What lies at a path: run directories, archives of them, and files told by their content."""

import gzip
import json
import os
import pickle
import shutil
import zipfile
from pathlib import Path

import pytest

from profiler_core.errors import BadInput, NotARun
from profiler_core.ingest.kinds import kind_of
from profiler_core.ingest.run import open_run
from tests.ingest.slug_of import slug_of
from tests.ingest.test_quirks import FIXTURES

TRACE = (FIXTURES / "plain.json").read_bytes()
RECORD = {"schema_version": 1, "run_id": "bert.eager", "status": "finished", "variant": "eager"}

# First lines of files of ../shared (torch 2.11 on an H200), and what they are.
CONTENTS: dict[str, bytes] = {
    "kineto": TRACE,
    "run_record": json.dumps(RECORD).encode(),
    "torch_logs": (
        b"I1121 07:46:57.796000 1495 torch/fx/experimental/symbolic_shapes.py:3945] [0/0] "
        b"create_env\nW1121 07:46:57.873000 1495 torch/_dynamo/variables/tensor.py:1379] [0/0] "
        b"Graph break from `Tensor.item()`, consider setting:\n"
    ),
    "torch_trace": (
        b'V1121 07:46:57.793000 1495 torch/_dynamo/utils.py:2126] {"chromium_event": {}, '
        b'"frame_id": 0, "has_payload": "bfeff98ae618"}\n\t{\n\t"name": 1\n\t}\n'
    ),
    "memory_snapshot": pickle.dumps({"segments": [], "device_traces": []}, protocol=4),
    "nvml": b'{"t_ns": 1795247221058417049, "gpu_index": 0, "power_w": 118.919}\n',
    "host": b'{"t_ns": 1795247221058417049, "pid": 7, "cpu_ns": 10000000}\n',
    "nsight_compute": (
        b"==PROF== Connected to process 13825 (/usr/bin/python3.12)\n"
        b'"ID","Process ID","Kernel Name","dram__bytes_read.sum"\n"","","","byte"\n'
    ),
}


@pytest.fixture(autouse=True)
def own_home(tmp_path, monkeypatch):
    monkeypatch.setenv("FUSIONSCOPE_HOME", str(tmp_path / "home"))


@pytest.fixture
def run_folder(tmp_path) -> Path:
    folder = tmp_path / "run"
    (folder / "torch_trace").mkdir(parents=True)
    (folder / "run.json").write_text(json.dumps(RECORD))
    (folder / "trace.json.gz").write_bytes(gzip.compress(TRACE))
    (folder / "torch_logs.txt").write_bytes(CONTENTS["torch_logs"])
    (folder / "torch_trace" / "rank_0.log").write_bytes(CONTENTS["torch_trace"])
    (folder / "nvml.jsonl").write_bytes(CONTENTS["nvml"])
    return folder


def zip_of(folder: Path, target: Path, prefix: str = "") -> Path:
    with zipfile.ZipFile(target, "w") as archive:
        for file in sorted(folder.rglob("*")):
            archive.write(file, prefix + str(file.relative_to(folder)))
    return target


@pytest.mark.parametrize("kind", CONTENTS)
@pytest.mark.parametrize("pack", [bytes, gzip.compress], ids=["plain", "gzip"])
def test_a_file_is_known_by_its_content(kind, pack, tmp_path):
    file = tmp_path / "upload.dat"
    file.write_bytes(pack(CONTENTS[kind]))
    assert slug_of(file) == kind


def test_other_files_are_of_no_kind(tmp_path):
    for number, data in enumerate((b"", b"hello\n", b"\x89PNG\r\n", b'{"a": 1}', b"[1, 2]")):
        file = tmp_path / str(number)
        file.write_bytes(data)
        assert kind_of(file) is None


def test_a_run_directory_is_read_by_its_names(run_folder):
    run = open_run(run_folder)
    assert run.record.run_id == "bert.eager"
    assert run.path == run_folder
    assert run.trace == run_folder / "trace.json.gz"
    assert run.torch_logs == (run_folder / "torch_logs.txt",)
    assert run.torch_trace == (run_folder / "torch_trace" / "rank_0.log",)
    assert run.nvml == run_folder / "nvml.jsonl"
    assert run.trace_stacks is None


@pytest.mark.parametrize(
    ("error", "tolerance", "expected"),
    [
        (1.03, 3.1, ("not comparable", 0.05)),  # as far from the reference as eager, and very far
        (0.04, 3.1, ("right", 0.05)),
        (0.02, 0.023, ("right", 0.023)),
    ],
)
def test_a_check_of_older_captures_is_judged_by_the_present_rule(
    error, tolerance, expected, tmp_path
):
    numerics = {
        "verdict": "right", "reason": "TF32 is allowed", "rms_error": error,
        "baseline_rms_error": error, "tolerance": tolerance,
    }  # fmt: skip
    (tmp_path / "run.json").write_text(json.dumps({**RECORD, "numerics": numerics}))
    read = open_run(tmp_path).record.numerics
    assert (read.verdict, read.tolerance) == expected
    assert ("so is eager itself by 1.0e+00; TF32 is allowed" in read.reason) == (error == 1.03)


@pytest.mark.parametrize("prefix", ["", "bert.eager/", "a/b/"])
def test_a_zip_of_a_run_is_the_run(run_folder, tmp_path, prefix):
    archive = zip_of(run_folder, tmp_path / "run.zip", prefix)
    run = open_run(archive)
    assert run.record.run_id == "bert.eager"
    assert run.trace is not None
    assert gzip.decompress(run.trace.read_bytes()) == TRACE
    assert open_run(archive) == run  # unpacked once


def test_a_folder_without_a_record_is_told_by_content(tmp_path):
    folder = tmp_path / "mixed"
    folder.mkdir()
    for number, kind in enumerate(k for k in CONTENTS if k != "run_record"):
        (folder / f"{number}.bin").write_bytes(CONTENTS[kind])
    (folder / "notes.txt").write_text("nothing of ours")
    run = open_run(folder)
    files = (run.trace, *run.torch_logs, *run.torch_trace, run.memory_snapshot, run.nvml)
    assert [file.name for file in files if file] == [f"{n}.bin" for n in range(5)]
    assert (run.host, run.counters) == (folder / "5.bin", folder / "6.bin")
    assert run.record.name == "mixed"


def test_a_folder_or_zip_with_one_trace_is_a_run(tmp_path):
    folder = tmp_path / "one"
    folder.mkdir()
    shutil.copy(FIXTURES / "plain.json", folder / "x.pt.trace.json")
    assert open_run(folder).trace == folder / "x.pt.trace.json"
    assert open_run(zip_of(folder, tmp_path / "one.zip")).trace is not None


def test_loose_files_make_one_run(tmp_path):
    paths = []
    for kind in ("kineto", "torch_logs", "torch_trace", "run_record"):
        path = tmp_path / f"{kind}.up"
        path.write_bytes(CONTENTS[kind])
        paths.append(path)
    run = open_run(*paths)
    assert (run.trace, run.torch_logs, run.torch_trace) == (paths[0], (paths[1],), (paths[2],))
    assert run.record.variant == "eager"


@pytest.mark.parametrize("kind", [k for k in CONTENTS if k != "run_record"])
def test_a_single_file_is_a_run(kind, tmp_path):
    path = tmp_path / "file"
    path.write_bytes(CONTENTS[kind])
    run = open_run(path)
    assert (run.path, run.record.name) == (path, "file")
    assert path in (
        run.trace,
        run.memory_snapshot,
        run.nvml,
        run.host,
        run.counters,
        *run.torch_logs,
        *run.torch_trace,
    )


def test_a_running_run_is_lost_without_its_heartbeat(run_folder, tmp_path):
    record = run_folder / "run.json"
    record.write_text(json.dumps(RECORD | {"status": "running"}))
    heartbeat = run_folder / "heartbeat"
    heartbeat.touch()
    assert open_run(run_folder).record.status == "running"
    archive = zip_of(run_folder, tmp_path / "copy.zip")
    assert open_run(archive).record.status == "lost"
    os.utime(heartbeat, (1, 1))
    assert open_run(run_folder).record.status == "lost"
    heartbeat.unlink()
    os.utime(record, (1, 1))
    assert open_run(run_folder).record.status == "lost"


def test_several_runs_or_traces_are_not_one(run_folder, tmp_path):
    with pytest.raises(NotARun, match=r"holds 1 runs \(run\), not one"):
        (tmp_path / "else").mkdir()
        open_run(tmp_path)
    folder = tmp_path / "two"
    folder.mkdir()
    for name in ("a.json", "b.json"):
        shutil.copy(FIXTURES / "plain.json", folder / name)
    with pytest.raises(NotARun, match="holds 2 traces"):
        open_run(folder)


def test_what_is_no_run_gets_a_sentence(run_folder, tmp_path):
    text = tmp_path / "a.txt"
    text.write_text("hello")
    with pytest.raises(NotARun, match=r"a\.txt is not recognised: it starts with “hello”\."):
        open_run(text)
    with pytest.raises(NotARun, match="does not exist"):
        open_run(tmp_path / "nothing")
    (tmp_path / "empty").mkdir()
    with pytest.raises(NotARun, match="it holds no files"):
        open_run(tmp_path / "empty")
    (run_folder / "run.json").write_text('{"run_id": 3')
    with pytest.raises(NotARun, match="is no record of a run"):
        open_run(run_folder)


def test_hostile_archives_are_refused_and_leave_nothing(tmp_path):
    outside = tmp_path / "home" / "cache" / "x.json"
    for number, name in enumerate(("../x.json", "/tmp/x.json", "a/../../x.json", "C:\\x.json")):
        archive = tmp_path / f"{number}.zip"
        with zipfile.ZipFile(archive, "w") as opened:
            opened.writestr(zipfile.ZipInfo(name), TRACE)
        with pytest.raises(BadInput, match="leads out of the archive"):
            open_run(archive)
    assert not outside.exists()
    link = zipfile.ZipInfo("trace.json")
    link.external_attr = 0o120777 << 16
    with zipfile.ZipFile(tmp_path / "link.zip", "w") as opened:
        opened.writestr(link, "/etc/passwd")
    with pytest.raises(BadInput, match="leads out of the archive"):
        open_run(tmp_path / "link.zip")
    nested = tmp_path / "nested.zip"
    with zipfile.ZipFile(nested, "w") as opened:
        opened.write(tmp_path / "link.zip", "inner.zip")
    with pytest.raises(NotARun, match="is not recognised"):
        open_run(nested)
    cached = tmp_path / "home" / "cache" / "archives"
    assert [entry for entry in cached.iterdir() if entry.name.startswith(".")] == []

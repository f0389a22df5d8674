"""`server-profile` against a server that behaves as vLLM's and SGLang's do."""

import os
import shutil
import signal
import threading
from pathlib import Path

import fsspec
import pytest

from profiler_core.capture.elsewhere.profiler_route import ProfiledServer
from profiler_core.cli import server_profile, server_profile_job
from profiler_core.cli.main import main
from profiler_core.cli.server_traces import FarFolder, folder_at, new_traces
from profiler_core.errors import BadInput
from profiler_core.session.run import Run
from profiler_core.store import incoming
from tests.inference_server import CAPTURES, TRACE, running
from tests.ssh_server import own_ssh_server


@pytest.fixture(autouse=True)
def quick(tmp_path, monkeypatch, columns):
    monkeypatch.setenv("FUSIONSCOPE_HOME", str(tmp_path / "home"))
    (tmp_path / "home").mkdir()
    (tmp_path / "home" / "cache").symlink_to(columns)
    monkeypatch.setattr(server_profile, "_LOOK_EVERY_S", 0.05)


@pytest.fixture
def folder(tmp_path):
    folder = tmp_path / "traces"
    (folder / CAPTURES).mkdir(parents=True)
    shutil.copy(TRACE, folder / "old.pt.trace.json")
    shutil.copy(TRACE, folder / CAPTURES / "graph_capture_rank_0.1.pt.trace.json")
    return folder


def profile(url, traces, *words):
    return main(["server-profile", url, f"--traces={traces}", "--seconds=0.2", "--wait=20", *words])


def came(capsys):
    """The folders of the runs that were made."""
    said = capsys.readouterr()
    return [Path(line) for line in said.out.splitlines() if line.startswith("/")], said


def test_vllm_is_profiled_and_its_new_trace_is_a_run(folder, capsys):
    with running("vllm", folder) as server:
        assert profile(server.url, folder) == 0
    assert server.asked == [("/start_profile", {}), ("/stop_profile", {})]
    (path,), said = came(capsys)
    assert Run.open(path).required_summary().n_kernels > 0
    assert len(list((path / CAPTURES).iterdir())) == 1  # what it wrote at its start
    assert "Fetches 1 traces" in said.err and "1 of graph captures" in said.err


def test_sglang_gets_its_options_and_stops_by_itself(folder, tmp_path, capsys):
    with running("sglang", folder) as server:
        words = (f"--output-dir={folder}", "--steps=3", "--activities=CPU,GPU", "--seconds=20")
        assert profile(server.url, folder, *words) == 0
    options = {"num_steps": 3, "output_dir": str(folder), "activities": ["CPU", "GPU"]}
    assert server.asked == [("/start_profile", options)]
    (path,), _ = came(capsys)
    assert Run.open(path).required_summary().n_kernels > 0


def test_a_run_of_a_named_server(folder, tmp_path, capsys):
    with running("sglang", folder) as server:
        (tmp_path / "home" / "settings.toml").write_text(
            f'[servers.chat]\nurl = "{server.url}"\ntraces = "{folder}"\n'
        )
        assert main(["server-profile", "chat", "--seconds=0.1"]) == 0
    assert [path for path, _ in server.asked] == ["/start_profile", "/stop_profile"]


def test_a_dry_run_asks_nothing(folder, capsys):
    with running("vllm", folder) as server:
        assert profile(server.url, folder, "--dry-run") == 0
    assert server.asked == []
    assert f"POST {server.url}/start_profile" in capsys.readouterr().out


def fails(capsys, *words):
    assert profile(*words) == 2
    said = capsys.readouterr()
    assert "Traceback" not in said.err
    return said.err


def test_a_profiler_that_is_not_enabled(folder, capsys):
    with running("vllm", folder) as server:
        server.is_enabled = False
        said = fails(capsys, server.url, folder)
    assert "has no /start_profile: its profiler is not enabled" in said
    assert "--profiler-config" in said and "torch_profiler_dir" in said


def test_a_server_that_is_profiled_already_is_left_alone(folder, capsys):
    with running("sglang", folder) as server:
        server.is_profiling = True
        said = fails(capsys, server.url, folder)
        assert server.is_profiling
    assert "status 400: Profiling is already in progress" in said


def test_a_server_that_is_not_there(folder, capsys):
    assert "cannot be reached: Connection refused" in fails(capsys, "http://127.0.0.1:1", folder)


def test_a_stop_that_takes_too_long(folder, capsys):
    with running("vllm", folder) as server:
        server.answers_after_s = 1.0
        said = fails(capsys, server.url, folder, "--stop-timeout=0.2")
    assert "/stop_profile did not answer within 0.2 s" in said and "--stop-timeout" in said


def test_a_folder_that_stays_empty(folder, capsys):
    with running("vllm", folder) as server:
        server.stays_empty = True
        said = fails(capsys, server.url, folder, "--wait=0.3")
    assert f"wrote no new trace below {folder} within 0.3 s" in said
    assert "torch_profiler_dir" in said


def test_a_folder_that_is_not_there_is_said_before_the_server_is_asked(tmp_path, capsys):
    with running("vllm", tmp_path) as server:
        said = fails(capsys, server.url, tmp_path / "gone")
    assert "There is no folder" in said and server.asked == []


def test_a_key_comes_from_a_variable(folder, capsys, monkeypatch):
    monkeypatch.setenv("MY_KEY", "k3y")
    with running("vllm", folder) as server:
        server.key = "k3y"
        assert "--key-variable" in fails(capsys, server.url, folder)
        assert profile(server.url, folder, "--key-variable=MY_KEY") == 0
        assert "There is no variable NO_KEY" in fails(
            capsys, server.url, folder, "--key-variable=NO_KEY"
        )


def test_interrupted_it_stops_the_profiler(folder, capsys):
    with running("vllm", folder) as server:
        threading.Timer(0.3, os.kill, (os.getpid(), signal.SIGINT)).start()
        before = signal.getsignal(signal.SIGINT)
        try:
            assert profile(server.url, folder, "--seconds=30") == 130
        finally:
            signal.signal(signal.SIGINT, before)
    assert [path for path, _ in server.asked] == ["/start_profile", "/stop_profile"]


@pytest.mark.parametrize(
    "url",
    ["localhost:8000", "file:///etc/passwd", "http://", "http://a b", "http://u:p@h", "http://h/?x",
     "http://h:x", "gopher://h", "http://h\n", ""],
)  # fmt: skip
def test_what_is_no_address_of_a_server(url):
    with pytest.raises(BadInput, match="address"):
        ProfiledServer(url)


def test_a_redirect_is_not_followed(folder, monkeypatch):
    with running("vllm", folder) as server, running("vllm", folder) as other:
        monkeypatch.setattr(server, "post", lambda *_: (302, f"{other.url}/start_profile"))
        with pytest.raises(BadInput, match="status 302"):
            ProfiledServer(server.url).start({})
    assert other.asked == []


def test_traces_behind_a_url(tmp_path, capsys, monkeypatch):
    memory = fsspec.filesystem("memory")
    with running("vllm", tmp_path / "written") as server:
        write = server.write

        def written() -> None:
            write()
            memory.put(f"{tmp_path}/written", "/server-profile", recursive=True)

        monkeypatch.setattr(server, "write", written)
        try:
            assert profile(server.url, "memory://server-profile") == 0
        finally:
            memory.rm("/server-profile", recursive=True)
    (path,), _ = came(capsys)
    assert Run.open(path).required_summary().n_kernels > 0


def test_traces_of_another_machine(folder, tmp_path, capsys, monkeypatch):
    (tmp_path / "sshd").mkdir()
    with own_ssh_server(tmp_path / "sshd", {"LC_ALL": "C"}) as box:
        monkeypatch.setenv("PATH", f"{box.programs}{os.pathsep}{os.environ['PATH']}")
        with running("vllm", folder) as server:
            assert profile(server.url, f"box:{folder}") == 0
        with pytest.raises(BadInput, match="There is no folder /no/such on box"):
            folder_at("box:/no/such").listing()
    (path,), _ = came(capsys)
    assert len(list((path / CAPTURES).iterdir())) == 1
    with pytest.raises(BadInput, match="no address of a machine"):
        folder_at("-oProxyCommand=x:/traces")
    assert isinstance(folder_at("ada@box:/traces"), FarFolder)


def test_a_job_that_was_killed_before_its_traces_came_profiles_no_second_time(
    folder, tmp_path, monkeypatch
):
    asked = []

    def killed(wish, *_words, **_more):
        asked.append(wish.traces)
        raise SystemExit(137)

    monkeypatch.setattr(server_profile_job, "profile", killed)
    words = ["job", incoming.new_upload_id(), "--url=http://localhost:1", "--seconds=1"]
    monkeypatch.setattr("sys.argv", [*words, f"--traces={folder}"])
    with pytest.raises(SystemExit):
        server_profile_job._run(lambda _progress: None)
    with pytest.raises(BadInput, match="not profiled a second time") as refusal:
        server_profile_job._run(lambda _progress: None)
    assert "stop_profile" in refusal.value.remedy
    assert asked == [str(folder)]


def test_new_is_what_was_not_there_or_was_another():
    before = {"a.pt.trace.json": (1.0, 1.0), "b.pt.trace.json": (1.0, 1.0)}
    now = {
        **before, "b.pt.trace.json": (2.0, 2.0), "c.pt.trace.json.gz": (3.0, 1.0), "d.txt": (1, 1),
        "x.async_llm.pt.trace.json": (1.0, 1.0), f"{CAPTURES}/e.pt.trace.json": (1.0, 1.0),
    }  # fmt: skip
    assert new_traces(before, now) == {"b.pt.trace.json": 2.0, "c.pt.trace.json.gz": 3.0}

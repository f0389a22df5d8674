"""`open` starts a dashboard or finds the one that runs, and says how to reach it from afar."""

import contextlib
import re
import shutil
import signal
import sqlite3
import subprocess
import sys
import time
import urllib.request
from pathlib import Path

import pytest

from profiler_core.cli.main import main
from profiler_core.cli.open import _key
from profiler_core.store import opened, running, server_path
from tests.ingest.nsight_systems.build import a_loop

ROOT = Path(__file__).resolve().parents[2]
CAPTURES = ROOT / "tests" / "fixtures" / "captures"
START_TIMEOUT_S = 240.0


@pytest.fixture
def environment(tmp_path, monkeypatch):
    for name in ("DISPLAY", "WAYLAND_DISPLAY", "BROWSER", "SSH_CONNECTION"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("FUSIONSCOPE_HOME", str(tmp_path / "home"))
    monkeypatch.setenv("HOME", str(tmp_path / "user"))
    return tmp_path


def test_a_second_open_finds_the_dashboard_of_the_first(environment, capsys):
    """And both lead to a comparison of files outside of the user's home."""
    pair = [environment / f"{name}.json.gz" for name in ("a", "b")]
    for file, run in zip(pair, ("eager", "reduce-overhead"), strict=True):
        shutil.copy(CAPTURES / "customcnn_b1" / run / "trace.json.gz", file)
    said = environment / "said.txt"
    with said.open("wb") as output:
        first = subprocess.Popen(
            [sys.executable, "-m", "profiler_core", "open", *map(str, pair), "--port", "0"],
            cwd=ROOT,
            stdout=output,
            stderr=subprocess.STDOUT,
        )
    try:
        address = first_line(said, first)
        assert re.fullmatch(
            r"http://localhost:\d+/\?baseline=path%2F.+a\.json\.gz&candidate=path%2F.+b\.json\.gz"
            r"&enter=[0-9a-f]{16}\.[\w-]{43}",
            address,
        )
        assert page_behind(address) == 200
        assert (environment / "home" / "server.log").stat().st_mode & 0o777 == 0o600
        found = running.find()
        assert found is not None
        assert main(["open", str(pair[0]), "--page", "timeline"]) == 0
        out = capsys.readouterr().out
        assert out.startswith(f"{found.url}timeline?baseline=path%2F")
        assert f"ssh -N -L {found.port}:localhost:{found.port} " in out
        assert page_behind(out.splitlines()[0]) == 200  # it lets in another browser
    finally:
        first.send_signal(signal.SIGINT)  # Ctrl-C
        assert first.wait(30) == 0
    assert running.find() is None
    assert not (environment / "home" / "server.json").exists()


def test_a_folder_of_somebody_else_brings_no_code_along(environment):
    """Neither modules that shadow, nor a secrets.toml, of which Streamlit makes variables."""
    folder, ran = environment / "theirs", environment / "ran.txt"
    (folder / ".streamlit").mkdir(parents=True)
    (folder / ".streamlit" / "secrets.toml").write_text(
        f'PYTHONPATH = "{folder}"\n[auth]\nredirect_uri = "http://localhost/oauth2callback"\n'
    )
    for name in ("streamlit", "sitecustomize", "polars"):
        (folder / f"{name}.py").write_text(f"open({str(ran)!r}, 'a').write({name!r})\n")
    shutil.copy(CAPTURES / "customcnn_b1" / "eager" / "trace.json.gz", folder)
    program = f"import sys; sys.path.insert(0, {str(ROOT)!r}); sys.path.remove('')"
    program += "; from profiler_core.cli.main import main; sys.exit(main(sys.argv[1:]))"
    said = environment / "said.txt"
    with said.open("wb") as output:
        process = subprocess.Popen(
            [sys.executable, "-c", program, "open", "trace.json.gz", "--port", "0"],
            cwd=folder,
            stdout=output,
            stderr=subprocess.STDOUT,
        )
    try:
        # With that [auth] nobody would be let in by a link.
        assert page_behind(first_line(said, process)) == 200
    finally:
        process.send_signal(signal.SIGINT)
        assert process.wait(30) == 0
    assert not ran.exists()


def test_what_was_opened_may_be_looked_at_on_a_local_server_only(environment):
    path = environment / "elsewhere" / "trace.json.gz"
    path.parent.mkdir()
    path.touch()
    opened.allow([path])
    assert path in server_path.roots(is_local=True)
    assert server_path.roots(is_local=False) == ()
    assert (environment / "home" / "opened.json").stat().st_mode & 0o777 == 0o600


def test_another_server_on_that_port_is_not_taken_for_ours(environment):
    """Its answer must hold the hash of the token in our file."""
    import http.server
    import threading

    class Foreign(http.server.BaseHTTPRequestHandler):
        def do_GET(self):
            self.send_response(200)
            self.end_headers()
            self.wfile.write(b'{"product": "fusionscope", "instance": "another"}')

        def log_message(self, *args):
            pass

    server = http.server.HTTPServer(("127.0.0.1", 0), Foreign)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    try:
        port = server.server_port
        running.announce(f"http://127.0.0.1:{port}/", port)
        assert running.find() is None
    finally:
        server.shutdown()
        server.server_close()


def test_a_path_without_a_run_starts_nothing(environment, capsys):
    assert main(["open", str(environment / "nothing.json.gz")]) == 2
    assert "does not exist" in capsys.readouterr().err
    assert not (environment / "home" / "server.log").exists()


@pytest.mark.parametrize("as_run", [False, True])
def test_a_database_of_somebody_else_is_refused_before_anything_starts(environment, capsys, as_run):
    folder = environment / "bookmarks"
    folder.mkdir()
    path = folder / "trace.sqlite"
    with contextlib.closing(sqlite3.connect(path)) as database:
        database.execute("CREATE TABLE bookmarks (address TEXT)")
        database.commit()
    if as_run:
        (folder / "run.json").write_text('{"run_id": "a", "name": "a"}')
    assert main(["open", str(folder if as_run else path), "--no-browser"]) == 2
    said = capsys.readouterr()
    assert said.out == ""
    assert "trace.sqlite" in said.err
    assert "Nsight Systems" in said.err
    assert not (environment / "home" / "server.log").exists()
    assert not (environment / "home" / "opened.json").exists()


def test_a_recording_of_nsight_systems_has_a_key(environment):
    path = environment / "trace.sqlite"
    a_loop().write(path)
    assert _key(path).endswith("/trace.sqlite")


def test_the_tunnel_goes_to_the_host_that_ssh_named(environment, monkeypatch):
    from profiler_core.cli.open import _tunnel

    monkeypatch.setenv("SSH_CONNECTION", "203.0.113.9 51234 198.51.100.7 2222")
    assert "ssh -N -L 8501:localhost:8501 -p 2222 " in _tunnel(8501)
    assert _tunnel(8501).endswith("@198.51.100.7")


def page_behind(link: str) -> int:
    """The status that a browser gets, which keeps the cookie of the first answer."""
    browser = urllib.request.build_opener(urllib.request.HTTPCookieProcessor())
    with browser.open(link, timeout=10) as answer:
        assert "enter=" not in answer.url
        return answer.status


def first_line(file: Path, process: "subprocess.Popen[bytes]") -> str:
    deadline = time.monotonic() + START_TIMEOUT_S
    while time.monotonic() < deadline:
        text = file.read_text()
        if "\n" in text:
            return text.splitlines()[0]
        assert process.poll() is None, text
        time.sleep(0.1)
    raise AssertionError(f"nothing printed within {START_TIMEOUT_S} s")

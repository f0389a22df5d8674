"""The dashboard starts both ways, from any folder, and belongs to this machine alone."""

import json
import os
import socket
import subprocess
import sys
import time
import urllib.request
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
START_TIMEOUT_S = 240.0


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


@pytest.mark.parametrize(
    "command",
    [("-m", "streamlit", "run", str(ROOT / "app.py")), (str(ROOT / "app.py"),)],
    ids=["streamlit run app.py", "python app.py"],
)
def test_it_starts_from_any_folder_with_its_own_settings(tmp_path, command):
    port = free_port()
    process = subprocess.Popen(
        [sys.executable, *command, "--server.headless=true", f"--server.port={port}"],
        cwd=tmp_path,
        env={**os.environ, "FUSIONSCOPE_HOME": str(tmp_path)},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )
    try:
        said = wait_for(f"http://localhost:{port}/api/health", process)
        assert said["product"] == "fusionscope"
        assert not reachable_from_outside(port)  # [server] address of .streamlit/config.toml
    finally:
        process.terminate()
        process.communicate(timeout=20)


@pytest.mark.parametrize("file", ["secrets.toml", "config.toml"])
def test_no_variables_are_made_of_a_file_of_somebody_elses_folder(tmp_path, file):
    """Streamlit would put its PATH, PYTHONPATH and LD_PRELOAD into every process."""
    ran, theirs = tmp_path / "ran.txt", tmp_path / "theirs"
    (theirs / ".streamlit").mkdir(parents=True)
    (theirs / "sitecustomize.py").write_text(f"open({str(ran)!r}, 'a').write('theirs')\n")
    secrets = theirs / (".streamlit/secrets.toml" if file == "secrets.toml" else "x.toml")
    secrets.write_text(f'PYTHONPATH = "{theirs}"\n')
    if file == "config.toml":
        text = f'[secrets]\nfiles = ["{secrets}"]\n'
        (theirs / ".streamlit" / "config.toml").write_text(text)
    command = ["-m", "streamlit", "run", str(ROOT / "app.py"), "--server.headless=true"]
    ended = subprocess.run(
        [sys.executable, "-P", *command, f"--server.port={free_port()}"],
        cwd=theirs,
        env={**os.environ, "FUSIONSCOPE_HOME": str(tmp_path)},
        capture_output=True,
        text=True,
        timeout=START_TIMEOUT_S,
    )
    assert ended.returncode != 0
    assert f"{theirs / '.streamlit' / file}. Start it from another folder" in ended.stderr
    assert not ran.exists()


def wait_for(url: str, process: "subprocess.Popen[str]") -> dict:
    deadline = time.monotonic() + START_TIMEOUT_S
    while time.monotonic() < deadline:
        assert process.poll() is None, process.communicate()[0]
        try:
            with urllib.request.urlopen(url, timeout=1) as answer:
                return json.load(answer)
        except OSError:
            time.sleep(0.1)
    raise AssertionError(f"not healthy within {START_TIMEOUT_S} s")


def reachable_from_outside(port: int) -> bool:
    """Does another address of this machine answer? 127.0.0.2 is one on Linux."""
    with socket.socket() as probe:
        probe.settimeout(1)
        return probe.connect_ex(("127.0.0.2", port)) == 0

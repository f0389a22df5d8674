"""The image's steps without Docker: what is copied is installed alone, and its command answers."""

import json
import re
import shlex
import shutil
import signal
import subprocess
import sys
import time
import venv
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest
from prometheus_client.openmetrics.parser import text_string_to_metric_families

from tests.attack.servers import ROOT, ask, free_port, wait_for
from tests.wheel import PIP

DOCKERFILE = (ROOT / "deploy" / "Dockerfile").read_text("utf-8")
SENT = (ROOT / "deploy" / "Dockerfile.dockerignore").read_text("utf-8")

TOKEN = "s3cret-metrics-token"
SECRETS = """
[auth]
redirect_uri = "https://fusionscope.example.org/oauth2callback"
cookie_secret = "s3cret-cookie-0123456789abcdef0123456789abcdef"
client_id = "fusionscope"
client_secret = "s3cret-client"
server_metadata_url = "https://login.example.net/.well-known/openid-configuration"
"""
SETTINGS = f"""
metrics_token = "{TOKEN}"
[team]
viewers = ["*@example.org"]
admins = ["ada@example.org"]
"""


def _steps() -> list[tuple[str, str]]:
    """(instruction, its words) in order; continued lines are one."""
    lines = [line for line in DOCKERFILE.splitlines() if not line.lstrip().startswith("#")]
    text = re.sub(r"\\\n", " ", "\n".join(lines))
    return [
        (line.split(None, 1)[0], line.split(None, 1)[1].strip())
        for line in text.splitlines() if line.strip()
    ]  # fmt: skip


STEPS = _steps()


def _all(instruction: str) -> list[str]:
    return [words for name, words in STEPS if name == instruction]


def _command(instruction: str) -> list[str]:
    """The JSON form, which starts no shell: signals reach the server."""
    (words,) = _all(instruction)
    return json.loads(words[words.index("["):])  # fmt: skip


@dataclass(frozen=True)
class Image:
    """Folders in place of /app and /data, and of an environment for /usr/local."""

    app: Path
    data: Path
    environment: dict[str, str]


@pytest.fixture(scope="module")
def image(tmp_path_factory) -> Image:
    folder = tmp_path_factory.mktemp("image")
    app, data = folder / "app", folder / "data"
    for words in _all("COPY"):
        *sources, target = words.split()
        for source in sources:
            to = app / target / (source if target == "./" else "")
            to.parent.mkdir(parents=True, exist_ok=True)
            if (ROOT / source).is_dir():
                shutil.copytree(ROOT / source, to, ignore=shutil.ignore_patterns("__pycache__"))
            else:
                shutil.copy(ROOT / source, to)
    (install,) = (words for words in _all("RUN") if "pip install" in words)
    assert "--editable" in install
    python_home = folder / "python"
    venv.create(python_home, with_pip=False)
    (packages,) = python_home.glob("lib/python*/site-packages")
    lenders = [path for path in sys.path if path.endswith("site-packages")]
    (packages / "lent.pth").write_text("\n".join(lenders))  # its dependencies, not downloaded
    quiet = ("--no-deps", "--no-index", "--no-build-isolation")
    subprocess.run(
        [*PIP, "--python", python_home / "bin" / "python", "install", *quiet, "--editable", app],
        check=True,
    )
    data.mkdir()
    environment = {
        "PATH": f"{python_home / 'bin'}:/usr/bin:/bin", "HOME": str(folder / "home"),
        "PYTHONDONTWRITEBYTECODE": "1",
    }  # fmt: skip
    for words in _all("ENV"):
        environment |= dict(word.split("=", 1) for word in shlex.split(words))
    assert environment["FUSIONSCOPE_HOME"] == "/data"
    return Image(app, data, environment | {"FUSIONSCOPE_HOME": str(data)})


@dataclass(frozen=True)
class Container:
    """The image's command, running."""

    port: int
    log: Path
    process: "subprocess.Popen[bytes]"
    files_before: frozenset[Path]


@pytest.fixture(scope="module")
def container(image) -> Iterator[Container]:
    (image.app / ".streamlit" / "secrets.toml").write_text(SECRETS)
    (image.app / ".streamlit" / "secrets.toml").chmod(0o600)
    (image.data / "settings.toml").write_text(SETTINGS)
    port, log = free_port(), image.data.parent / "log.txt"
    files = frozenset(image.app.rglob("*"))
    program, *words = _command("CMD")
    program = shutil.which(program, path=image.environment["PATH"]) or program
    with log.open("wb") as output:
        process = subprocess.Popen(
            [program, *words, "--quiet", f"--port={port}"],
            cwd=image.app, env=image.environment | {"FUSIONSCOPE_LOG": "json"},
            stdin=subprocess.DEVNULL, stdout=output, stderr=subprocess.STDOUT,
        )  # fmt: skip
    try:
        wait_for(port, "/api/health", process, log)
        yield Container(port, log, process, files)
    finally:
        process.terminate()
        process.wait(60)


def test_the_build_is_sent_what_it_copies_and_no_more():
    kept = [line[1:] for line in SENT.splitlines() if line.startswith("!")]
    copied = [source for words in _all("COPY") for source in words.split()[:-1]]
    assert sorted(kept) == sorted(copied)
    assert all((ROOT / source).exists() for source in copied)
    assert SENT.splitlines()[1] == "*"
    assert "**/secrets.toml" in SENT.splitlines()


def test_it_does_not_run_as_root_and_keeps_its_data_on_a_volume():
    names = [name for name, _ in STEPS]
    (user,) = _all("USER")
    assert user != "root" and user != "0"
    assert names.index("USER") < names.index("CMD")
    assert not [words for name, words in STEPS[names.index("USER"):] if name == "RUN"]  # fmt: skip
    assert _all("VOLUME") == ["/data"]
    (made,) = (words for words in _all("RUN") if "useradd" in words)
    assert f"chown {user} /data" in made


def test_what_it_installs_are_extras_that_there_are(image):
    (install,) = (words for words in _all("RUN") if "pip install" in words)
    wanted = set(",".join(re.findall(r"extras=([\w,]+)", install)).split(","))
    (metadata,) = Path(image.environment["PATH"].split(":")[0]).parent.glob(
        "lib/python*/site-packages/fusionscope-*/METADATA"
    )
    offered = set(re.findall(r"^Provides-Extra: (\S+)$", metadata.read_text(), re.MULTILINE))
    assert {"server", "s3", "all"} == wanted <= offered


def test_its_python_is_one_that_the_project_takes():
    (base,) = _all("FROM")
    wanted = tuple(map(int, re.findall(r"python:(\d+)\.(\d+)", base)[0]))
    (least,) = re.findall(
        r'requires-python = ">=(\d+)\.(\d+)"', (ROOT / "pyproject.toml").read_text()
    )
    assert wanted >= tuple(map(int, least))


def test_its_command_is_ready(container):
    answer = ask(container.port, "/api/ready")
    assert (answer.status, json.loads(answer.body)["ready"]) == (200, True), answer.body


def test_its_health_check_says_so(container, image):
    (words,) = _all("HEALTHCHECK")
    program, *arguments = _command("HEALTHCHECK")
    here = [word.replace(":8501/", f":{container.port}/") for word in arguments]
    assert here != arguments
    python = shutil.which(program, path=image.environment["PATH"])
    assert subprocess.run([python, *here], env=image.environment).returncode == 0
    here = [word.replace(":8501/", f":{free_port()}/") for word in arguments]
    dead = subprocess.run([python, *here], env=image.environment, capture_output=True)
    assert dead.returncode != 0
    assert "--start-period" in words


def test_a_stranger_sees_the_page_without_data_and_no_metrics(container):
    assert ask(container.port, "/").status == 200
    assert ask(container.port, "/api/metrics").status == 401
    assert ask(container.port, "/api/runs/export").status == 401


def test_a_monitor_reads_its_metrics(container):
    answer = ask(container.port, "/api/metrics", Authorization=f"Bearer {TOKEN}")
    families = {family.name: family for family in text_string_to_metric_families(answer.body)}
    (up,) = families["fusionscope_database_up"].samples
    (sessions,) = families["fusionscope_sessions"].samples
    assert (up.value, sessions.value) == (1, 0)
    refused = {s.labels["reason"]: s.value for s in families["fusionscope_refused_requests"].samples
               if s.name.endswith("_total")}  # fmt: skip
    assert refused["token"] >= 1


def test_its_log_tells_no_requests(container):
    ask(container.port, "/api/health?who=203.0.113.7")
    assert "203.0.113.7" not in container.log.read_text()
    assert "/api/" not in container.log.read_text()


def test_it_ends_with_sigterm_and_has_said_nothing_but_json_without_secrets(container, image):
    started_s = time.monotonic()
    container.process.send_signal(signal.SIGTERM)
    assert container.process.wait(60) == 0
    assert time.monotonic() - started_s < 60
    text = container.log.read_text()
    lines = [json.loads(line) for line in text.splitlines()]
    assert any(line["event"].startswith("Fusionscope runs at ") for line in lines)
    assert "SIGTERM: the server ends." in {line["event"] for line in lines}
    assert "s3cret" not in text
    with pytest.raises(OSError):
        ask(container.port, "/api/health")
    # Whoever is not root writes nowhere but below /data.
    assert {path for path in image.app.rglob("*") if "__pycache__" not in path.parts} == {
        path for path in container.files_before if "__pycache__" not in path.parts
    }
    assert {path.name for path in image.data.iterdir()} > {"settings.toml", "history.sqlite3"}

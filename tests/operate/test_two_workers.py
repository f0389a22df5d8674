"""Two servers started at once over one home and one PostgreSQL: what one did, the other knows."""

import gzip
import http.client
import json
import os
from collections.abc import Iterator, Mapping
from contextlib import ExitStack
from pathlib import Path

import pytest

from profiler_core.store import catalogue, history, incoming
from profiler_core.store.history import database
from profiler_core.store.orders import Order, keep_order
from profiler_core.ui.own_machine.cookie import cookie_name, new_cookie
from profiler_core.ui.routes.token import sign
from tests.attack.servers import ROOT, STREAMLIT, free_port, started, wait_for
from tests.quick_python import variables
from tests.store.history.postgres import running_postgres
from tests.store.history.samples import redated_copy

SAMPLES = ROOT / "sample_traces" / "breaky"
QUOTA_BYTES = 1_000_000


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """The home of both servers, which this process shares with them."""
    with running_postgres() as url, pytest.MonkeyPatch.context() as patch:
        home = tmp_path_factory.mktemp("workers") / "home"
        home.mkdir()
        (home / "settings.toml").write_text(f"upload_quota_gb = {QUOTA_BYTES / 1e9}\n")
        patch.setenv("FUSIONSCOPE_HOME", str(home))
        patch.setenv("FUSIONSCOPE_DATABASE_URL", url)
        yield home
        database.close_all()


@pytest.fixture(scope="module")
def ports(home: Path, quick_python: Path) -> Iterator[tuple[int, int]]:
    """Of two servers that began at the same moment, with an empty home and an empty database."""
    with ExitStack() as ends:
        workers = []
        for name in ("a", "b"):
            (home.parent / name).mkdir()
            port = free_port()
            command = [*STREAMLIT, f"--server.port={port}"]
            process, log = started(command, home.parent / name, home, **variables(quick_python))
            ends.callback(process.wait, 30)
            ends.callback(process.terminate)
            workers.append((port, process, log))
        for port, process, log in workers:
            wait_for(port, "/api/health", process, log)
        yield workers[0][0], workers[1][0]


def ask(
    port: int, method: str, path: str, token: str, body: bytes = b"", **headers: str
) -> tuple[int, bytes]:
    """As a browser that was let in by either of them."""
    sent: Mapping[str, str] = {
        "Cookie": f"{cookie_name()}={new_cookie()}",
        "Origin": f"http://localhost:{port}",
        "X-Fusionscope-Token": token,
        **headers,
    }
    connection = http.client.HTTPConnection("localhost", port, timeout=120)
    try:
        connection.request(method, path, body=body or None, headers=sent)
        answer = connection.getresponse()
        return answer.status, answer.read()
    finally:
        connection.close()


def test_both_are_ready_though_both_made_the_tables(ports: tuple[int, int]) -> None:
    for port in ports:
        status, body = ask(port, "GET", "/api/ready", "")
        assert status == 200, body


def test_a_browser_that_one_let_in_is_let_in_by_the_other(ports: tuple[int, int]) -> None:
    for port in ports:
        assert ask(port, "GET", "/", "")[0] == 200
        assert ask(port, "GET", "/", "", Cookie="other=1")[0] == 403


def test_a_trace_that_one_offered_is_made_by_either(ports: tuple[int, int]) -> None:
    order = Order("export", (SAMPLES / "eager", SAMPLES / "default"), ".json.gz")
    token = sign("merged", keep_order(order))
    status, body = ask(ports[1], "GET", "/api/perfetto/merged", token)
    assert status == 200, body
    assert json.loads(gzip.decompress(body))["traceEvents"]


def test_a_run_that_one_recorded_is_downloaded_from_either(
    home: Path, ports: tuple[int, int]
) -> None:
    recorded = history.record(redated_copy(home, "shared", whole=True))
    for port in ports:
        token = sign("export", recorded.run_id)
        status, body = ask(port, "GET", f"/api/runs/export?token={token}", "")
        assert (status, body[:2]) == (200, b"PK")
    assert catalogue.group("run/shared/default") is not None


def test_a_quota_counts_what_either_received(ports: tuple[int, int]) -> None:
    upload_id = incoming.new_upload_id()
    token = sign("upload", upload_id)
    half = os.urandom(QUOTA_BYTES * 6 // 10)
    first = ask(ports[0], "PUT", "/api/upload/0?name=a.json", token, half)
    second = ask(ports[1], "PUT", "/api/upload/1?name=b.json", token, half)
    third = ask(ports[1], "PUT", "/api/upload/1?name=c.json", token, b"small")
    assert [first[0], second[0], third[0]] == [200, 413, 200]
    assert b"more on this server" in second[1]

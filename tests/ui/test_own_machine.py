"""What of the gate needs no server: the terminal's links, and how a request reached the machine."""

import asyncio
import os
import re
import socket
from pathlib import Path

import pytest
from starlette.responses import PlainTextResponse

from profiler_core.operate.addresses import is_loopback
from profiler_core.store import browser_links
from profiler_core.ui.own_machine import announcing, peer
from profiler_core.ui.own_machine.cookie import cookie_name, new_cookie
from profiler_core.ui.own_machine.gate import OwnMachineGate


@pytest.fixture(autouse=True)
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("FUSIONSCOPE_HOME", str(tmp_path))
    return tmp_path


def status_at(address: str) -> int:
    """What the owner's browser is answered that reached the server at this address of it."""
    scope = {
        "type": "http",
        "method": "GET",
        "scheme": "http",
        "path": "/",
        "raw_path": b"/",
        "query_string": b"",
        "headers": [(b"cookie", f"{cookie_name()}={new_cookie()}".encode())],
        "server": (address, 8501),
    }
    messages: list[dict] = []

    async def send(message: dict) -> None:
        messages.append(message)

    gate = OwnMachineGate(PlainTextResponse("in"), on_entry=lambda: None)
    asyncio.run(gate(scope, None, send))
    return messages[0]["status"]


def test_a_server_bound_to_the_network_by_other_means_answers_on_loopback_only() -> None:
    """uvicorn's own --host, say: Streamlit's setting knows nothing of it."""
    assert status_at("127.0.0.1") == status_at("::1") == status_at("::ffff:127.0.0.1") == 200
    assert (
        status_at("192.0.2.7") == status_at("2001:db8::7") == status_at("::ffff:192.0.2.7") == 403
    )


@pytest.mark.parametrize(
    "address", ["localhost", "LOCALHOST", "127.0.0.1", "127.9.9.9", "::1", "[::1]"]
)
def test_addresses_of_this_machine_alone(address: str) -> None:
    assert is_loopback(address)


@pytest.mark.parametrize(
    "address",
    ["", " ", "0.0.0.0", "::", "[::]", "0", "192.0.2.7", "gpu-host", "localhost.example.org"],
)
def test_addresses_that_others_reach(address: str) -> None:
    assert not is_loopback(address)


def test_a_terminal_gets_a_fresh_link_when_one_was_used_and_a_log_does_not(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(announcing, "_printed", [])
    announcing.show_link()
    (first,) = printed_tokens(capsys)
    assert browser_links.use(first)
    announcing.show_next_link()
    assert printed_tokens(capsys) == []
    monkeypatch.setattr("sys.stdout.isatty", lambda: True)
    announcing.show_next_link()
    (second,) = printed_tokens(capsys)
    announcing.withdraw_links()
    assert not browser_links.use(second)


def printed_tokens(capsys: pytest.CaptureFixture[str]) -> list[str]:
    return re.findall(r"enter=(\S+)", capsys.readouterr().out)


@pytest.fixture(params=["sock_diag", "tables"])
def way_of_asking(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> str:
    """Linux tells of one socket; where it was built without that, of all."""
    monkeypatch.setattr(peer, "_kernel_answers", lambda: request.param == "sock_diag")
    return request.param


def test_linux_is_asked_for_one_socket_alone() -> None:
    assert peer._kernel_answers()


@pytest.mark.usefixtures("way_of_asking")
@pytest.mark.parametrize("family", [socket.AF_INET, socket.AF_INET6])
def test_the_user_of_a_socket_is_told_until_it_is_closed(family: int) -> None:
    address = "127.0.0.1" if family == socket.AF_INET else "::1"
    with socket.create_server((address, 0), family=family) as listening:
        where = listening.getsockname()[:2]
        client = socket.create_connection(where)
        accepted, _ = listening.accept()
        here = client.getsockname()[:2]
        assert peer.user_of(here, where) == os.getuid()
        client.close()  # Linux now says that it is root's
        assert peer.user_of(here, where) is None
        accepted.close()


@pytest.mark.usefixtures("way_of_asking")
def test_an_address_of_ipv4_is_the_same_among_those_of_ipv6() -> None:
    with socket.create_server(("::", 0), family=socket.AF_INET6, dualstack_ipv6=True) as listening:
        port = listening.getsockname()[1]
        with socket.create_connection(("127.0.0.1", port)) as client:
            here = client.getsockname()
            assert peer.user_of(here, ("::ffff:127.0.0.1", port)) == os.getuid()
            assert peer.user_of((f"::ffff:{here[0]}", here[1]), ("127.0.0.1", port)) == os.getuid()
        with socket.socket(socket.AF_INET6) as client:
            client.connect(("::ffff:127.0.0.1", port))
            here = client.getsockname()[:2]
            assert peer.user_of(here, ("127.0.0.1", port)) == os.getuid()


@pytest.mark.usefixtures("way_of_asking")
def test_whoever_listens_at_the_address_of_a_client_is_not_the_client() -> None:
    """Asked for a connection that there is not, the kernel answers with what listens there."""
    with (
        socket.create_server(("127.0.0.1", 0)) as asked_for,
        socket.create_server(("127.0.0.1", 0)) as server,
    ):
        assert peer.user_of(asked_for.getsockname(), server.getsockname()) is None


def test_a_request_is_of_the_owner_by_its_socket(
    way_of_asking: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    with (
        socket.create_server(("127.0.0.1", 0)) as server,
        socket.create_connection(server.getsockname()) as client,
    ):
        scope = {"client": client.getsockname(), "server": server.getsockname(), "headers": []}
        assert asyncio.run(peer.was_sent_by_owner(scope))
        monkeypatch.setattr(peer, "_owners", frozenset)
        assert not asyncio.run(peer.was_sent_by_owner(scope)), way_of_asking


def test_where_the_system_says_nothing_the_cookie_decides(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    scope = {"client": ("127.0.0.1", 1), "server": ("127.0.0.1", 2), "headers": []}
    assert not peer.is_of_owner(scope)
    monkeypatch.setattr(peer, "_kernel_answers", lambda: False)
    monkeypatch.setattr(peer, "_TABLES", (tmp_path / "none",))
    peer._is_told.cache_clear()
    assert peer.is_of_owner(scope)
    peer._is_told.cache_clear()


def test_a_server_that_was_started_by_sudo_belongs_to_who_typed_it(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("SUDO_UID", "1000")
    monkeypatch.setattr(os, "getuid", lambda: 0)
    assert peer._owners() == {0, 1000}
    monkeypatch.setattr(os, "getuid", lambda: 1001)
    assert peer._owners() == {0, 1001}

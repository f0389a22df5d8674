"""What of the gate needs no server: the terminal's links, and how a request reached the machine."""

import asyncio
import re
from pathlib import Path

import pytest
from starlette.responses import PlainTextResponse

from profiler_core.operate.addresses import is_loopback
from profiler_core.store import browser_links
from profiler_core.ui.own_machine import announcing
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

"""A secrets.toml that cannot be used is a sentence, and opens no door."""

import sys
from pathlib import Path

import pytest
from starlette.testclient import TestClient
from streamlit import config
from streamlit.runtime.secrets import secrets_singleton

from profiler_core.errors import BadInput
from profiler_core.ui import server
from profiler_core.ui.own_machine.gate import OwnMachineGate
from profiler_core.ui.sign_in import card
from profiler_core.ui.sign_in.needed import is_needed


async def _pages(_scope, _receive, _send):
    raise AssertionError("the request went on")


def _is_a_loop(path: Path) -> None:
    path.symlink_to(path)  # root may read everything else


def _is_no_text(path: Path) -> None:
    path.write_bytes(b"[auth]\nclient_id = \xff")


def _is_no_toml(path: Path) -> None:
    path.write_text("[auth\nclient_id = 1")


@pytest.fixture(params=[_is_a_loop, _is_no_text, _is_no_toml])
def unusable(home: Path, tmp_path: Path, request, monkeypatch) -> Path:
    path = tmp_path / "secrets.toml"
    request.param(path)
    secrets_singleton._reset()
    get_option = config.get_option
    monkeypatch.setattr(
        config, "get_option",
        lambda name: [str(path)] if name == "secrets.files" else get_option(name),
    )  # fmt: skip
    yield path
    secrets_singleton._reset()


def test_it_is_named_in_a_sentence(unusable):
    with pytest.raises(BadInput) as error:
        is_needed()
    assert str(unusable) in error.value.problem
    assert "remove it" in error.value.remedy


def test_a_request_is_refused_and_not_a_bare_500(unusable):
    answer = TestClient(OwnMachineGate(_pages, lambda: None)).get("/")
    assert answer.status_code == 503
    assert "cannot be" in answer.text
    assert "secrets.toml" in answer.text


def test_a_server_for_others_does_not_start_with_it(unusable, monkeypatch):
    monkeypatch.setattr(server, "_address", lambda: "0.0.0.0")
    with pytest.raises(SystemExit, match=r"secrets\.toml cannot be"):
        server.refuse_public_address()


def test_without_one_nobody_is_asked_to_sign_in(home):
    secrets_singleton._reset()
    assert is_needed() is False


def test_a_sign_out_that_the_disk_does_not_take_still_ends_in_the_browser(
    home, monkeypatch, caplog
):
    signed_out: list[bool] = []

    def read_only(_holder: str) -> None:
        raise OSError(30, "Read-only file system")

    monkeypatch.setattr(card, "end", read_only)
    monkeypatch.setattr(card.st, "button", lambda *_a, **_k: True)
    monkeypatch.setattr(card.st, "logout", lambda: signed_out.append(True))
    card._sign_out_button(type("Who", (), {"holder": "somebody", "person": "oidc:x#1"})())
    assert signed_out == [True]
    assert "Read-only file system" in caplog.text
    assert sys.exc_info() == (None, None, None)

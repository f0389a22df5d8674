"""Roles, ended sign-ins, and every route of ours against whoever is not signed in."""

import json
import os
import time
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from starlette.requests import Request
from streamlit.testing.v1 import AppTest
from streamlit.web.server.starlette.starlette_app_utils import create_signed_value

from profiler_core.settings import Team
from profiler_core.ui.routes import OF_MONITORS, OF_PROGRAMS, all_routes
from profiler_core.ui.routes.token import BadTokenError, sign, verify
from profiler_core.ui.sign_in import ended, identity_cookie
from profiler_core.ui.sign_in.ended import end, has_ended
from profiler_core.ui.sign_in.needed import is_needed
from profiler_core.ui.sign_in.roles import ALLOWED, role_of
from profiler_core.ui.sign_in.visitor import visitor_of
from tests.ui.test_routes import ask

ROOT = Path(__file__).resolve().parents[2]
COOKIE_SECRET = "for-tests-only"
ISSUER = "https://accounts.example.org"
TEAM = Team(
    viewers=("*@example.org",),
    runners=("group:performance", "Rob@Example.org"),
    admins=("ada@example.org",),
)
SETTINGS = """
[team]
viewers = ["*@example.org"]
runners = ["rob@example.org"]
admins = ["ada@example.org"]
"""
# What answers without a sign-in, on purpose: it says nothing about runs.
PUBLIC = "/app/static"


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("FUSIONSCOPE_HOME", str(tmp_path))
    monkeypatch.setattr(identity_cookie, "get_cookie_secret", lambda: COOKIE_SECRET)
    (tmp_path / "settings.toml").write_text(SETTINGS)
    return tmp_path


def claims(address: str, **more: object) -> dict[str, object]:
    return {
        "is_logged_in": True, "iss": ISSUER, "sub": address, "email": address,
        "email_verified": True, "iat": 1, **more,
    }  # fmt: skip


def cookie(said: Mapping[str, object], secret: str = COOKIE_SECRET) -> str:
    signed = create_signed_value(secret, "_streamlit_user", json.dumps(said))
    return f"_streamlit_user={signed.decode()}"


def asking(header: str) -> Request:
    return Request({"type": "http", "method": "GET", "headers": [(b"cookie", header.encode())]})


# --- roles ---


@pytest.mark.parametrize(
    ("said", "role"),
    [
        ({"email": "ada@example.org"}, "admin"),
        ({"email": "ADA@Example.ORG"}, "admin"),
        ({"email": "rob@example.org"}, "runner"),
        ({"email": "x@elsewhere.org", "groups": ["performance"]}, "runner"),
        ({"email": "x@elsewhere.org", "groups": "performance"}, "runner"),
        ({"email": "x@elsewhere.org", "groups": {"performance": True}}, "runner"),
        ({"email": "x@example.org", "groups": ["performance-guests"]}, "viewer"),
        ({"email": "x@example.org"}, "viewer"),
        ({"email": "x@example.org.evil.net"}, None),
        ({"email": "ada@example.org", "email_verified": False}, None),
        ({"email": "ada@example.org", "email_verified": "false"}, None),
        ({"email": None, "groups": None}, None),
        ({"name": "ada@example.org"}, None),
        ({}, None),
    ],
)
def test_the_highest_role_that_a_rule_gives(said: dict[str, Any], role: str | None) -> None:
    assert role_of({"email_verified": True, **said}, "oidc:x#1", TEAM) == role


def test_an_address_is_never_made_another_one() -> None:
    """The sign of kelvin in lower case is a plain k."""
    rules = Team(viewers=(), runners=(), admins=("kate@example.org",))
    for letter, role in (("k", "admin"), ("K", "admin"), ("\u212a", None)):
        claims = {"email": f"{letter}ATE@example.org", "email_verified": True}
        assert role_of(claims, "oidc:x#1", rules) == role


@pytest.mark.parametrize("word", [True, "true", "True"])
def test_only_a_verified_address_counts(word: object) -> None:
    said = {"email": "ada@example.org"}
    assert role_of({**said, "email_verified": word}, "oidc:x#1", TEAM) == "admin"
    assert role_of(said, "oidc:x#1", TEAM) is None  # the provider does not say
    trusted = replace(TEAM, trust_addresses=True)
    assert role_of(said, "oidc:x#1", trusted) == "admin"
    assert role_of({**said, "email_verified": False}, "oidc:x#1", trusted) is None


def test_a_rule_may_name_an_account() -> None:
    rules = Team(admins=("oidc:https://a.example#1",))
    assert role_of({}, "oidc:https://a.example#1", rules) == "admin"
    assert role_of({}, "oidc:https://b.example#1", rules) is None
    assert role_of({"email": "oidc:https://a.example#1", "email_verified": True},
                   "oidc:https://b.example#7", rules) is None  # fmt: skip


def test_without_rules_nobody_has_a_role() -> None:
    assert role_of({"email": "ada@example.org", "email_verified": True}, "oidc:x#1", None) is None
    assert role_of({"email": "", "email_verified": True}, "oidc:x#1", Team(viewers=("*",))) is None


def test_each_role_may_what_the_one_below_it_may() -> None:
    assert ALLOWED["viewer"] < ALLOWED["runner"] < ALLOWED["admin"]
    assert "capture" not in ALLOWED["viewer"]
    assert "audit" not in ALLOWED["runner"]


# --- who asks ---


def test_a_well_signed_cookie_is_a_visitor(home: Path) -> None:
    who = visitor_of(asking(cookie(claims("rob@example.org", name="Rob"))))
    assert who is not None
    assert (who.person, who.name, who.role) == (
        f"oidc:{ISSUER}#rob@example.org", "Rob", "runner",
    )  # fmt: skip
    assert who.shown_name == "rob@example.org"


@pytest.mark.parametrize(
    "header",
    [
        "",
        "_streamlit_user=",
        "_streamlit_user=forged",
        cookie(claims("ada@example.org"), secret="another server"),
        cookie({**claims("ada@example.org"), "is_logged_in": False}),
        cookie({**claims("ada@example.org"), "is_logged_in": "yes"}),
        cookie({"is_logged_in": True, "email": "ada@example.org"}),  # of nobody
        cookie({**claims("ada@example.org"), "iss": ""}),  # nobody says who says so
        cookie(claims("ada@example.org")).replace("_streamlit_user", "_streamlit_user_tokens"),
    ],
)
def test_anything_else_is_nobody(home: Path, header: str) -> None:
    assert visitor_of(asking(header)) is None


def test_a_sign_in_that_ended_is_nobody_and_others_of_the_person_stay(home: Path) -> None:
    here, there = (cookie(claims("rob@example.org", nonce=n)) for n in ("a", "b"))
    who = visitor_of(asking(here))
    assert who is not None
    end(who.holder)
    assert has_ended(who.holder)
    assert visitor_of(asking(here)) is None
    assert visitor_of(asking(there)) is not None


def test_a_role_that_is_taken_away_is_gone_at_once(home: Path) -> None:
    mine = asking(cookie(claims("rob@example.org")))
    (home / "settings.toml").write_text("[team]\nviewers = []\n")
    who = visitor_of(mine)
    assert who is not None and who.role is None and not who.may("look")


def test_half_a_configuration_lets_nobody_in(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (home / "settings.toml").write_text("")
    assert not is_needed()
    monkeypatch.setattr(
        "profiler_core.ui.sign_in.needed.get_secrets_auth_section", lambda: {"client_id": "x"}
    )
    assert is_needed()
    who = visitor_of(asking(cookie(claims("ada@example.org"))))
    assert who is not None and not who.deeds


def test_settings_that_cannot_be_read_let_nobody_in(home: Path) -> None:
    (home / "settings.toml").write_text("[team\n")
    answer = ask("/api/timeline/view", {"token": sign("timeline", "a")})
    assert answer.status == 503


# --- the token and the routes ---


def test_a_token_is_for_one_sign_in(home: Path) -> None:
    token = sign("timeline", "a", holder="mine")
    assert verify(token, "timeline", holder="mine") == "a"
    for other in ("", "theirs"):
        with pytest.raises(BadTokenError, match="another sign-in"):
            verify(token, "timeline", holder=other)


def guarded_routes() -> list[tuple[str, str, str]]:
    """(method, path, scope) of every route of ours that is not public on purpose.

    Those that take an API token are asked in tests/attack/test_api_tokens.py, those of monitors
    in tests/operate/test_metrics.py and test_readiness.py.
    """
    scopes = {
        "drawn": "drawn",
        "timeline": "timeline",
        "upload": "upload",
        "runs": "export",
        "perfetto": "merged",
    }
    return [
        (method, route.path.replace("{place}", "0"), scopes.get(route.path.split("/")[2], "?"))
        for route in all_routes()
        if not route.path.startswith(PUBLIC)
        and route.path not in {other.path for other in (*OF_MONITORS, *OF_PROGRAMS)}
        for method in sorted(route.methods - {"HEAD"})
    ]


@pytest.mark.parametrize(("method", "path", "scope"), guarded_routes())
def test_every_route_refuses_strangers(home: Path, method: str, path: str, scope: str) -> None:
    origin = {"Origin": "http://localhost:8501"}
    mine = claims("ada@example.org", nonce="1")
    who = visitor_of(asking(cookie(mine)))
    assert who is not None
    good = sign(scope, "x", holder=who.holder)

    def status(token: str, header: str) -> int:
        sent = {**origin, "X-Fusionscope-Token": token, "Cookie": header}
        return ask(path, {}, sent, method=method).status

    assert status("", "") == 401  # nobody, nothing
    assert status(good, "") == 401  # a good token in a stranger's hands
    assert status(sign(scope, "x"), "") == 401
    assert status("", cookie(mine)) == 401  # signed in, no token
    assert status(sign(scope, "x", holder="f" * 32), cookie(mine)) == 401  # somebody else's
    assert status(sign("other", "x", holder=who.holder), cookie(mine)) == 401
    stranger = claims("eve@elsewhere.net")
    theirs = visitor_of(asking(cookie(stranger)))
    assert theirs is not None
    assert status(sign(scope, "x", holder=theirs.holder), cookie(stranger)) == 403  # no role
    end(who.holder)
    assert status(good, cookie(mine)) == 401  # after sign-out


def test_a_viewer_does_not_upload(home: Path) -> None:
    mine = claims("vera@example.org")
    who = visitor_of(asking(cookie(mine)))
    assert who is not None
    sent = {
        "Origin": "http://localhost:8501",
        "Cookie": cookie(mine),
        "X-Fusionscope-Token": sign("upload", "x", holder=who.holder),
    }
    answer = ask("/api/upload/0", {"name": "a"}, sent, method="PUT")
    assert answer.status == 403
    assert "role" in answer.problem


def test_a_full_quota_takes_no_upload(home: Path) -> None:
    from profiler_core.store import incoming

    (home / "settings.toml").write_text(f"upload_quota_gb = 0.0\n{SETTINGS}")
    mine, upload_id = claims("rob@example.org"), incoming.new_upload_id()
    who = visitor_of(asking(cookie(mine)))
    assert who is not None
    sent = {
        "Origin": "http://localhost:8501",
        "Cookie": cookie(mine),
        "Content-Length": "5",
        "X-Fusionscope-Token": sign("upload", upload_id, holder=who.holder),
    }
    answer = ask("/api/upload/0", {"name": "a"}, sent, method="PUT")
    assert answer.status == 413
    assert "Your uploads may take" in answer.problem


# --- a page that is opened without the entry script around it ---


@pytest.mark.parametrize("page", sorted((ROOT / "pages").glob("*.py")), ids=lambda path: path.stem)
def test_every_page_alone_shows_a_stranger_the_card_only(home: Path, page: Path) -> None:
    app = AppTest.from_file(str(page), default_timeout=300).run()
    assert not app.exception
    shown = " ".join(str(piece.proto.body) for piece in app.get("html"))
    assert "This server is for a team" in shown
    assert not app.sidebar.children
    assert len(app.button) == len(app.dataframe) == 0


def test_a_clock_that_jumps_ahead_lets_no_ended_sign_in_in_again(tmp_path, monkeypatch):
    monkeypatch.setenv("FUSIONSCOPE_HOME", str(tmp_path))
    end("a" * 32)
    jumped = time.time() + 40 * 24 * 3600
    monkeypatch.setattr(ended.time, "time", lambda: jumped)
    end("b" * 32)
    assert has_ended("a" * 32) and has_ended("b" * 32)


def test_of_many_ended_sign_ins_only_old_ones_are_forgotten(tmp_path, monkeypatch):
    monkeypatch.setenv("FUSIONSCOPE_HOME", str(tmp_path))
    monkeypatch.setattr(ended, "_KEPT_IN_ANY_CASE", 1)
    end("a" * 32)
    end("b" * 32)
    assert has_ended("a" * 32)
    os.utime(tmp_path / "signed_out" / ("a" * 32), (1, 1))
    end("c" * 32)
    assert not has_ended("a" * 32) and has_ended("b" * 32) and has_ended("c" * 32)

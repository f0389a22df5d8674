"""A server's home, its kinds of visitors, and programs that tell when they were started."""

import os
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
import streamlit as st
from streamlit import config

from tests.attack.servers import COOKIE_SECRET, Dashboard, dashboard
from tests.quick_python import variables

TEAM = """
[team]
viewers = ["*@example.org"]
runners = ["ada@example.org"]
"""
RUNNER, VIEWER = "ada@example.org", "bob@example.org"
ISSUER = "https://accounts.example.org"

# What a server's own environment may hold; no process for a visitor may see a value of it.
SECRETS = {
    "FUSIONSCOPE_DATABASE_URL": "postgresql://fs:s3cret-database@db/fs",
    "FUSIONSCOPE_ARTIFACTS_URL": "s3://key:s3cret-artifacts@bucket/runs",
    "FUSIONSCOPE_METRICS_TOKEN": "s3cret-metrics",
    "PGPASSWORD": "s3cret-pg",
    "STREAMLIT_SERVER_COOKIE_SECRET": "s3cret-cookie",
    "STREAMLIT_AUTH_CLIENT_SECRET": "s3cret-client",
    "OIDC_CLIENT_SECRET": "s3cret-oidc",
    "SMTP_PASSWORD": "s3cret-smtp",
    "GITHUB_TOKEN": "s3cret-github",
    "AWS_SECRET_ACCESS_KEY": "s3cret-aws",
    "AWS_SESSION_TOKEN": "s3cret-session",
    "GOOGLE_APPLICATION_CREDENTIALS": "/s3cret-google.json",
    "HTTPS_PROXY": "http://user:s3cret-proxy@proxy:3128",
    "SENTRY_DSN": "https://s3cret-dsn@sentry/1",
}


_get_option = config.get_option


class FakeUser(dict[str, object]):
    """st.user outside of a signed-in browser."""

    @property
    def is_logged_in(self) -> bool:
        return bool(self["is_logged_in"])

    def to_dict(self) -> dict[str, object]:
        return dict(self)


class Server:
    """The settings, the address and the visitor of the server that pages think they run in."""

    def __init__(self, home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        self.home = home
        self._patch = monkeypatch

    def is_at(self, address: str, text: str = "", who: str | None = None, **more: object) -> None:
        """Bound to the address, with this settings.toml, visited by that person.

        `more` are claims of the identity token beside the usual ones, or in their place.
        """
        (self.home / "settings.toml").write_text(text)
        claims: dict[str, object] = {"is_logged_in": False}
        if who is not None:
            claims = {
                "is_logged_in": True, "iss": ISSUER, "sub": who, "email": who,
                "email_verified": True, "iat": 1,
            }  # fmt: skip
            claims.update(more)
        self._patch.setattr("profiler_core.ui.sign_in.visitor.st.user", FakeUser(claims))
        self._patch.setattr(
            "profiler_core.ui.server.config.get_option",
            lambda name: address if name == "server.address" else _get_option(name),
        )


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    folder = tmp_path / "home"
    folder.mkdir()
    monkeypatch.setenv("FUSIONSCOPE_HOME", str(folder))
    for name in SECRETS:
        monkeypatch.delenv(name, raising=False)
    return folder


@pytest.fixture
def server(home: Path, monkeypatch: pytest.MonkeyPatch) -> Server:
    st.cache_resource.clear()
    return Server(home, monkeypatch)


@pytest.fixture
def spy(tmp_path: Path) -> "Spy":
    return Spy(tmp_path)


class Spy:
    """An executable that writes down that it ran, and with which environment."""

    def __init__(self, folder: Path) -> None:
        self.witness = folder / "witness"
        self.path = self.write(folder / "spy" / "bin" / "python")

    def write(self, path: Path) -> Path:
        """Another one of the same witness."""
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(f"#!/bin/sh\nenv > '{self.witness}.new'\n"
                        f"mv '{self.witness}.new' '{self.witness}'\n")  # fmt: skip
        path.chmod(0o755)
        return path

    @property
    def has_run(self) -> bool:
        return self.witness.exists()

    @property
    def environment(self) -> str:
        return self.witness.read_text()


@pytest.fixture
def started(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The command lines of all processes that are started from now on, which still start."""
    commands: list[str] = []
    watch_starts(commands.append, monkeypatch)
    return commands


def watch_starts(tell: Callable[[str], None], monkeypatch: pytest.MonkeyPatch) -> None:
    """Call `tell` with each command line that is about to be started, however it is."""
    import subprocess

    real = subprocess.Popen.__init__

    def told(self: object, args: object, *more: object, **named: object) -> None:
        words = [args] if isinstance(args, str | bytes | os.PathLike) else list(args)  # type: ignore[call-overload]
        tell(" ".join(os.fsdecode(word) for word in words))
        real(self, args, *more, **named)  # type: ignore[call-overload]

    monkeypatch.setattr(subprocess.Popen, "__init__", told)


@pytest.fixture(scope="session")
def api_server(tmp_path_factory: pytest.TempPathFactory, quick_python: Path) -> Iterator[Dashboard]:
    """A running team's server for programs; nobody can sign in, tokens lie in its database."""
    home = tmp_path_factory.mktemp("api-home")
    (home / "settings.toml").write_text(TEAM)
    folder = tmp_path_factory.mktemp("api-server")
    secret = {"STREAMLIT_SERVER_COOKIE_SECRET": COOKIE_SECRET}
    with dashboard(folder, home, **secret, **variables(quick_python)) as running:
        yield running

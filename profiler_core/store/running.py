"""Which dashboard of this user runs, for `open` to find: `<home>/server.json`.

The file holds a random token that only this user can read; the server answers with the token's
hash, so that another program on that port, or another user's dashboard, is never taken for it.
"""

import hashlib
import json
import os
import secrets
import urllib.request
from pathlib import Path

import msgspec

from profiler_core.home import home_directory
from profiler_core.store.private_file import write_private
from profiler_core.typed import ready

_FILE = "server.json"
_HEALTH = "api/health"
_TIMEOUT_S = 2.0


class Running(msgspec.Struct, frozen=True):
    """A dashboard. `url` ends in "/"."""

    url: str
    port: int
    pid: int
    token: str

    @property
    def instance(self) -> str:
        """The public identity of this server."""
        return hashlib.sha256(self.token.encode()).hexdigest()


_own: Running | None = None  # what this process announced


def own_instance() -> str | None:
    """What this server says of itself; None before it announced itself."""
    return None if _own is None else _own.instance


def announce(url: str, port: int) -> Running:
    """Write down that this process serves the dashboard there."""
    global _own  # noqa: PLW0603 - a process serves one dashboard
    _own = running = Running(url, port, os.getpid(), secrets.token_hex(16))
    write_private(_path(), msgspec.json.encode(running))
    return running


def withdraw(running: Running) -> None:
    """Forget it, unless a later server stands there."""
    if _announced() == running:
        _path().unlink(missing_ok=True)


def find() -> Running | None:
    """The dashboard that was announced last, if it still answers."""
    running = _announced()
    if running is None or not running.url.startswith("http://"):
        return None
    # No proxy: the address is this machine's own.
    opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))
    try:
        with opener.open(f"{running.url}{_HEALTH}", timeout=_TIMEOUT_S) as answer:
            answer_json = json.load(answer)
    except (OSError, ValueError):
        return None
    is_same = isinstance(answer_json, dict) and answer_json.get("instance") == running.instance
    return running if is_same else None


def _announced() -> Running | None:
    try:
        return msgspec.json.decode(_path().read_bytes(), type=ready(Running))
    except (OSError, msgspec.MsgspecError):
        return None


def _path() -> Path:
    return home_directory() / _FILE

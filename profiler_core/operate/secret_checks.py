"""What is wrong in secrets.toml, where people sign in; its values are never shown."""

import stat
import tomllib
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from profiler_core.operate.addresses import is_loopback
from profiler_core.operate.fault import Fault
from profiler_core.operate.plan import Plan

_SHORTEST_SECRET = 32
_OF_PROVIDER = ("client_id", "client_secret", "server_metadata_url")
_CALLBACK = "/oauth2callback"
# What stands in deploy/secrets.toml for the values that only the owner knows.
_EXAMPLE_WORDS = ("64 random characters", "of the application", "of it, too", "accounts.example.")


def secret_faults(plan: Plan) -> Iterator[Fault]:
    """Everything that would keep people from signing in, or let others in."""
    path = plan.secrets
    sections = _document(path)
    if isinstance(sections, Fault):
        yield sections
        return
    mode = stat.S_IMODE(path.stat().st_mode)
    if mode & 0o077:
        yield Fault(str(path), "", f"mode {mode:04o}",
                    "Other users of this machine can read it, and sign in as anybody.",
                    f"chmod 600 {path}")  # fmt: skip
    auth = sections.get("auth")
    if not isinstance(auth, Mapping):
        yield Fault(str(path), "[auth]", "", "It is missing, so nobody can sign in.",
                    "Write it as deploy/secrets.toml does.")  # fmt: skip
        return
    for key in ("redirect_uri", "cookie_secret"):
        if not auth.get(key):
            yield _missing(path, f"auth.{key}")
    providers = {key: value for key, value in auth.items() if isinstance(value, Mapping)}
    for name, section in ({"": auth} | ({} if auth.get("client_id") else providers)).items():
        if name or not providers or auth.get("client_id"):
            yield from _of_provider(path, f"auth.{name}." if name else "auth.", section)
    yield from _of_cookie_secret(path, auth)
    yield from _of_redirect(plan, auth)


def name_in(path: Path) -> str:
    """The server's name by its redirect_uri; empty where there is none."""
    sections = _document(path)
    auth = {} if isinstance(sections, Fault) else sections.get("auth")
    uri = auth.get("redirect_uri") if isinstance(auth, Mapping) else None
    try:
        return urlsplit(str(uri or "")).hostname or ""
    except ValueError:
        return ""


def _document(path: Path) -> Mapping[str, Any] | Fault:
    try:
        return tomllib.loads(path.read_text("utf-8"))
    except FileNotFoundError:
        problem, remedy = "It is missing, so nobody can sign in.", (
            "Write it as deploy/secrets.toml is, or name it: --secrets FILE."
        )  # fmt: skip
    except OSError as error:
        problem = f"It cannot be read: {error.strerror}."
        remedy = "Make it readable to the user who runs the server, and to nobody else."
    except ValueError:  # which may repeat a secret
        problem, remedy = "It is no TOML.", "Write it as deploy/secrets.toml is."
    return Fault(str(path), "", "", problem, remedy)


def _of_provider(path: Path, prefix: str, section: Mapping[str, Any]) -> Iterator[Fault]:
    for key in _OF_PROVIDER:
        value = str(section.get(key) or "")
        if not value:
            yield _missing(path, prefix + key)
        elif value.startswith(_EXAMPLE_WORDS) or "//accounts.example." in value:
            yield Fault(str(path), prefix + key, repr(value), "That is the example's.",
                        "Write what your provider gave you.")  # fmt: skip
    url = str(section.get("server_metadata_url") or "https:")
    if not _is_secure(url):
        yield Fault(str(path), f"{prefix}server_metadata_url", repr(url),
                    "Whoever is on the way could answer for the provider.",
                    "Write its https:// address.")  # fmt: skip


def _of_cookie_secret(path: Path, auth: Mapping[str, Any]) -> Iterator[Fault]:
    secret = str(auth.get("cookie_secret") or "")
    is_example = secret.startswith(_EXAMPLE_WORDS)
    if secret and (len(secret) < _SHORTEST_SECRET or is_example):
        yield Fault(
            str(path), "auth.cookie_secret", f"({len(secret)} characters)",
            "That is the example's." if is_example else
            "It can be guessed, and whoever knows it signs in as anybody.",
            "Write 64 random characters: python -c 'import secrets; print(secrets.token_hex(32))'",
        )  # fmt: skip


def _of_redirect(plan: Plan, auth: Mapping[str, Any]) -> Iterator[Fault]:
    uri = str(auth.get("redirect_uri") or "")
    if not uri:
        return
    base = f"/{plan.base_path}" if plan.base_path else ""
    expected = f"https://{plan.name}{base}{_CALLBACK}"
    try:
        parts = urlsplit(uri)
        host = parts.hostname or ""
    except ValueError:
        parts, host = urlsplit(""), ""
    if host != plan.name.lower() or parts.path != base + _CALLBACK or not _is_secure(uri):
        yield Fault(
            str(plan.secrets), "auth.redirect_uri", repr(uri),
            f"It does not lead back to this server, which is {plan.name or 'without a name'}"
            f"{f' below {base}' if base else ''}.",
            f"Write {expected}, here and at the provider; or start it with another --name or "
            "--base-path.",
        )  # fmt: skip


def _is_secure(url: str) -> bool:
    """Can nobody on the way read what is sent there? False too where it is no address."""
    try:
        parts = urlsplit(url)
        host = parts.hostname or ""
    except ValueError:
        return False
    return parts.scheme == "https" or is_loopback(host)


def _missing(path: Path, key: str) -> Fault:
    return Fault(str(path), key, "", "It is missing.", "Write it as deploy/secrets.toml does.")

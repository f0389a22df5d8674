"""What no line of a log may hold: the server's secrets, and whatever in an address opens a door.

Two nets: the values that the settings, secrets.toml and the environment hold at this moment, and
forms by which secrets are known: passwords in URLs, values in query strings, tokens in headers.
"""

import os
import re
import threading
import time
import tomllib
from collections.abc import Iterator, Mapping
from pathlib import Path
from urllib.parse import unquote, urlsplit

from profiler_core.operate.plan import SECRETS
from profiler_core.settings import settings_file
from profiler_core.worker.environment import is_secret

HIDDEN = "***"

_SHORTEST = 6  # a shorter value would blot out ordinary words
_KEPT_S = 5.0
_FORMS = (
    # postgresql://user:password@host
    (re.compile(r"(?<=://)[^/\s@]*(?=@)"), HIDDEN),
    # ?token=…&X-Amz-Signature=…, of an address or alone
    (re.compile(r"([?&][\w.%\[\]-]+=)[^&\s\"'<>]+"), rf"\1{HIDDEN}"),
    (re.compile(r"\b(Bearer|Basic)\s+[\w.~+/=-]+", re.IGNORECASE), rf"\1 {HIDDEN}"),
    # JSON Web Tokens; looked for once in each word, which anybody can make as long as a message
    (
        re.compile(r"(?<![\w-])((?=[\w-]+\.[\w-])[\w-]*?)\beyJ[\w-]+\.[\w-]+(\.[\w-]*)?"),
        rf"\1{HIDDEN}",
    ),
    (
        re.compile(r"\b(fsc(?:_|%(?:25)*5F)[0-9a-f]{12})(_|%(?:25)*5F)[0-9a-f]+", re.IGNORECASE),
        rf"\1\2{HIDDEN}",
    ),  # API tokens, of an address too; the id may be told
    (re.compile(r"((?:set-)?cookie['\"]?\s*[:=]\s*)[^\r\n]+", re.IGNORECASE), rf"\1{HIDDEN}"),
)
_SECRET_KEYS = re.compile(r"secret|password|token|_url$|key", re.IGNORECASE)

_lock = threading.Lock()
_values: tuple[str, ...] = ()
_asked_s = float("-inf")
_secrets_files: tuple[Path, ...] = (SECRETS,)


def watch(*paths: Path) -> None:
    """The files by which people sign in here; Streamlit reads all of them, one over the other."""
    global _secrets_files  # noqa: PLW0603 - of this process
    _secrets_files = paths
    forget()


def without_secrets(text: str) -> str:
    """The text with each secret replaced by ***."""
    for value in _secret_values():
        text = text.replace(value, HIDDEN)
    for form, instead in _FORMS:
        text = form.sub(instead, text)
    return text


def forget() -> None:
    """Ask the settings and the environment anew with the next line."""
    global _asked_s  # noqa: PLW0603 - of this process
    _asked_s = float("-inf")


def _secret_values() -> tuple[str, ...]:
    global _values, _asked_s  # noqa: PLW0603 - of this process
    with _lock:
        if time.monotonic() - _asked_s >= _KEPT_S:
            _asked_s = time.monotonic()
            # What was a secret before a change of the file stays one.
            values = {*_values, *_in_environment(), *_in_files()}
            _values = tuple(sorted(filter(_is_long, values), key=len, reverse=True))
        return _values


def _is_long(value: str) -> bool:
    return len(value) >= _SHORTEST


def _in_environment() -> Iterator[str]:
    for name, value in os.environ.items():
        if is_secret(name, value):
            yield from _parts(name, value)


def _in_files() -> Iterator[str]:
    for path in (settings_file(), *_secrets_files):
        try:
            document = tomllib.loads(path.read_text("utf-8"))
        except (OSError, ValueError):
            continue
        for key, value in _words(document):
            if _SECRET_KEYS.search(key):
                yield from _parts(key, value)


def _words(table: Mapping[str, object]) -> Iterator[tuple[str, str]]:
    for key, value in table.items():
        if isinstance(value, Mapping):
            yield from _words(value)
        elif isinstance(value, str):
            yield key, value


def _parts(name: str, value: str) -> Iterator[str]:
    """The value; of a URL its password alone, since the rest may be told.

    Whoever has the address of a webhook may send to it: all behind the host is secret.
    """
    try:
        url = urlsplit(value)
        password, path = url.password, value.partition(url.netloc)[2] if url.netloc else value
    except ValueError:
        password, path = None, value
    if password:
        yield from {password, unquote(password)}
    elif "WEBHOOK" in name.upper():
        yield path
    elif "://" not in value:
        yield value

"""Signed tokens: what a page may ask our routes for, and until when.

A page that is allowed to show a trace signs "timeline" + the trace's cache folder and hands the
token to its component; the route believes the signature, nothing else. HMAC-SHA256 over the
claim. The key lies in the user's home with mode 0600, so that an open page survives a restart
of the server; deleting the file revokes every token.
"""

import base64
import binascii
import hashlib
import hmac
import json
import os
import secrets
import time
from functools import lru_cache
from pathlib import Path

from profiler_core.home import home_directory

LIFETIME_S = 12 * 3600.0  # a working day with a page open; the component renews it after that
_ROUNDING_S = 3600.0  # tokens of one hour are equal, so that a rerun does not change the page
_KEY_BYTES = 32


class BadTokenError(Exception):
    """The token is missing, forged, expired, or made for something else."""


def sign(
    scope: str,
    subject: str,
    *,
    holder: str = "",
    now_s: float | None = None,
    lifetime_s: float = LIFETIME_S,
) -> str:
    """A token that lets its holder do `scope` with `subject` for `lifetime_s` to + 1 h.

    Args:
        scope: what may be done.
        subject: with what.
        holder: the sign-in that it is for; empty where nobody signs in.
        now_s: seconds since the epoch; this moment by default.
        lifetime_s: in seconds.
    """
    now = time.time() if now_s is None else now_s
    expires = (now // _ROUNDING_S + 1) * _ROUNDING_S + lifetime_s
    claim = json.dumps([scope, subject, int(expires), holder], separators=(",", ":")).encode()
    return f"{_encode(claim)}.{_encode(_signature(claim))}"


def verify(token: str, scope: str, *, holder: str = "", now_s: float | None = None) -> str:
    """The subject of a token.

    Raises:
        BadTokenError: not ours, for another scope or sign-in, or too old. The text says which.
    """
    claim_text, _, signature_text = token.partition(".")
    try:
        claim, signature = _decode(claim_text), _decode(signature_text)
    except (binascii.Error, ValueError) as error:
        raise BadTokenError("The token is damaged.") from error
    if not hmac.compare_digest(signature, _signature(claim)):
        raise BadTokenError("The token was not signed by this server.")
    found_scope, subject, expires, *found_holder = json.loads(claim)
    if found_scope != scope:
        raise BadTokenError(f"The token is for {found_scope}, not for {scope}.")
    if found_holder != [holder]:
        raise BadTokenError("The token was made for another sign-in.")
    if (time.time() if now_s is None else now_s) > expires:
        raise BadTokenError("The token has expired.")
    return str(subject)


def key_fingerprint() -> str:
    """Tells the keys of two homes apart, and says nothing about them."""
    return _signature(b"fingerprint").hex()[:12]


def _signature(claim: bytes) -> bytes:
    return hmac.new(_key(str(home_directory())), claim, hashlib.sha256).digest()


@lru_cache(maxsize=4)
def _key(home: str) -> bytes:
    """The key of this home, made on first use."""
    path = Path(home) / "server.key"
    path.parent.mkdir(parents=True, exist_ok=True)
    # Written aside and linked: of two servers that start at once both read the same key.
    aside = path.with_name(f"{path.name}.{os.getpid()}.{secrets.token_hex(4)}")
    if not path.exists():
        descriptor = os.open(aside, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
        with os.fdopen(descriptor, "wb") as file:
            file.write(secrets.token_bytes(_KEY_BYTES))
        try:
            os.link(aside, path)
        except FileExistsError:
            pass  # the other server was first; its key is as good
        finally:
            aside.unlink()
    key = path.read_bytes()
    if len(key) != _KEY_BYTES:
        path.unlink()
        return _key.__wrapped__(home)
    return key


def _encode(data: bytes) -> str:
    return base64.urlsafe_b64encode(data).rstrip(b"=").decode()


def _decode(text: str) -> bytes:
    return base64.urlsafe_b64decode(text + "=" * (-len(text) % 4))

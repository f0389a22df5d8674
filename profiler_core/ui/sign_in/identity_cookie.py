"""The cookie in which Streamlit keeps who signed in, of one sign-in as a whole.

Claims that are too long for one cookie come in several, and each is signed by its name alone: a
piece of one sign-in would fit behind a piece of another, "verified" of one account before the
address of a second. So the cookie that counts the pieces is signed anew with their digest when
somebody comes back from the provider, and pieces that are not those are nobody's.
"""

import hashlib
import re
from collections.abc import Mapping

from starlette.requests import HTTPConnection
from starlette.types import Message, Send
from streamlit.auth_util import get_cookie_with_chunks
from streamlit.web.server.server_util import get_cookie_secret
from streamlit.web.server.starlette.starlette_app_utils import (
    create_signed_value,
    decode_signed_value,
)
from streamlit.web.server.starlette.starlette_server_config import USER_COOKIE_NAME

_COUNT = re.compile(rb"chunks-(\d+)")  # as Streamlit writes it; whatever follows it ignores
_SEALED = re.compile(rb"chunks-\d+-([0-9a-f]{64})")


def identity_in(cookies: Mapping[str, str]) -> bytes | None:
    """The claims as JSON; None: nobody signed in, or the cookies are not those of one sign-in."""
    claims = get_cookie_with_chunks(lambda name: _signed(cookies, name), USER_COOKIE_NAME)
    count = _signed(cookies, USER_COOKIE_NAME) or b""
    if claims is None or not _COUNT.match(count):
        return claims
    sealed = _SEALED.fullmatch(count)
    return claims if sealed and sealed[1] == _digest(claims) else None


def without_strange_pieces(connection: HTTPConnection) -> None:
    """Take all cookies from a request whose identity is not whole; Streamlit would believe it."""
    if USER_COOKIE_NAME in connection.cookies and identity_in(connection.cookies) is None:
        scope = connection.scope
        scope["headers"] = [header for header in scope["headers"] if header[0] != b"cookie"]


def sealing(send: Send) -> Send:
    """Sends on an answer that signs somebody in, with the digest of the pieces in their count."""

    async def sent(message: Message) -> None:
        if message["type"] == "http.response.start":
            message = {**message, "headers": _sealed(list(message["headers"]))}
        await send(message)

    return sent


def _sealed(headers: list[tuple[bytes, bytes]]) -> list[tuple[bytes, bytes]]:
    cookies: dict[str, str] = {}
    for name, text in headers:
        if name.lower() == b"set-cookie":
            cookie, _, value = text.partition(b";")[0].decode("latin-1").partition("=")
            cookies[cookie] = value
    count = _COUNT.fullmatch(_signed(cookies, USER_COOKIE_NAME) or b"")
    claims = get_cookie_with_chunks(lambda name: _signed(cookies, name), USER_COOKIE_NAME)
    if count is None or claims is None:
        return headers
    sealed = f"{count[0].decode()}-{_digest(claims).decode()}"
    new = create_signed_value(get_cookie_secret(), USER_COOKIE_NAME, sealed)
    old = f"{USER_COOKIE_NAME}={cookies[USER_COOKIE_NAME]}".encode("latin-1")
    return [
        (name, USER_COOKIE_NAME.encode() + b"=" + new + value.removeprefix(old))
        if name.lower() == b"set-cookie" and value.startswith(old)
        else (name, value)
        for name, value in headers
    ]


def _signed(cookies: Mapping[str, str], name: str) -> bytes | None:
    value = cookies.get(name)
    if value is None:
        return None
    return decode_signed_value(get_cookie_secret(), name, value.encode("latin-1", "replace"))


def _digest(claims: bytes) -> bytes:
    return hashlib.sha256(claims).hexdigest().encode()

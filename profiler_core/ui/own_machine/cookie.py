"""The cookie of a browser that was let in: signed with the key of this home.

It outlives the server, since the key does. Deleting `server.key` in the home and restarting ends
every browser's admission.
"""

import secrets

from starlette.requests import HTTPConnection
from starlette.responses import Response

from profiler_core.ui.routes.token import BadTokenError, key_fingerprint, sign, verify
from profiler_core.ui.server import base_path

_LIFETIME_S = 30 * 24 * 3600
_SCOPE = "browser"


def cookie_name() -> str:
    """One name for each home: browsers share cookies among all ports of a host."""
    return f"fusionscope_{key_fingerprint()}"


def new_cookie() -> str:
    """The value for one more browser."""
    return sign(_SCOPE, secrets.token_hex(8), lifetime_s=_LIFETIME_S)


def is_admitted(request: HTTPConnection) -> bool:
    """Does the request carry a cookie that this home signed, and that is not too old?"""
    value = request.cookies.get(cookie_name())
    if not value:
        return False
    try:
        verify(value, _SCOPE)
    except BadTokenError:
        return False
    return True


def admit(response: Response, *, over_tls: bool) -> None:
    """Let the browser in that gets this response."""
    response.set_cookie(
        cookie_name(),
        new_cookie(),
        max_age=_LIFETIME_S,
        path=f"{base_path()}/",
        secure=over_tls,
        httponly=True,
        # Not strict: a link in a mail or a terminal's page must open at once.
        samesite="lax",
    )

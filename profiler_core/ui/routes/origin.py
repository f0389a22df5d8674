"""Was a state-changing request made by our own page? Origin and Host must both say so.

Without it any web page that the user visits could post to the server on localhost, and a name
that is rebound to 127.0.0.1 could read the answer.
"""

from urllib.parse import urlsplit

from starlette.requests import HTTPConnection, Request
from streamlit import config

from profiler_core.operate.addresses import is_loopback

REFUSED_SOCKET = 1008  # before it is accepted: an answer of 403
_SAFE_METHODS = frozenset({"GET", "HEAD", "OPTIONS"})


def refusal(request: Request) -> str | None:
    """Why this request is refused, as a sentence; None where it may go on."""
    return None if request.method in _SAFE_METHODS else foreign(request)


def foreign(request: HTTPConnection, *, needs_origin: bool = True) -> str | None:
    """Why this request comes from another page than ours, as a sentence; None where it does not.

    Programs send no Origin, and need none where no cookie counts (`needs_origin`). The port counts:
    Streamlit itself compares names only, and on a machine with several users another port of
    localhost may be another user's page. So does TLS: whoever sits on the way can serve any name
    without it.
    """
    host = request.headers.get("host", "")
    if not _is_our_name(_host_name(host)):
        return f"This server does not answer to the host name {host!r}."
    origin = request.headers.get("origin")
    if origin is None:
        if not needs_origin:
            return None
        return "The request does not say which page it comes from (no Origin header)."
    if not _is_of(origin, host, over_tls=is_over_tls(request)):
        return f"The request comes from another page: {origin!r}."
    return None


def not_led_here(request: HTTPConnection) -> str | None:
    """Why a page of ours did not open this address in its window, as a sentence; None: it did.

    Of a GET that changes something, with which browsers send no Origin: Sec-Fetch-Site tells, which
    they send over TLS and to the machine itself, and elsewhere the Referer, which our own policy
    keeps on the way from our pages. A picture of ours is no click either.
    """
    host = request.headers.get("host", "")
    site, mode = (request.headers.get(f"sec-fetch-{name}") for name in ("site", "mode"))
    if site is None:
        referer = request.headers.get("referer", "")
        is_ours = _is_of(referer, host, over_tls=is_over_tls(request))
    else:
        is_ours = site == "same-origin" and mode in (None, "navigate")
    if _is_our_name(_host_name(host)) and is_ours:
        return None
    return "The request does not come from a page of this server."


def is_over_tls(request: HTTPConnection) -> bool:
    """Whether the browser came over TLS, to us or to a proxy that says so in X-Forwarded-Proto."""
    protocol = request.headers.get("x-forwarded-proto", "").split(",")[0].strip().lower()
    return protocol == "https" or request.scope.get("scheme") in ("https", "wss")


def _is_of(address: str, host: str, *, over_tls: bool) -> bool:
    """Whether this is an address of `host`, and over TLS one that is itself over TLS.

    A proxy that does not tell of its TLS leaves open which of the two is ours.
    """
    try:
        parts = urlsplit(address)
    except ValueError:  # a bracket without its other half
        return False
    schemes = ("https",) if over_tls else ("https", "http")
    return parts.scheme in schemes and parts.netloc.lower() == host.lower()


def _host_name(host: str) -> str:
    """`Host` without its port; brackets of an IPv6 address go too."""
    try:
        return (urlsplit(f"//{host}").hostname or "").lower()
    except ValueError:
        return ""


def _is_our_name(name: str) -> bool:
    """On a server bound to the local machine only its own names, and browser.serverAddress.

    A server that is bound to the network is known by names that it cannot list; there Origin
    and Host must merely agree.
    """
    address = config.get_option("server.address")
    named = config.get_option("browser.serverAddress")
    if is_loopback(name) or name in {address, named}:
        return True
    return bool(name) and (address is None or not is_loopback(address))

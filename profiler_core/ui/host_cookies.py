"""Cookies that this host alone can have set: over TLS each has the prefix `__Host-`.

A server of a sibling name (`wiki.example.org` beside `fusionscope.example.org`) may set cookies for
the whole domain, and could so sign a visitor in as its own account: what he uploads would be that
account's. Browsers take a cookie with the prefix only from the very host that it is sent to. So the
answer to a browser has the prefix, and of a request only cookies with it count; behind this module
they have their usual names. The one exception is read by scripts of Streamlit's client and signs
nobody in.

Below a base path the prefix would show the cookies to the other services of that name, since it
wants `Path=/`: there they keep their names.
"""

from collections.abc import Iterable

_PREFIX = b"__Host-"
_OF_SCRIPTS = b"_streamlit_xsrf"

Headers = Iterable[tuple[bytes, bytes]]


def with_prefix(name: bytes, value: bytes) -> tuple[bytes, bytes]:
    """A header of an answer over TLS: `Set-Cookie` as the prefix wants it, any other as it is.

    The prefix wants `Secure`, too, which every cookie over TLS has.
    """
    if name.lower() != b"set-cookie" or value.startswith((_OF_SCRIPTS + b"=", _PREFIX)):
        return name, value
    cookie, *attributes = (part.strip() for part in value.split(b";"))
    kept = [
        part
        for part in attributes
        if part.partition(b"=")[0].strip().lower() not in (b"path", b"domain")
    ]
    return name, b"; ".join([_PREFIX + cookie, *kept, b"Path=/"])


def without_prefix(headers: Headers, *, over_tls: bool) -> list[tuple[bytes, bytes]]:
    """The headers of a request, its cookies under their usual names.

    Over TLS those without the prefix are left out. Where a proxy does not say that the browser came
    over TLS, as some forget for websockets, they are left out beside a prefixed one of that name.
    """
    others = [header for header in headers if header[0].lower() != b"cookie"]
    pairs = [
        pair.strip()
        for name, value in headers
        if name.lower() == b"cookie"
        for pair in value.split(b";")
        if pair.strip()
    ]
    own = [pair.removeprefix(_PREFIX) for pair in pairs if pair.startswith(_PREFIX)]
    names = {_name(pair) for pair in own}
    usual = [
        pair
        for pair in pairs
        if not pair.startswith(_PREFIX)
        and (_name(pair) == _OF_SCRIPTS or not (over_tls or _name(pair) in names))
    ]
    cookies = [*usual, *(pair for pair in own if _name(pair) != _OF_SCRIPTS)]
    return [*others, (b"cookie", b"; ".join(cookies))] if cookies else others


def _name(pair: bytes) -> bytes:
    return pair.partition(b"=")[0].strip()

"""A team's server as the command line asks it: by an API token of the environment, over TLS.

The token never stands on a command line, where every user of the machine could read it. It goes to
the named server only: no redirect is followed, and without TLS only to this machine itself.
"""

import http.client
import json
import os
import ssl
import urllib.error
import urllib.request
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import IO, Any, Self, TypeVar
from urllib.parse import urlencode, urlsplit

import msgspec

from profiler_core.answers.record import Answer
from profiler_core.errors import BadInput, FusionscopeError
from profiler_core.operate.addresses import is_loopback
from profiler_core.operate.channels import NoRedirect
from profiler_core.terminal_text import printable
from profiler_core.typed import ready

SERVER, TOKEN = "FUSIONSCOPE_SERVER", "FUSIONSCOPE_TOKEN"
_WITHIN_S = 1800.0  # the server may read a large trace before it answers
_LONGEST_SENTENCE = 500
_MOST_JSON_BYTES = 256_000_000
_BLOCK_BYTES = 1 << 20

_A = TypeVar("_A", bound=Answer)


class ServerRefused(BadInput):
    """The server cannot be asked, or says no."""


@dataclass(frozen=True)
class TeamServer:
    """Where to ask, and with which token."""

    url: str  # without a slash at its end
    _token: str = field(repr=False)

    @classmethod
    def of(cls, url: str | None) -> Self:
        """The server of this URL, else of FUSIONSCOPE_SERVER.

        Raises:
            BadInput: no server or no token is named, or one of them cannot be used.
        """
        named = url or os.environ.get(SERVER, "")
        if not named:
            raise BadInput(
                "No server is named.", remedy=f"Pass --server https://NAME, or set {SERVER}."
            )
        token = os.environ.get(TOKEN, "").strip()
        if not token:
            raise BadInput(
                f"{TOKEN} is not set.",
                remedy="Make a token on the server's page API tokens, and set it from where "
                "secrets are kept.",
            )
        if not (token.isascii() and token.isprintable() and " " not in token):
            raise BadInput(f"{TOKEN} holds no token.", remedy="Copy it again: it begins with fsc_.")
        return cls(_checked(named), token)

    def get(self, path: str, kind: type[_A], query: Mapping[str, Any] | None = None) -> _A:
        """What a route answers.

        Raises:
            ServerRefused: the server cannot be reached, or says no.
        """
        return self._answer("GET", path, kind, query=query)

    def send(self, method: str, path: str, kind: type[_A], wish: Mapping[str, Any]) -> _A:
        """What a route answers to a wish. As `get`."""
        body = json.dumps(wish).encode()
        return self._answer(method, path, kind, body=body, media_type="application/json")

    def send_file(self, path: str, kind: type[_A], file: Path, name: str) -> _A:
        """What a route answers to a file. As `get`."""
        try:
            with file.open("rb") as source:
                return self._answer(
                    "POST", path, kind, query={"name": name}, body=source,
                    media_type="application/octet-stream", n_bytes=file.stat().st_size,
                )  # fmt: skip
        except OSError as error:
            raise BadInput(
                f"{file} cannot be read: {error.strerror}.", remedy="Check the path and its rights."
            ) from error

    def fetch(self, path: str, query: Mapping[str, Any], sink: IO[bytes]) -> None:
        """Write what a route answers into a file. As `get`."""
        with self._opened("GET", path, query=query) as reply:
            if reply.headers.get_content_type() != "application/zip":
                raise self._no_answer_of_ours()
            try:
                while block := reply.read(_BLOCK_BYTES):
                    sink.write(block)
            except (http.client.HTTPException, TimeoutError, ConnectionError) as error:
                raise self._unreachable(error) from error

    def _answer(self, method: str, path: str, kind: type[_A], **sent: Any) -> _A:
        with self._opened(method, path, **sent) as reply:
            try:
                body = reply.read(_MOST_JSON_BYTES)
            except (http.client.HTTPException, OSError) as error:
                raise self._unreachable(error) from error
        try:
            return msgspec.json.decode(body, type=ready(kind))
        except (msgspec.MsgspecError, RecursionError) as error:
            raise self._no_answer_of_ours() from error

    def _opened(
        self, method: str, path: str, *, query: Mapping[str, Any] | None = None,
        body: bytes | IO[bytes] | None = None, media_type: str = "", n_bytes: int | None = None,
    ) -> Any:  # fmt: skip
        asked = f"?{urlencode(query, doseq=True)}" if query else ""
        request = urllib.request.Request(f"{self.url}{path}{asked}", body, method=method)  # noqa: S310
        # Not a header that urllib would hand on, to a proxy say.
        request.add_unredirected_header("Authorization", f"Bearer {self._token}")
        request.add_header("Accept", "application/json")
        if media_type:
            request.add_header("Content-Type", media_type)
        if n_bytes is not None:
            request.add_header("Content-Length", str(n_bytes))
        try:
            return _opener(self.url).open(request, timeout=_WITHIN_S)
        except urllib.error.HTTPError as error:
            with error:
                raise self._refusal(error) from error
        except (urllib.error.URLError, http.client.HTTPException, OSError) as error:
            raise self._unreachable(getattr(error, "reason", None) or error) from error

    def _refusal(self, error: urllib.error.HTTPError) -> FusionscopeError:
        if 300 <= error.code < 400:
            to = _shown(error.headers.get("Location", "elsewhere"))
            return ServerRefused(
                f"{self.url} leads on to {to}; the token is sent to no other address.",
                remedy="Pass the address of the server itself.",
            )
        problem, remedy = _sentences(error)
        usual = {
            401: "Make a token on the server's page API tokens.",
            403: "Ask whoever runs the server.",
            413: "Push less at once, or ask for more room.",
        }
        own = {
            401: "the token is not taken",
            403: "the token may not do this",
            413: "the file is larger than what the server or its proxy takes",
        }
        problem_text = problem or f"{own.get(error.code, 'no answer of ours')}."
        return ServerRefused(
            f"{self.url} refuses ({error.code}): {problem_text}",
            remedy=remedy or usual.get(error.code, "Check the address, and the server's log."),
        )

    def _unreachable(self, reason: object) -> FusionscopeError:
        if isinstance(reason, ssl.SSLCertVerificationError):
            return ServerRefused(
                f"The certificate of {self.url} cannot be verified: {reason.verify_message}.",
                remedy="Name the authority that signed it in SSL_CERT_FILE.",
            )
        if isinstance(reason, ssl.SSLError):
            return ServerRefused(
                f"{self.url} speaks no TLS that is understood: {reason.reason or reason}.",
                remedy="Check the address and the port.",
            )
        why = getattr(reason, "strerror", None) or reason or type(reason).__name__
        return ServerRefused(
            f"{self.url} cannot be reached: {_shown(str(why))}.",
            remedy="Check the address, and that the server runs.",
        )

    def _no_answer_of_ours(self) -> FusionscopeError:
        return ServerRefused(
            f"{self.url} gave no answer of this version of Fusionscope.",
            remedy="Check the address; let both sides be of one version.",
        )


def _checked(url: str) -> str:
    """The URL, if a token may be sent there.

    Raises:
        BadInput: it may not.
    """
    try:
        parts = urlsplit(url)
        host, _ = parts.hostname, parts.port  # a port that is no number raises
    except ValueError:
        parts, host = urlsplit(""), None
    if parts.scheme not in ("http", "https") or not host or parts.query or parts.fragment:
        raise BadInput(
            f"{url[:200]!r} is no address of a server.", remedy="Write it as https://NAME."
        )
    if parts.username is not None or parts.password is not None:
        raise BadInput(
            "The server's address holds a user or a password.",
            remedy=f"Write it as https://NAME, and set {TOKEN}.",
        )
    if parts.scheme == "http" and not is_loopback(host):
        raise BadInput(
            f"{url[:200]} is without TLS: whoever is in between could read the token.",
            remedy="Use https://.",
        )
    return url.rstrip("/")


class _Answering:
    """A server may refuse a large file and hang up before all of it is sent: its answer counts."""

    def request(self, *sent: Any, **options: Any) -> None:
        try:
            super().request(*sent, **options)  # type: ignore[misc]  # of the connection beside it
        except (BrokenPipeError, ConnectionResetError):
            if getattr(self, "sock", None) is None:
                raise


class _Plain(_Answering, http.client.HTTPConnection):
    pass


class _Tls(_Answering, http.client.HTTPSConnection):
    pass


class _PlainHandler(urllib.request.HTTPHandler):
    def http_open(self, request: urllib.request.Request) -> http.client.HTTPResponse:
        return self.do_open(_Plain, request)


class _TlsHandler(urllib.request.HTTPSHandler):
    def https_open(self, request: urllib.request.Request) -> http.client.HTTPResponse:
        tls = partial(_Tls, context=ssl.create_default_context())
        return self.do_open(tls, request)


def _opener(url: str) -> urllib.request.OpenerDirector:
    # Without TLS nothing in between may see the token, a proxy of the environment included.
    proxies = urllib.request.ProxyHandler({} if url.startswith("http:") else None)
    return urllib.request.build_opener(proxies, NoRedirect, _PlainHandler, _TlsHandler)


def _sentences(error: urllib.error.HTTPError) -> tuple[str, str]:
    """Problem and remedy as our routes say them; empty where somebody else answers."""
    try:
        answer = json.loads(error.read(64_000))
        return _shown(answer["problem"]), _shown(answer["remedy"])
    except (OSError, ValueError, KeyError, TypeError, RecursionError, http.client.HTTPException):
        return "", ""


def _shown(text: object) -> str:
    """What a server said, as a terminal may show it."""
    return " ".join(printable(str(text)).split())[:_LONGEST_SENTENCE]

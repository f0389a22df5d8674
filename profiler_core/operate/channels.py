"""The ways in which people are told of a regression: a webhook, and mail.

Both lead only to where settings.toml says: nothing that a person sends to the server, and nothing
that a run holds, chooses an address. No redirect is followed, and what the other side answers is
neither kept nor shown. Whatever goes wrong becomes a sentence without the address of the webhook,
which is a secret.
"""

import http.client
import json
import smtplib
import ssl
import urllib.error
import urllib.request
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from email.message import EmailMessage
from typing import Any, Protocol
from urllib.parse import urlsplit

from profiler_core.errors import BadInput, FusionscopeError
from profiler_core.operate.addresses import is_loopback
from profiler_core.settings import Settings

_WITHIN_S = 20.0
_PORTS = {"smtp": 587, "smtps": 465}


class NotTold(FusionscopeError):
    """The other side cannot be reached, or refuses."""


@dataclass(frozen=True)
class Message:
    """What is told, as the same text for every channel."""

    message_id: str  # the same with each try, so that the other side can tell a second one
    subject: str
    text: str
    facts: Mapping[str, Any]  # for machines


class Channel(Protocol):
    """One way to tell."""

    def send(self, message: Message) -> None:
        """Tell it.

        Raises:
            NotTold: it did not arrive.
        """


@dataclass(frozen=True)
class Webhook:
    """A POST of JSON; `text` is what Slack, Mattermost and Teams show."""

    url: str

    def send(self, message: Message) -> None:
        """As `Channel`."""
        # Slack reads <!channel> and <http://…|words> in a text, Mattermost and Teams @all and
        # [words](http://…); a workload may be called so. A space without width breaks these.
        text = message.text.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")
        text = text.replace("@", "@\u200b").replace("](", "]\u200b(")
        body = json.dumps({"text": text, **message.facts}).encode()
        request = urllib.request.Request(self.url, body, method="POST")  # noqa: S310 - checked
        request.add_header("Content-Type", "application/json")
        request.add_header("Idempotency-Key", message.message_id)
        try:
            with _OPENER.open(request, timeout=_WITHIN_S):
                pass
        except urllib.error.HTTPError as error:
            with error:
                raise _not_told(f"The webhook answers {error.code}.") from None
        except (OSError, http.client.HTTPException, ValueError) as error:
            reason = getattr(error, "reason", error)
            why = getattr(reason, "strerror", None) or type(reason).__name__
            raise _not_told(f"The webhook cannot be reached: {why}.") from None


@dataclass(frozen=True)
class Mail:
    """One mail to all; with STARTTLS, or TLS from the start."""

    host: str
    port: int
    is_tls: bool
    sender: str
    receivers: tuple[str, ...]
    user: str | None
    password: str | None

    def send(self, message: Message) -> None:
        """As `Channel`."""
        mail = EmailMessage()
        mail["Subject"] = " ".join(message.subject.split())[:200]
        mail["From"] = self.sender
        mail["To"] = ", ".join(self.receivers)
        mail["Message-ID"] = f"<{message.message_id}@fusionscope.invalid>"
        mail["Auto-Submitted"] = "auto-generated"
        mail.set_content(message.text)
        try:
            with self._connected() as server:
                server.send_message(mail)
        except (OSError, smtplib.SMTPException) as error:
            code = getattr(error, "smtp_code", None)
            why = f"it answers {code}" if code else getattr(error, "strerror", None)
            raise _not_told(
                f"The mail server {self.host} refuses: {why or type(error).__name__}."
            ) from None

    def _connected(self) -> smtplib.SMTP:
        context = ssl.create_default_context()
        if self.is_tls:
            server: smtplib.SMTP = smtplib.SMTP_SSL(
                self.host, self.port, timeout=_WITHIN_S, context=context
            )
        else:
            server = smtplib.SMTP(self.host, self.port, timeout=_WITHIN_S)
        try:
            if not self.is_tls and not is_loopback(self.host):
                server.starttls(context=context)
            if self.user and self.password:
                server.login(self.user, self.password)
        except BaseException:
            server.close()
            raise
        return server


def webhook_of(settings: Settings) -> Webhook | None:
    """The webhook; None: there is none.

    Raises:
        BadInput: it is no address that may be sent to.
    """
    if settings.webhook_url is None:
        return None
    try:
        url = urlsplit(settings.webhook_url)
        host, _ = url.hostname, url.port  # a port that is no number raises
    except ValueError:
        url, host = urlsplit(""), None
    is_safe = url.scheme == "https" or (url.scheme == "http" and is_loopback(host or ""))
    if not host or not is_safe or url.username is not None or not settings.webhook_url.isascii():
        raise BadInput(
            "webhook_url is no address to send to.",
            remedy="Write it as https://HOST/…; http:// is for this machine alone.",
        )
    return Webhook(settings.webhook_url)


def mail_of(settings: Settings) -> Mail | None:
    """How mails go out; None: they do not.

    Raises:
        BadInput: a part is missing, or is none.
    """
    if settings.mail_server is None:
        return None
    named = settings.mail_server
    try:
        url = urlsplit(named if "://" in named else f"smtp://{named}")
        host, port = url.hostname, url.port
    except ValueError:
        url, host, port = urlsplit(""), None, None
    if not host or url.scheme not in _PORTS or url.path or url.username is not None:
        raise BadInput(
            f"mail_server is {named[:80]!r}.",
            remedy="Write HOST:PORT, or smtps://HOST for TLS from the start.",
        )
    addresses = (settings.mail_from, *settings.mail_to)
    if len(addresses) < 2 or not all(map(_is_address, addresses)):
        raise BadInput(
            "mail_from or mail_to holds no address.",
            remedy='Write mail_from = "a@example.org" and mail_to = ["b@example.org"].',
        )
    return Mail(
        host, port or _PORTS[url.scheme], url.scheme == "smtps", settings.mail_from,
        settings.mail_to, settings.mail_user, settings.mail_password,
    )  # fmt: skip


def channel_faults(settings: Settings) -> Iterator[tuple[str, BadInput]]:
    """(key, what is wrong) of the settings that say where regressions are told."""
    for key, made_of in (("webhook_url", webhook_of), ("mail_server", mail_of)):
        try:
            made_of(settings)
        except BadInput as error:
            yield key, error


def _is_address(text: str) -> bool:
    name, at, host = text.partition("@")
    return bool(name and at and host) and text.isascii() and not set(text) & set(" ,;<>\r\n\t")


def _not_told(problem: str) -> NotTold:
    return NotTold(problem, remedy="It is tried again; check settings.toml where it stays so.")


class NoRedirect(urllib.request.HTTPRedirectHandler):
    """Of requests that are meant for one address."""

    def redirect_request(self, *_: Any) -> None:
        """Follow none: it becomes an HTTPError."""


_OPENER = urllib.request.build_opener(NoRedirect)

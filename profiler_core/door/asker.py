"""Who asks for a process, and why that person may not start a capture."""

from collections.abc import Callable, Collection, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass

from profiler_core.errors import FusionscopeError
from profiler_core.settings import FILE, settings

AGENT = "agent"  # the owner of captures that were asked for over MCP


class Refused(FusionscopeError):
    """This person may not do that here."""


@dataclass(frozen=True)
class Asker:
    """A person, with the rights of this moment.

    person: as the audit writes it. role: on a server where people sign in. deeds: what the role
    allows (`ui/sign_in/roles.py`). is_own_machine: nobody else can reach the server, and nobody
    signs in. signed_in: the person is known by a sign-in. is_agent: asked over MCP. token: the id
    of the API token by which this person asks.
    """

    person: str
    deeds: Collection[str] = ()
    role: str | None = None
    is_own_machine: bool = False
    signed_in: bool = False
    is_agent: bool = False
    token: str | None = None


_current: ContextVar[Asker | None] = ContextVar("asker", default=None)
_anew: ContextVar[Callable[[], Asker] | None] = ContextVar("asker, asked anew", default=None)


@contextmanager
def asking(asker: Asker, anew: Callable[[], Asker] | None = None) -> Iterator[None]:
    """In the block, and in what it waits for, this person asks.

    Args:
        asker: with the rights of this moment.
        anew: the same with those of the moment of the call, for what waits before it is done;
            raises `Refused` where there are none any more. None: they do not change.
    """
    before, before_anew = _current.set(asker), _anew.set(anew)
    try:
        yield
    finally:
        _current.reset(before)
        _anew.reset(before_anew)


def current_asker() -> Asker | None:
    """Who asks, where `asking` says so; the rights are of when it began."""
    return _current.get()


def asker_now() -> Asker | None:
    """The same with the rights of this moment; may wait for the database.

    Raises:
        Refused: there are none any more.
    """
    anew = _anew.get()
    return _current.get() if anew is None else anew()


def why_no_capture(asker: Asker | None) -> str | None:
    """The sentence that says why not; None where captures may be started.

    Args:
        asker: None where signing in is needed and nobody did.

    Raises:
        BadInput: settings.toml cannot be used.
    """
    if asker is None:
        return "Captures run code on this server: sign in first."
    if asker.is_own_machine:
        return None
    if not settings().allow_capture:
        return (
            "Other machines can reach this server, and a capture runs code on it, so captures "
            f"are switched off here. Whoever runs the server can set allow_capture in {FILE}."
        )
    if not asker.signed_in:
        return (
            "Captures run code on this server, and it does not know who you are: whoever runs it "
            f"can let people sign in, with [team] in {FILE}."
        )
    if "capture" not in asker.deeds:
        return (
            f"Your role here is {asker.role or 'none'}: you may look. Captures run code on this "
            "server; whoever runs it can make you a runner."
        )
    return None


def check_may_capture(asker: Asker | None) -> Asker:
    """The asker, who may capture.

    Raises:
        Refused: this person may not.
    """
    refusal = why_no_capture(asker)
    if refusal is not None or asker is None:
        raise Refused(refusal or "", remedy="Look at the runs that are here.")
    return asker


def may_look_at_files(asker: Asker | None) -> bool:
    """Whether a file whose path this person types may be looked at here, to say what is wrong.

    Who runs code as this user of the system reads it anyway; nobody else learns what lies there.

    Raises:
        BadInput: settings.toml cannot be used.
    """
    if asker is None or why_no_capture(asker) is not None:
        return False
    return asker.is_own_machine or settings().runner_user is None

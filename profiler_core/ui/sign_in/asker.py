"""The visitor as the door knows a person."""

from profiler_core.door.asker import Asker
from profiler_core.ui.server import is_local_server
from profiler_core.ui.sign_in.by_token import role_now
from profiler_core.ui.sign_in.roles import ALLOWED
from profiler_core.ui.sign_in.visitor import Visitor, visitor


def asker() -> Asker | None:
    """Who visits, with the rights of this moment; None: signing in is needed, and nobody did.

    Raises:
        BadInput: settings.toml cannot be used.
    """
    who = visitor()
    return None if who is None else asker_of(who)


def asker_of(who: Visitor) -> Asker:
    """The same person, as the door asks for it."""
    return Asker(
        who.person,
        who.deeds,
        role=who.role,
        is_own_machine=is_local_server(),
        signed_in=bool(who.holder),
        token=who.token,
    )


def asker_of_account(person: str) -> Asker:
    """Somebody who does not ask just now, with the rights of this moment.

    By the rules of the settings, and what the last sign-in here told; without one, by the rules
    for this very account alone.

    Raises:
        BadInput: settings.toml cannot be used.
        HistoryUnavailable: the database cannot be read.
    """
    # Late: a server starts without the database.
    from profiler_core.store.history.people import KnownPerson, known_person

    known = known_person(person) or KnownPerson(person, "", "", "", "", ())
    role = role_now(known)
    deeds = ALLOWED[role] if role else frozenset()
    return Asker(person, deeds, role=role, is_own_machine=is_local_server(), signed_in=True)

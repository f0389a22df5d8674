"""The visitor as the door knows a person."""

from profiler_core.door.asker import Asker
from profiler_core.ui.server import is_local_server
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
    )

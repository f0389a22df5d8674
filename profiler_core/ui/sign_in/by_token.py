"""Whom an API token stands for, and what it may do: never more than its person may now.

The role comes from the same rules as with a sign-in (`roles.py`), asked anew for each request. A
token brings no claims of its own, so the verified address and the groups of the person's last
sign-in count; the account itself never changes.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from profiler_core.settings import Team, settings
from profiler_core.store.history.api_tokens import ApiToken
from profiler_core.store.history.people import KnownPerson, known_person
from profiler_core.ui.sign_in.roles import ALLOWED, Deed, Role, role_of
from profiler_core.ui.sign_in.visitor import Account, Visitor


@dataclass(frozen=True)
class Scope:
    """What the maker of a token may let it do."""

    deeds: frozenset[Deed]  # of these, what the role allows
    means: str  # to be shown


SCOPES: Mapping[str, Scope] = {
    "read": Scope(frozenset(("look",)), "list and download runs, ask over MCP"),
    "upload": Scope(frozenset(("upload",)), "push runs"),
    "gate": Scope(frozenset(("look", "mark")), "judge runs, and set baselines as a runner"),
    "capture": Scope(frozenset(("capture",)), "start captures over MCP, which run code"),
}


def scopes_for(who: Visitor) -> tuple[str, ...]:
    """Those of which this person may do anything now, by name."""
    rights = set(who.deeds)
    if not settings().allow_capture:
        rights.discard("capture")
    return tuple(name for name, scope in SCOPES.items() if scope.deeds & rights)


def visitor_by_token(token: ApiToken) -> Visitor | None:
    """The token's person, with the rights that both have; None: nobody here knows the account.

    Raises:
        BadInput: settings.toml cannot be used.
        HistoryUnavailable: the database cannot be read.
    """
    person = known_person(token.person)
    if person is None:
        return None
    role = role_now(person)
    of_scopes = {deed for name in token.scopes if name in SCOPES for deed in SCOPES[name].deeds}
    return Visitor(
        person.person,
        person.name,
        role,
        frozenset(ALLOWED[role] & of_scopes if role else ()),
        token.subject,
        Account(person.issuer, person.subject, person.address, person.name, person.groups),
        token.token_id,
    )


def role_now(person: KnownPerson) -> Role | None:
    """By the rules of this moment, and by what the last sign-in told.

    Raises:
        BadInput: settings.toml cannot be used.
    """
    team = settings().team
    return role_of(_claims(person, team), person.person, team)


def _claims(person: KnownPerson, team: Team | None) -> Mapping[str, Any]:
    """As the provider would say it now, as far as the last sign-in told it."""
    claims: dict[str, Any] = {"email": person.address, "email_verified": bool(person.address)}
    if team is not None:
        claims[team.groups_claim] = person.groups
    return claims

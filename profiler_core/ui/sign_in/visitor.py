"""Who visits: of a script run (`visitor`) and of a plain HTTP request (`visitor_of`).

Both read the identity cookie that Streamlit signed when the OpenID provider had answered; both
ask the settings anew, so that a role that is taken away is gone with the next click.
"""

import hashlib
import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any

import streamlit as st
from starlette.requests import Request

from profiler_core.person import account, is_account, shown_name, system_user
from profiler_core.settings import settings
from profiler_core.ui.server import is_local_server
from profiler_core.ui.sign_in.ended import has_ended
from profiler_core.ui.sign_in.identity_cookie import identity_in
from profiler_core.ui.sign_in.needed import is_needed
from profiler_core.ui.sign_in.roles import (
    ALLOWED,
    STRANGER,
    Deed,
    Role,
    groups_of,
    role_of,
    verified_address,
)

_LONGEST = 200  # characters of a name


@dataclass(frozen=True)
class Account:
    """What the provider says of a person."""

    issuer: str
    subject: str
    address: str  # empty where the provider has not verified it; lower case
    name: str
    groups: tuple[str, ...] = ()


@dataclass(frozen=True)
class Visitor:
    """A person that this server knows, and what that person may do."""

    person: str  # as the history and the audit write it
    name: str  # as the person calls themselves; shown, never compared
    role: Role | None  # None: nobody has a role here, or this person has none
    deeds: frozenset[Deed]
    holder: str = ""  # tokens are made for it; empty where nobody signs in
    account: Account | None = None  # None where nobody signs in
    token: str | None = None  # the id of the API token that asks for this person

    def may(self, deed: Deed) -> bool:
        """Is this allowed?"""
        return deed in self.deeds

    @property
    def shown_name(self) -> str:
        """What others see under this person's deeds."""
        if self.account is None:
            return self.person
        return shown_name(self.account.name, self.account.address, self.account.subject)

    def is_person(self, person: str | None) -> bool:
        """Did this person do what is recorded under `person`?

        Records of versions that wrote addresses belong to who holds the address, verified.
        """
        if not self.holder or not person:
            return False
        if is_account(person):
            return person == self.person
        return self.account is not None and person.lower() == self.account.address

    def may_remove(self, person: str | None, needs: Deed) -> bool:
        """What is recorded under `person`: one's own with this right, all as an admin."""
        return self.may("delete") or (self.may(needs) and self.is_person(person))


def visitor() -> Visitor | None:
    """Of this script run; None: signing in is needed, and nobody did.

    Raises:
        BadInput: settings.toml cannot be used.
    """
    return visitor_later()()


def visitor_later() -> Callable[[], Visitor | None]:
    """Asks who this script run's visitor is at any later moment, in any thread; as `visitor`.

    For what is made after the script run has ended: the role may have changed by then.
    """
    is_signed_in = is_needed() and getattr(st.user, "is_logged_in", False)
    claims = {**st.user.to_dict(), "is_logged_in": True} if is_signed_in else {}
    return partial(_who_is, claims)


def visitor_of(request: Request) -> Visitor | None:
    """Of a request beside Streamlit; as `visitor`.

    Raises:
        BadInput: settings.toml cannot be used.
    """
    return _who_is(_claims_in_cookie(request) if is_needed() else {})


def _who_is(claims: Mapping[str, Any]) -> Visitor | None:
    """Whoever the settings of this moment let in with these claims; {}: of nobody."""
    if not is_needed():
        return _somebody()
    return _signed_in(claims) if claims.get("is_logged_in") is True else None


def _somebody() -> Visitor:
    deeds = ALLOWED["admin"] if is_local_server() else STRANGER
    who = system_user()
    return Visitor(who, who, None, deeds)


def _signed_in(claims: Mapping[str, Any]) -> Visitor | None:
    holder = _holder(claims)
    issuer, subject = str(claims.get("iss") or ""), str(claims.get("sub") or "")
    if not issuer or not subject or has_ended(holder):
        return None
    team = settings().team
    person = account(issuer, subject)
    role = role_of(claims, person, team)
    address = verified_address(claims, team)[:_LONGEST]
    name = str(claims.get("name") or address or subject)[:_LONGEST]
    deeds = ALLOWED[role] if role else frozenset()
    groups = groups_of(claims, team)
    signed_in = Account(issuer, subject, address, name, groups)
    return Visitor(person, name, role, deeds, holder, signed_in)


def _holder(claims: Mapping[str, Any]) -> str:
    """Names one sign-in: the same person in another browser, or tomorrow, is another."""
    parts = [str(claims.get(name)) for name in ("iss", "sub", "iat", "nonce", "at_hash")]
    return hashlib.sha256(json.dumps(parts).encode()).hexdigest()[:32]


def _claims_in_cookie(request: Request) -> Mapping[str, Any]:
    """What Streamlit's identity cookie says; empty where it is missing, forged or too old."""
    cookie = identity_in(request.cookies)
    try:
        claims = json.loads(cookie) if cookie else {}
    except ValueError:
        return {}
    return claims if isinstance(claims, dict) else {}

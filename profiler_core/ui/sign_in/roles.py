"""From the claims of a sign-in to a role, and from a role to what it may do.

Rules are words in settings.toml: an e-mail address, a pattern of it (`*@example.org`),
`group:NAME` for a member of a group that the provider names in a claim, or one account
(`oidc:ISSUER#SUBJECT`, as the audit writes it). Only a verified address counts.
"""

from collections.abc import Collection, Iterable, Mapping
from fnmatch import fnmatchcase
from typing import Any, Literal

from profiler_core.person import is_account
from profiler_core.settings import Team

Role = Literal["viewer", "runner", "admin"]
Deed = Literal["look", "review", "mark", "upload", "capture", "delete", "audit"]

_VIEWER: frozenset[Deed] = frozenset(("look", "review"))
_RUNNER: frozenset[Deed] = _VIEWER | {"mark", "upload", "capture"}
ALLOWED: Mapping[Role, frozenset[Deed]] = {
    "viewer": _VIEWER,
    "runner": _RUNNER,
    "admin": _RUNNER | {"delete", "audit"},  # of what others made, too
}
# On a server that others can reach but where nobody signs in. Nothing that runs code or deletes.
STRANGER: frozenset[Deed] = frozenset(("look", "review", "mark", "upload"))
_GROUP = "group:"


def role_of(claims: Mapping[str, Any], person: str, team: Team | None) -> Role | None:
    """The highest role that a rule gives; None: this person has none here.

    Args:
        claims: of the identity token.
        person: the account (`person.account`).
        team: the rules.
    """
    if team is None:
        return None
    address = verified_address(claims, team)
    groups = groups_of(claims, team)
    by_role: tuple[tuple[Role, tuple[str, ...]], ...] = (
        ("admin", team.admins),
        ("runner", team.runners),
        ("viewer", team.viewers),
    )
    for role, rules in by_role:
        if person in rules or any(_matches(rule, address, groups) for rule in rules):
            return role
    return None


def _matches(rule: str, address: str, groups: Collection[str]) -> bool:
    if rule.startswith(_GROUP):
        return rule.removeprefix(_GROUP) in groups
    if is_account(rule):
        return False  # of an address that is written like an account
    return bool(address) and fnmatchcase(address, rule.lower())


def verified_address(claims: Mapping[str, Any], team: Team | None) -> str:
    """The address in lower case; empty unless the provider says that it was verified.

    `email_verified` is optional in OpenID Connect, and some providers write it as a text. Where
    it is missing the address may be one that anybody typed into a profile, unless the settings
    say that this provider's addresses are trustworthy (`trust_addresses`).
    """
    missing = "true" if team is not None and team.trust_addresses else "false"
    if str(claims.get("email_verified", missing)).lower() != "true":
        return ""
    return _lower(str(claims.get("email") or ""))


def _lower(address: str) -> str:
    """In lower case, but never another address: the sign of kelvin would become a plain k."""
    letters = ((letter, letter.lower()) for letter in address)
    return "".join(
        small if letter.isascii() or not small.isascii() else letter for letter, small in letters
    )


def groups_of(claims: Mapping[str, Any], team: Team | None) -> tuple[str, ...]:
    """The groups that the provider names in the claim of the settings, in the alphabet's order."""
    claim = claims.get(team.groups_claim) if team is not None else None
    if isinstance(claim, str):
        return (claim,)
    return tuple(sorted(set(map(str, claim)))) if isinstance(claim, Iterable) else ()

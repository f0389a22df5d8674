"""From the claims of a sign-in to a role, and from a role to what it may do.

Rules are words in settings.toml: an e-mail address, a pattern of it (`*@example.org`), or
`group:NAME` for a member of a group that the provider names in a claim.
"""

from collections.abc import Iterable, Mapping
from fnmatch import fnmatchcase
from typing import Any, Literal

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


def role_of(claims: Mapping[str, Any], team: Team | None) -> Role | None:
    """The highest role that a rule gives; None: this person has none here."""
    if team is None:
        return None
    address = _verified_address(claims)
    groups = _words(claims.get(team.groups_claim))
    by_role: tuple[tuple[Role, tuple[str, ...]], ...] = (
        ("admin", team.admins),
        ("runner", team.runners),
        ("viewer", team.viewers),
    )
    for role, rules in by_role:
        if any(_matches(rule, address, groups) for rule in rules):
            return role
    return None


def _matches(rule: str, address: str, groups: frozenset[str]) -> bool:
    if rule.startswith(_GROUP):
        return rule.removeprefix(_GROUP) in groups
    return bool(address) and fnmatchcase(address, rule.lower())


def _verified_address(claims: Mapping[str, Any]) -> str:
    """Empty where the provider itself says that nobody checked the address.

    `email_verified` is optional in OpenID Connect; some providers leave it out, or write a text.
    """
    if str(claims.get("email_verified", True)).lower() == "false":
        return ""
    return str(claims.get("email") or "").lower()


def _words(claim: object) -> frozenset[str]:
    if isinstance(claim, str):
        return frozenset((claim,))
    return frozenset(map(str, claim)) if isinstance(claim, Iterable) else frozenset()

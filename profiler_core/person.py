"""By what a person is known: the system's user, or the account of a sign-in."""

import getpass
import hashlib
import os

_VARIABLE = "FUSIONSCOPE_PERSON"
_LONGEST = 200
_SIGNED_IN = "oidc:"


def system_user() -> str:
    """FUSIONSCOPE_PERSON (for CI, say), else the system's user; empty without a name."""
    name = os.environ.get(_VARIABLE, "").strip()
    try:
        return typed_name(name or getpass.getuser())[:_LONGEST]
    except (OSError, KeyError):  # a container's user may have no name
        return ""


def account(issuer: str, subject: str) -> str:
    """The account of a sign-in, as every record of a deed names it.

    A provider promises that the pair never belongs to anybody else. Names and addresses can be
    chosen, changed and handed on, so they are shown and never compared.

    Args:
        issuer: of the identity token (`iss`).
        subject: of the identity token (`sub`).
    """
    readable = f"{_SIGNED_IN}{issuer}#{subject}"
    # No issuer has a fragment (OpenID Connect Core 2); with one, two pairs could read alike. So
    # could two that differ in spaces, where names are written: "ada " would sign as "ada".
    is_plain = readable.isprintable() and readable == " ".join(readable.split())
    if len(readable) <= _LONGEST and is_plain and "#" not in issuer:
        return readable
    return _SIGNED_IN + hashlib.sha256(f"{issuer}\0{subject}".encode()).hexdigest()


def typed_name(name: str) -> str:
    """A name that somebody typed or set, which must never pass for the account of a sign-in."""
    name = " ".join(name.split())
    while is_account(name):
        name = name.removeprefix(_SIGNED_IN).lstrip()
    return name


def is_account(person: str) -> bool:
    """Was this person known by a sign-in, and not by a name that somebody typed?"""
    return person.startswith(_SIGNED_IN)


def shown_name(name: str, address: str, subject: str) -> str:
    """How a signed-in person is shown: the verified address, else the name beside the subject.

    A name alone could be chosen to look like somebody else's.
    """
    if address:
        return address
    return f"{name} ({subject})" if name and name != subject else subject

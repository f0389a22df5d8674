"""API tokens: what lets CI and agents act for a person, until a day and within scopes.

The text of a token is `fsc_<id>_<secret>`, hexadecimal, so that a secret scanner knows it by its
form. The database holds the SHA-256 of the secret, which has 256 random bits: a slow hash would
protect no better. Every question goes to the database, so that a token that is revoked opens
nothing in any process from then on.

What a scope allows is decided where the roles of people are (`ui/sign_in`).
"""

import hashlib
import hmac
import re
import secrets
from collections.abc import Collection
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any, Literal

from sqlalchemy import Row, func, insert, or_, select, update

from profiler_core.errors import BadInput
from profiler_core.store.history.audit import note
from profiler_core.store.history.database import reading, writing
from profiler_core.store.history.moments import now, utc
from profiler_core.store.history.rows import stored
from profiler_core.store.history.tables import api_tokens as table

LONGEST_DAYS = 365
_MOST_ACTIVE = 50  # of one person
_LONGEST_NAME = 100
_ID_BYTES, _SECRET_BYTES = 6, 32
_FORM = re.compile(r"fsc_([0-9a-f]{12})_([0-9a-f]{64})")
_NOBODYS = hashlib.sha256(b"no token has this digest").hexdigest()
_USED_EVERY = timedelta(minutes=1)  # last_used_at is written no more often

State = Literal["active", "expired", "revoked"]


@dataclass(frozen=True)
class ApiToken:
    """A token, without its secret. Moments are ISO 8601 in UTC."""

    token_id: str
    person: str
    name: str
    scopes: tuple[str, ...]
    made_at: str
    expires_at: str
    last_used_at: str | None
    revoked_at: str | None
    revoked_by: str

    @property
    def subject(self) -> str:
        """As the audit names it."""
        return f"token/{self.token_id}"

    @property
    def state(self) -> State:
        """Whether it opens anything at this moment."""
        if self.revoked_at is not None:
            return "revoked"
        return "active" if now() < self.expires_at else "expired"


class BadToken(BadInput):
    """A token that opens nothing. token: the one that it was, where its secret was right."""

    def __init__(self, problem: str, *, remedy: str, token: ApiToken | None = None) -> None:
        super().__init__(problem, remedy=remedy)
        self.token = token


def make_token(
    person: str, name: str, scopes: Collection[str], *, days: int
) -> tuple[ApiToken, str]:
    """Make a token of this person; also returns its text, which nobody can learn again.

    Raises:
        BadInput: it has no name, no scope or no usable number of days, or the person has too many.
        HistoryUnavailable: it could not be written.
    """
    shown = " ".join(name.split())
    if not shown or len(shown) > _LONGEST_NAME or not shown.isprintable():
        raise BadInput(
            f"{name[:_LONGEST_NAME]!r} cannot be the name of a token.",
            remedy=f"Use letters, digits and signs, at most {_LONGEST_NAME} of them.",
        )
    if not scopes:
        raise BadInput("The token may do nothing.", remedy="Choose at least one scope.")
    if not 1 <= days <= LONGEST_DAYS:
        raise BadInput(
            f"A token cannot hold for {days} days.", remedy=f"Choose 1 to {LONGEST_DAYS} days."
        )
    token_id, secret = secrets.token_hex(_ID_BYTES), secrets.token_hex(_SECRET_BYTES)
    moment = now()
    expires = datetime.now(UTC) + timedelta(days=days)
    values = stored({
        "token_id": token_id, "digest": _digest(secret), "person": person, "name": shown,
        "scopes": sorted(scopes), "made_at": moment, "expires_at": utc(expires.isoformat(), moment),
    })  # fmt: skip
    with writing() as connection:
        active = select(func.count()).where(
            table.c.person == person, table.c.revoked_at.is_(None), table.c.expires_at > moment
        )
        if connection.execute(active).scalar_one() >= _MOST_ACTIVE:
            raise BadInput(
                f"You have {_MOST_ACTIVE} tokens already.", remedy="Revoke one that is not needed."
            )
        connection.execute(insert(table).values(**values))
        note(
            connection, person, "make token", f"token/{token_id}",
            name=shown, scopes=sorted(scopes), expires=values["expires_at"],
        )  # fmt: skip
    return token(token_id), f"fsc_{token_id}_{secret}"


def revoke_token(token_id: str, *, person: str) -> None:
    """From now on it opens nothing; one that is revoked already stays as it is.

    Whether this person may is the caller's question.

    Raises:
        BadInput: there is no such token.
        HistoryUnavailable: it could not be written.
    """
    revoked = token(token_id)
    with writing() as connection:
        changed = connection.execute(
            update(table)
            .where(table.c.token_id == token_id, table.c.revoked_at.is_(None))
            .values(revoked_at=now(), revoked_by=stored(person))
        )
        if changed.rowcount:
            note(
                connection, person, "revoke token", revoked.subject,
                name=revoked.name, of=revoked.person,
            )  # fmt: skip


def token(token_id: str) -> ApiToken:
    """One token.

    Raises:
        BadInput: there is no such token.
    """
    with reading() as connection:
        row = connection.execute(select(table).where(table.c.token_id == token_id)).one_or_none()
    if row is None:
        raise BadInput("There is no such token.", remedy="Reload the page.")
    return _token_of(row)


def tokens(person: str | None = None) -> tuple[ApiToken, ...]:
    """Those of a person, or everybody's; the newest first."""
    query = select(table).order_by(table.c.made_at.desc(), table.c.token_id)
    if person is not None:
        query = query.where(table.c.person == person)
    with reading() as connection:
        return tuple(map(_token_of, connection.execute(query)))


def checked_token(text: str) -> ApiToken:
    """The token of this text, which is good at this moment.

    Raises:
        BadToken: its secret is wrong, or it was revoked or has expired. Which of them is said only
            to who knows the secret.
        HistoryUnavailable: nobody can say.
    """
    parts = _FORM.fullmatch(text)
    token_id, secret = parts.groups() if parts else ("", "")
    row = None
    if parts:
        with reading() as connection:
            query = select(table).where(table.c.token_id == token_id)
            row = connection.execute(query).one_or_none()
    # Compared also where there is no such token, so that the time of the answer tells nothing.
    is_right = hmac.compare_digest(_digest(secret), row.digest if row is not None else _NOBODYS)
    if row is None or not is_right:
        raise BadToken(
            "This is no API token of this server.",
            remedy="Make one on the page API tokens, and set it as FUSIONSCOPE_TOKEN.",
        )
    checked = _token_of(row)
    if checked.state == "revoked":
        raise BadToken(
            f"The API token “{checked.name}” was revoked on {(checked.revoked_at or '')[:10]}.",
            remedy="Make another one on the page API tokens.", token=checked,
        )  # fmt: skip
    if checked.state == "expired":
        raise BadToken(
            f"The API token “{checked.name}” expired on {checked.expires_at[:10]}.",
            remedy="Make another one on the page API tokens.", token=checked,
        )  # fmt: skip
    return checked


def note_use(used: ApiToken) -> None:
    """Keep when it was used last, to a minute.

    Raises:
        HistoryUnavailable: it could not be written.
    """
    moment = now()
    before = utc((datetime.now(UTC) - _USED_EVERY).isoformat(), moment)
    if used.last_used_at is not None and used.last_used_at > before:
        return
    with writing() as connection:
        connection.execute(
            update(table)
            .where(
                table.c.token_id == used.token_id,
                or_(table.c.last_used_at.is_(None), table.c.last_used_at < moment),
            )
            .values(last_used_at=moment)
        )


def _token_of(row: Row[Any]) -> ApiToken:
    return ApiToken(
        row.token_id, row.person, row.name, tuple(row.scopes), row.made_at, row.expires_at,
        row.last_used_at, row.revoked_at, row.revoked_by,
    )  # fmt: skip


def _digest(secret: str) -> str:
    return hashlib.sha256(secret.encode()).hexdigest()

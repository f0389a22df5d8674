"""Who the accounts in the history are: what a page shows for a person."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from sqlalchemy import or_, select

from profiler_core.person import is_account, shown_name
from profiler_core.store.history.database import HistoryUnavailable, reading, writing
from profiler_core.store.history.moments import now
from profiler_core.store.history.rows import stored
from profiler_core.store.history.tables import people
from profiler_core.store.history.upsert import insert_or_update

_CHANGES = ("address", "name", "group_names", "last_seen_at")
_AT_ONCE = 500  # parameters of one query


@dataclass(frozen=True)
class KnownPerson:
    """What the provider said of an account when it last signed in."""

    person: str
    issuer: str
    subject: str
    address: str  # empty where it was not verified
    name: str
    groups: tuple[str, ...]


def remember_person(
    person: str, *, issuer: str, subject: str, address: str, name: str, groups: Sequence[str] = ()
) -> None:
    """Keep what the provider says of this account now.

    Args:
        person: the account (`person.account`).
        issuer: of the identity token.
        subject: of the identity token.
        address: verified; empty where it is not.
        name: as the provider writes it.
        groups: of which the provider says that the account is a member.

    Raises:
        HistoryUnavailable: it could not be written.
    """
    moment = now()
    values = stored({
        "person": person, "issuer": issuer, "subject": subject, "address": address, "name": name,
        "group_names": groups, "first_seen_at": moment, "last_seen_at": moment,
    })  # fmt: skip
    with writing() as connection:
        insert_or_update(connection, people, values, _CHANGES)


def known_person(person: str) -> KnownPerson | None:
    """What is known of this account; None: it never signed in here.

    Raises:
        HistoryUnavailable: the database cannot be read.
    """
    with reading() as connection:
        row = connection.execute(select(people).where(people.c.person == person)).one_or_none()
    if row is None:
        return None
    return KnownPerson(
        row.person, row.issuer, row.subject, row.address, row.name, tuple(row.group_names)
    )


def names_of(persons: Iterable[str]) -> Mapping[str, str]:
    """What to show for each of these persons; whoever never signed in is shown as written.

    Without a database an account is shown as it is: no page fails for want of a name.
    """
    names = {person: person for person in persons}
    accounts = [person for person in names if is_account(person)]
    try:
        for start in range(0, len(accounts), _AT_ONCE):
            several = accounts[start : start + _AT_ONCE]
            with reading() as connection:
                for row in connection.execute(select(people).where(people.c.person.in_(several))):
                    names[row.person] = shown_name(row.name, row.address, row.subject)
    except HistoryUnavailable:
        pass
    return names


def persons_called(word: str) -> tuple[str, ...]:
    """The accounts of this address or name, and the word itself, which may be an account.

    Raises:
        HistoryUnavailable: the database cannot be read.
    """
    called = select(people.c.person).where(
        or_(people.c.address == word.lower(), people.c.name == word)
    )
    with reading() as connection:
        return (word, *connection.scalars(called.order_by(people.c.person)))


def name_of(person: str) -> str:
    """What to show for this person."""
    return names_of((person,))[person]

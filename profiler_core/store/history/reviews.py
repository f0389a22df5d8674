"""Writing reviews: begin, change, note, sign, delete. Each deed is one transaction with its audit.

Notes and sign-offs are rows of their own, so two people never overwrite each other there. Title,
summary and verdict are one text that many may edit: a change names the version that it was made
on, and one made on an older version is refused.
"""

import secrets
from collections.abc import Sequence
from dataclasses import asdict

from sqlalchemy import Connection, delete, insert, select, update

from profiler_core.errors import BadInput
from profiler_core.model.review import VERDICTS, ReviewFinding, ReviewSide, ReviewVerdict
from profiler_core.store.history.audit import note as audit_note
from profiler_core.store.history.database import writing
from profiler_core.store.history.moments import now
from profiler_core.store.history.query import NOT_DELETED
from profiler_core.store.history.rows import stored
from profiler_core.store.history.tables import (
    review_findings,
    review_notes,
    review_sides,
    reviews,
    runs,
    sign_offs,
)
from profiler_core.store.history.upsert import insert_or_ignore, insert_or_update

LONGEST_TITLE, LONGEST_TEXT = 200, 20_000  # characters
_LONGEST_NAME = 200


class ReviewChanged(BadInput):
    """Somebody else changed the review since it was read."""


def begin_review(
    title: str,
    sides: Sequence[ReviewSide],
    findings: Sequence[ReviewFinding],
    *,
    person: str,
    template: str = "",
) -> str:
    """Keep a new review; returns its id.

    Args:
        title: what it is called.
        sides: the baseline, then the candidates.
        findings: of the candidates, the most important first.
        person: who begins it.
        template: "weekly", or empty.

    Raises:
        BadInput: no title, no person, or nothing to review.
    """
    actor, called = signature(person), _title(title)
    if not sides:
        raise BadInput("A review needs at least one run.", remedy="Choose runs first.")
    moment = now()
    review_id = f"{moment[:10].replace('-', '')}-{secrets.token_hex(4)}"
    with writing() as connection:
        connection.execute(
            insert(reviews).values(
                review_id=review_id, title=called, template=template, summary="", verdict=None,
                created_at=moment, changed_at=moment, person=actor, changed_by=actor, version=1,
            )
        )  # fmt: skip
        for position, side in enumerate(sides):
            recorded_id = _recorded_run_id(connection, side.run_id)
            values = {**stored(asdict(side)), "run_id": recorded_id}
            connection.execute(
                insert(review_sides).values(review_id=review_id, position=position, **values)
            )
        _add_findings(connection, review_id, findings)
        audit_note(connection, actor, "review", review_id, title=called)
    return review_id


def add_findings(review_id: str, findings: Sequence[ReviewFinding], *, person: str) -> None:
    """Add findings that the review does not have yet; those it has keep their words.

    Raises:
        BadInput: there is no such review.
    """
    with writing() as connection:
        _must_exist(connection, review_id)
        _add_findings(connection, review_id, findings)
        audit_note(connection, signature(person), "look again", review_id)


def change_review(
    review_id: str,
    version: int,
    *,
    title: str,
    summary: str,
    verdict: ReviewVerdict | None,
    person: str,
) -> int:
    """Change what many may edit; returns the new version.

    Args:
        review_id: which review.
        version: that the change was made on.
        title: what it is called.
        summary: what is written at its top.
        verdict: None leaves it open.
        person: who does it.

    Raises:
        ReviewChanged: somebody was faster; nothing is changed then.
        BadInput: there is no such review, or a word is none.
    """
    actor = signature(person)
    values = {
        "title": _title(title),
        "summary": _text(summary, may_be_empty=True),
        "verdict": None if verdict is None else _verdict(verdict),
    }
    with writing() as connection:
        updated = connection.execute(
            update(reviews)
            .where(reviews.c.review_id == review_id, reviews.c.version == version)
            .values(**values, changed_at=now(), changed_by=actor, version=version + 1)
        )
        if not updated.rowcount:
            last_writer = _must_exist(connection, review_id)
            raise ReviewChanged(
                f"{last_writer or 'Somebody'} changed this review while you wrote; "
                "yours is not saved.",
                remedy="Reload the review, and save again what you want to keep.",
            )
        audit_note(connection, actor, "verdict", review_id, verdict=verdict)
    return version + 1


def add_note(
    review_id: str,
    text: str,
    *,
    person: str,
    finding: str | None = None,
    position: int | None = None,
) -> None:
    """Add a note about a finding of a candidate, or about the review as a whole.

    Raises:
        BadInput: there is no such review, or nothing was written.
    """
    actor, note_text = signature(person), _text(text)
    with writing() as connection:
        _must_exist(connection, review_id)
        connection.execute(
            insert(review_notes).values(
                review_id=review_id, finding=stored(finding), position=position, text=note_text,
                written_at=now(), person=actor,
            )
        )  # fmt: skip
        audit_note(connection, actor, "note", review_id, finding=finding)


def delete_note(review_id: str, note_id: int, *, person: str) -> None:
    """Take one's own note back.

    Raises:
        BadInput: this person wrote no such note.
    """
    with writing() as connection:
        deleted = connection.execute(
            delete(review_notes).where(
                review_notes.c.review_id == review_id,
                review_notes.c.note_id == note_id,
                review_notes.c.person == signature(person),
            )
        )
        if not deleted.rowcount:
            raise BadInput(
                "This note was written by someone else, or it has been deleted.",
                remedy="Reload the page.",
            )
        audit_note(connection, signature(person), "delete note", review_id)


def sign_off(review_id: str, decision: ReviewVerdict, *, person: str, note: str = "") -> None:
    """Put one's name under a verdict; a former one of this person is replaced.

    Raises:
        BadInput: there is no such review, or no name.
    """
    values = {
        "review_id": review_id,
        "person": signature(person),
        "decision": _verdict(decision),
        "signed_at": now(),
        "note": _text(note, may_be_empty=True),
    }
    with writing() as connection:
        _must_exist(connection, review_id)
        insert_or_update(connection, sign_offs, values, ("decision", "signed_at", "note"))
        audit_note(connection, values["person"], "sign off", review_id, decision=decision)


def delete_review(review_id: str, *, person: str) -> None:
    """Delete it with its notes and sign-offs, for good; its runs may be deleted again.

    Raises:
        BadInput: there is no such review.
    """
    with writing() as connection:
        deleted = connection.execute(delete(reviews).where(reviews.c.review_id == review_id))
        if not deleted.rowcount:
            raise no_review(review_id)
        audit_note(connection, signature(person), "delete review", review_id)


def no_review(review_id: str) -> BadInput:
    """The error for an id that leads nowhere."""
    return BadInput(
        f"There is no review “{review_id[:100]}” here.",
        remedy="Choose one on the page Review: it may have been deleted.",
    )


def _add_findings(
    connection: Connection, review_id: str, findings: Sequence[ReviewFinding]
) -> None:
    for index, finding in enumerate(findings):
        values = {**stored(asdict(finding)), "review_id": review_id, "place": index}
        insert_or_ignore(connection, review_findings, values)


def _recorded_run_id(connection: Connection, run_id: str | None) -> str | None:
    """The id, if the history has the run: it may be gone, or never have been there."""
    recorded = select(runs.c.run_id).where(runs.c.run_id == run_id, NOT_DELETED)
    # Locked, so that nobody deletes it meanwhile.
    return connection.execute(recorded.with_for_update(read=True)).scalar()


def _must_exist(connection: Connection, review_id: str) -> str:
    """Who changed it last."""
    row = connection.execute(
        select(reviews.c.changed_by).where(reviews.c.review_id == review_id)
    ).first()
    if row is None:
        raise no_review(review_id)
    return str(row.changed_by)


def _title(text: str) -> str:
    flat = " ".join(str(stored(text)).split())
    if not flat:
        raise BadInput("A review needs a title.", remedy="Write what it is about.")
    return flat[:LONGEST_TITLE]


def _text(text: str, *, may_be_empty: bool = False) -> str:
    stripped = str(stored(text)).strip()
    if not stripped and not may_be_empty:
        raise BadInput("Nothing was written.", remedy="Write a sentence first.")
    if len(stripped) > LONGEST_TEXT:
        raise BadInput(
            f"The text has {len(stripped)} characters, {LONGEST_TEXT} is the most.",
            remedy="Shorten it, or link to a document.",
        )
    return stripped


def signature(person: str) -> str:
    """The name under a deed.

    Raises:
        BadInput: there is none.
    """
    name = " ".join(str(stored(person)).split())[:_LONGEST_NAME]
    if not name:
        raise BadInput("A name is required.", remedy="Type your name first.")
    return name


def _verdict(word: str) -> str:
    if word not in VERDICTS:
        raise BadInput(f"“{word[:60]}” is no verdict.", remedy=f"Use {', '.join(VERDICTS)}.")
    return word

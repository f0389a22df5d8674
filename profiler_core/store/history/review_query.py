"""Reads reviews: one with all its parts, or the heads of those that match a filter."""

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields, replace
from typing import Any, TypeVar

from sqlalchemy import Row, func, or_, select

from profiler_core.model.review import (
    Review,
    ReviewFinding,
    ReviewHead,
    ReviewNote,
    ReviewSide,
    SignOff,
)
from profiler_core.store.history.database import reading
from profiler_core.store.history.people import names_of
from profiler_core.store.history.query import NOT_DELETED
from profiler_core.store.history.review_tasks import tasks_of
from profiler_core.store.history.reviews import no_review
from profiler_core.store.history.tables import (
    review_findings,
    review_notes,
    review_sides,
    reviews,
    runs,
    sign_offs,
)

_Record = TypeVar("_Record", ReviewSide, ReviewFinding, ReviewNote, SignOff)
OPEN = "open"  # a verdict to filter by: none yet


@dataclass(frozen=True)
class ReviewFilter:
    """Which reviews; an empty word asks for nothing."""

    verdict: str = ""  # one of model.review.VERDICTS, or OPEN
    person: str = ""  # began it, or signed it
    workload: str = ""
    words: str = ""  # all of them in the title


def review(review_id: str) -> Review:
    """One review with all that belongs to it, as of one moment.

    Raises:
        BadInput: there is none of this id.
    """
    with reading() as connection:
        row = connection.execute(select(reviews).where(reviews.c.review_id == review_id)).first()
        if row is None:
            raise no_review(review_id)

        def rows(table: Any, *order: Any) -> Sequence[Row[Any]]:
            query = select(table).where(table.c.review_id == review_id).order_by(*order)
            return connection.execute(query).all()

        plain = {
            name: row._mapping[name] for name in Review.__dataclass_fields__ if name in row._mapping
        }
        review_with_parts = Review(
            **plain,
            sides=_records(ReviewSide, rows(review_sides, review_sides.c.position)),
            findings=_records(
                ReviewFinding,
                rows(review_findings, review_findings.c.position, review_findings.c.place),
            ),
            notes=_records(ReviewNote, rows(review_notes, review_notes.c.note_id)),
            sign_offs=_records(SignOff, rows(sign_offs, sign_offs.c.signed_at, sign_offs.c.person)),
            tasks=tasks_of(connection, review_id),
        )
    people = {review_with_parts.person}
    people.update(note.person for note in review_with_parts.notes)
    people.update(task.owner for task in review_with_parts.tasks)
    people.update(sign_off.person for sign_off in review_with_parts.sign_offs)
    return replace(review_with_parts, names=names_of(people))


def review_heads(
    review_filter: ReviewFilter | None = None, limit: int = 200
) -> tuple[ReviewHead, ...]:
    """The newest first."""
    query = select(reviews).order_by(reviews.c.created_at.desc(), reviews.c.review_id.desc())
    review_filter = review_filter or ReviewFilter()
    if review_filter.verdict == OPEN:
        query = query.where(reviews.c.verdict.is_(None))
    elif review_filter.verdict:
        query = query.where(reviews.c.verdict == review_filter.verdict)
    if review_filter.person:
        signed = select(sign_offs.c.review_id).where(sign_offs.c.person == review_filter.person)
        query = query.where(
            or_(reviews.c.person == review_filter.person, reviews.c.review_id.in_(signed))
        )
    if review_filter.workload:
        about = select(review_sides.c.review_id).where(
            review_sides.c.workload == review_filter.workload
        )
        query = query.where(reviews.c.review_id.in_(about))
    for word in review_filter.words.split():
        query = query.where(reviews.c.title.icontains(word, autoescape=True))
    with reading() as connection:
        matching = connection.execute(query.limit(limit)).all()
        ids = [row.review_id for row in matching]
        sides = select(review_sides.c.review_id, review_sides.c.workload).where(
            review_sides.c.review_id.in_(ids), review_sides.c.position == 0
        )
        workloads = {row.review_id: row.workload for row in connection.execute(sides)}
        counted = (
            select(review_notes.c.review_id, func.count().label("n"))
            .where(review_notes.c.review_id.in_(ids))
            .group_by(review_notes.c.review_id)
        )
        n_notes = {row.review_id: row.n for row in connection.execute(counted)}
        signed_by: dict[str, list[str]] = defaultdict(list)
        names = select(sign_offs).where(sign_offs.c.review_id.in_(ids))
        for row in connection.execute(names.order_by(sign_offs.c.signed_at)):
            signed_by[row.review_id].append(row.person)
    return tuple(
        ReviewHead(
            review_id=row.review_id,
            title=row.title,
            template=row.template,
            verdict=row.verdict,
            created_at=row.created_at,
            changed_at=row.changed_at,
            person=row.person,
            workload=workloads.get(row.review_id, ""),
            n_notes=n_notes.get(row.review_id, 0),
            signed_by=tuple(signed_by[row.review_id]),
        )
        for row in matching
    )


def review_of(title: str, run_ids: Sequence[str]) -> str | None:
    """The newest review of this title about these runs, baseline first; None: there is none."""
    for head in review_heads(ReviewFilter(words=title), limit=20):
        if head.title == title:
            reviewed = tuple(side.run_id for side in review(head.review_id).sides)
            if reviewed == tuple(run_ids):
                return head.review_id
    return None


def run_ids_of(keys: Sequence[str]) -> Mapping[str, str]:
    """Key of the library -> run_id, of those that the history has."""
    with reading() as connection:
        rows = connection.execute(
            select(runs.c.key, runs.c.run_id).where(runs.c.key.in_(keys), NOT_DELETED)
        )
        return {row.key: row.run_id for row in rows}


def _records(kind: type[_Record], rows: Sequence[Row[Any]]) -> tuple[_Record, ...]:
    names = [field.name for field in fields(kind)]
    return tuple(kind(**{name: row._mapping[name] for name in names}) for row in rows)

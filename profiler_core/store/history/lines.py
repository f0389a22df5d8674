"""Which chart and line of the trends a run belongs to, as columns, so that SQL can ask for them."""

import hashlib
from collections.abc import Mapping

from sqlalchemy import and_, or_, select, update

from profiler_core.analysis.trend import question_of, variant_of
from profiler_core.model.history import RecordedRun
from profiler_core.store.history.database import reading, writing
from profiler_core.store.history.rows import run_of
from profiler_core.store.history.tables import runs as table

LINES_VERSION = 3  # counted up when `lines_of` changes its answers
ON_A_LINE = and_(table.c.question != "", table.c.line != "")
_AT_ONCE = 500


def lines_of(run: RecordedRun) -> Mapping[str, object]:
    """The columns of a run: without a workload it has no question, and of an experiment no line.

    Each trial runs under another setting, chosen to be tried once: none is news of the workload,
    but a finding may be held against it.
    """
    return {
        "question": digest(question_of(run)) if run.workload else "",
        "line": "" if run.spec.get("experiment") else digest(variant_of(run)),
        "lines_version": LINES_VERSION,
    }


def fill_lines() -> None:
    """Give a line to each run that another version recorded; nothing to do most of the time."""
    others = or_(table.c.lines_version.is_(None), table.c.lines_version < LINES_VERSION)
    while True:
        with reading() as connection:
            rows = connection.execute(select(table).where(others).limit(_AT_ONCE)).all()
        if not rows:
            return
        with writing() as connection:
            for row in rows:
                run = run_of(row)
                connection.execute(
                    update(table).where(table.c.run_id == run.run_id).values(**lines_of(run))
                )


def digest(text: str) -> str:
    """A short name of a text, the same everywhere."""
    return hashlib.blake2b(text.encode("utf-8", "replace"), digest_size=16).hexdigest()

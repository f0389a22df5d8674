"""Which chart and line of the trends a run belongs to, as columns, so that SQL can ask for them."""

import hashlib
from collections.abc import Mapping

from sqlalchemy import or_, select, update

from profiler_core.analysis.trend import question_of, variant_of
from profiler_core.model.history import RecordedRun
from profiler_core.store.history.database import reading, writing
from profiler_core.store.history.rows import run_of
from profiler_core.store.history.tables import runs as table

LINES_VERSION = 2  # counted up when `lines_of` changes its answers
_AT_ONCE = 500


def lines_of(run: RecordedRun) -> Mapping[str, object]:
    """The columns of a run; runs without a workload, and trials of an experiment, are on no line.

    Each trial runs under another setting, chosen to be tried once: none is news of the workload.
    """
    is_drawn = run.workload and not run.spec.get("experiment")
    return {
        "question": digest(question_of(run)) if is_drawn else "",
        "line": digest(variant_of(run)),
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

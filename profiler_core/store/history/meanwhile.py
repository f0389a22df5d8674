"""Of two who record one id at the same moment: who writes second judges its files once more.

Files are judged by what the history holds of their run, and that takes seconds; the row is written
only where it still holds just that.
"""

from collections.abc import Callable

from sqlalchemy import Connection, select

from profiler_core.errors import BadInput
from profiler_core.model.history import RecordedRun
from profiler_core.store.history.query import NOT_DELETED
from profiler_core.store.history.tables import runs as table

FILES = ("key", "artifact", "files_deleted_at")  # what a second recording may change
_ATTEMPTS = 5


class WrittenMeanwhile(Exception):
    """Somebody else wrote the row of this run since its files were judged."""


def unless_meanwhile(recording: Callable[[], RecordedRun]) -> RecordedRun:
    """What it returns; asked anew where somebody else wrote the run's row in between.

    Raises:
        BadInput: each time somebody was faster.
    """
    for _ in range(_ATTEMPTS):
        try:
            return recording()
        except WrittenMeanwhile:
            continue
    raise BadInput(
        "Others record, delete or restore this run at this moment.", remedy="Send it again."
    )


def refuse_if_written(connection: Connection, run_id: str, seen: RecordedRun | None) -> None:
    """Lock the run's row until the end of the transaction, as it was `seen`; None: there was none.

    Raises:
        WrittenMeanwhile: it is another by now.
    """
    columns = (table.c.recorded_at, *(table.c[name] for name in FILES))
    of_run = select(*columns).where(table.c.run_id == run_id, NOT_DELETED).with_for_update()
    row = connection.execute(of_run).first()
    before = None if seen is None else (seen.recorded_at, *(getattr(seen, n) for n in FILES))
    if (None if row is None else tuple(row)) != before:
        raise WrittenMeanwhile

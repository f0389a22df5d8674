"""Which ended runs of the list the history has: asked once for each run, then noted beside it."""

from collections.abc import Iterable
from typing import NamedTuple

from profiler_core.store.catalogue.file import transaction
from profiler_core.store.catalogue.keeping import refresh


class Ended(NamedTuple):
    """A run that has ended, by its key and its id."""

    key: str
    run_id: str


def not_noted(where: str) -> tuple[Ended, ...]:
    """Ended captures and uploads that were not yet noted to be recorded there."""
    refresh()
    with transaction() as connection:
        rows = connection.execute(
            "SELECT key, run_id FROM runs WHERE is_ended = 1 AND recorded_in IS NOT ? ORDER BY key",
            (where,),
        )
        return tuple(Ended(row["key"], row["run_id"]) for row in rows)


def note_recorded(keys: Iterable[str], where: str) -> None:
    """From now on these are known to be recorded there, until their folders change."""
    with transaction(writing=True) as connection:
        connection.executemany(
            "UPDATE runs SET recorded_in = ? WHERE key = ?", [(where, key) for key in keys]
        )

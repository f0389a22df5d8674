"""Which runs nobody deletes: baselines, and those that are part of a review."""

from collections.abc import Sequence

from sqlalchemy import Connection, select

from profiler_core.errors import BadInput
from profiler_core.store.history.tables import baselines, review_sides, runs


class RunNeeded(BadInput):
    """A run is a baseline, or part of a review."""


def refuse_if_needed(connection: Connection, run_ids: Sequence[str]) -> None:
    """Before runs are deleted; until the transaction ends nobody makes them what is needed.

    Raises:
        RunNeeded: one of them is.
    """
    connection.execute(select(runs.c.run_id).where(runs.c.run_id.in_(run_ids)).with_for_update())
    for run_id in run_ids:
        name = connection.scalar(select(baselines.c.name).where(baselines.c.run_id == run_id))
        if name is not None:
            raise RunNeeded(
                f"The run {run_id} is the baseline “{name}”.",
                remedy="Give that name to another run first, or remove the baseline.",
            )
        review = connection.scalar(
            select(review_sides.c.review_id).where(review_sides.c.run_id == run_id)
        )
        if review is not None:
            raise RunNeeded(
                f"The run {run_id} is part of the review {review}.",
                remedy="Delete the review first.",
            )

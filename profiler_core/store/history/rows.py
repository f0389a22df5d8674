"""Rows of the table `runs` as records, and back. What came from a file is made storable."""

import math
from collections.abc import Mapping, Sequence
from typing import Any

import msgspec
from sqlalchemy import Row

from profiler_core.model.history import METRICS, HeadlineMetrics, ListedRun, RecordedRun, RunHead
from profiler_core.model.run import Round

_PLAIN = tuple(
    name for name in RecordedRun.__dataclass_fields__ if name not in ("metrics", "rounds", "tags")
)
LISTED = tuple(
    name for name in (*RunHead.__dataclass_fields__, *METRICS) if name not in ("metrics", "tags")
)


def listed_run_of(row: Row[Any], tags: tuple[str, ...] = ()) -> ListedRun:
    """The run of a row with the columns `LISTED`, and `n_rounds`."""
    columns = row._mapping
    return ListedRun(
        **{name: columns[name] for name in LISTED if name not in METRICS},
        metrics=HeadlineMetrics(**{name: columns[name] for name in METRICS}),
        n_rounds=columns["n_rounds"],
        tags=tags,
    )


def run_of(row: Row[Any], tags: tuple[str, ...] = ()) -> RecordedRun:
    """The record of a row of `runs`."""
    columns = row._mapping  # SQLAlchemy's public name for a row as a mapping
    return RecordedRun(
        **{name: columns[name] for name in _PLAIN},
        metrics=HeadlineMetrics(**{name: columns[name] for name in METRICS}),
        rounds=tuple(
            Round(index=index, order=order, n_steps=n_steps, wall_ns=wall_ns)
            for index, order, n_steps, wall_ns in columns["rounds"]
        ),
        tags=tags,
    )


def row_of(run: RecordedRun) -> dict[str, Any]:
    """The columns of `runs`, without `metrics_version`."""
    plain = {name: getattr(run, name) for name in _PLAIN}
    numbers = {name: getattr(run.metrics, name) for name in METRICS}
    storable: dict[str, Any] = stored({**plain, **numbers, "rounds": kept_rounds(run.rounds)})
    return storable


def kept_rounds(rounds: Sequence[Round]) -> list[list[int]]:
    """What the history keeps of each round: index, order, steps, wall time in ns."""
    return [[r.index, r.order, r.n_steps, r.wall_ns] for r in rounds]


def stored(value: Any) -> Any:
    """What every database takes: no NUL, no half characters, no infinities, plain containers.

    run.json may come from anybody.
    """
    if isinstance(value, str):
        return value.replace("\0", "").encode("utf-8", "replace").decode("utf-8")
    if isinstance(value, bool) or value is None:
        return value
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    if isinstance(value, int):
        return value
    if isinstance(value, Mapping):
        return {stored(str(key)): stored(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [stored(item) for item in value]
    return stored(msgspec.to_builtins(value))

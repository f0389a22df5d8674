"""What findings predicted and what came true, of every experiment that ended, for the whole team.

An experiment's folder lies on one machine and may be deleted; what it says of the predictions
stays here.
"""

from collections import Counter
from collections.abc import Iterable

from sqlalchemy import func, select

from profiler_core.analysis.experiment.realised import Realised, realised
from profiler_core.model.experiment import Experiment, Gain
from profiler_core.store.history.database import reading, writing
from profiler_core.store.history.moments import now
from profiler_core.store.history.rows import stored
from profiler_core.store.history.tables import predictions as table
from profiler_core.store.history.upsert import insert_or_ignore

_PLACE = ("experiment_id", "capture_id", "variant", "finding", "word", "workload", "device")


def keep_predictions(experiments: Iterable[Experiment]) -> int:
    """Keep what is not kept yet of experiments that do not run; returns how many rows came in.

    Raises:
        HistoryUnavailable: the database cannot be used.
    """
    rows = realised(experiment for experiment in experiments if experiment.state != "running")
    n_rows = Counter(row.experiment_id for row in rows)
    if not n_rows:
        return 0
    counts = select(table.c.experiment_id, func.count().label("n")).group_by(table.c.experiment_id)
    with reading() as connection:
        n_kept = {row.experiment_id: row.n for row in connection.execute(counts)}
    new = [row for row in rows if n_kept.get(row.experiment_id, 0) < n_rows[row.experiment_id]]
    if not new:
        return 0
    moment = now()
    with writing() as connection:
        return sum(insert_or_ignore(connection, table, _columns(row, moment)) for row in new)


def predictions() -> tuple[Realised, ...]:
    """All that is kept, the oldest experiment first.

    Raises:
        HistoryUnavailable: the database cannot be used.
    """
    with reading() as connection:
        rows = connection.execute(select(table).order_by(*table.primary_key.columns)).all()
    return tuple(
        Realised(
            **{name: getattr(row, name) for name in _PLACE},
            predicted=Gain(
                finding=row.finding,
                title=row.title,
                lever=row.lever,
                word=row.word,
                gain_ns=row.gain_ns,
                low_ns=row.low_ns,
                high_ns=row.high_ns,
                at_most=row.at_most,
            ),
            realised_ns=row.realised_ns,
            low_ns=row.realised_low_ns,
            high_ns=row.realised_high_ns,
        )
        for row in rows
    )


def _columns(row: Realised, moment: str) -> dict[str, object]:
    gain = row.predicted
    columns: dict[str, object] = stored({
        **{name: getattr(row, name) for name in _PLACE},
        "title": gain.title, "lever": gain.lever, "gain_ns": gain.gain_ns, "low_ns": gain.low_ns,
        "high_ns": gain.high_ns, "at_most": gain.at_most, "realised_ns": row.realised_ns,
        "realised_low_ns": row.low_ns, "realised_high_ns": row.high_ns,
        "kept_at": moment,
    })  # fmt: skip
    return columns

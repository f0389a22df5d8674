"""Sweeps of made-up runs: step times in µs by value, ten rounds of ten steps each."""

from pathlib import Path

import msgspec

from profiler_core.analysis.side import make_side
from profiler_core.analysis.sweep.series import PointRuns, build_sweep
from profiler_core.model.run import Numerics, SweepPlace
from tests.builders import a_run

FAILED = "out of memory"


def point(
    value, times, *, index=0, values=(), name="batch-size", label="batch size", n_rounds=10, **more
):
    """The runs of one value; `times`: variant -> step time in µs, FAILED, or None (not timed)."""
    runs = []
    for order, (variant, us) in enumerate(times.items()):
        place = SweepPlace(
            id="the-sweep", name=name, label=label, value=value, index=index,
            values=tuple(values), series=variant,
        )  # fmt: skip
        failed = us == FAILED
        record = {
            "workload": "net",
            "sweep": place,
            "status": "failed" if failed else "finished",
            "error": "Out of memory in the first call: 9 GB." if failed else None,
            "error_kind": "memory" if failed else None,
        }
        # Rounds that wander by a per cent, the same for all variants.
        walls = (
            []
            if failed or us is None
            else [int(us * 10_000 * (1 + n / 1000)) for n in range(n_rounds)]
        )
        run = a_run(
            *walls,
            variant=variant,
            role="candidate" if order else "baseline",
            record=record,
            interleaved=True,
            **({} if failed else more),
        )
        runs.append(msgspec.structs.replace(run, path=Path(f"{value}/{variant}")))
    return PointRuns(Path(str(value)), tuple(make_side(run, None) for run in runs))


def sweep(table, values=(), **more):
    """value -> {variant: step time} to the sweep."""
    return build_sweep(
        [
            point(value, times, index=index, values=values or tuple(table), **more)
            for index, (value, times) in enumerate(table.items())
        ]
    )


def wrong(runs):
    """The same point, where the candidates' answers are wrong."""
    sides = []
    for side in runs.sides:
        record = msgspec.structs.replace(side.run.record, numerics=Numerics(verdict="wrong"))
        sides.append(make_side(msgspec.structs.replace(side.run, record=record), None))
    return PointRuns(runs.path, (runs.sides[0], *sides[1:]))

"""A home of thousands of runs, made in seconds: run.json alone, and rows of the history.

    python -m benchmarks.large_library FOLDER [--captures 2000] [--variants 5]

Captures of the shipped sample's records under other names and days, over 40 workloads; the newest
has its traces too. Rows of the history hold what recording each run would have put there, one
transaction for all.
"""

import argparse
import json
import math
import os
import shutil
from datetime import UTC, datetime, timedelta
from pathlib import Path

import msgspec
from sqlalchemy import insert

from profiler_core.model.history import HeadlineMetrics
from profiler_core.model.run import RunRecord
from profiler_core.store.history import database, places, recording
from profiler_core.store.history.rows import row_of
from profiler_core.store.history.tables import audit
from profiler_core.store.history.tables import runs as table

SAMPLE = Path(__file__).resolve().parents[1] / "sample_traces" / "breaky"
_WORKLOADS = 40
_FIRST_DAY = datetime(2026, 1, 1, tzinfo=UTC)
_CAPTURES_A_DAY = 20


def make_library(home: Path, n_captures: int, n_variants: int, *, n_deeds: int = 0) -> None:
    """The runs below `home`, which must be FUSIONSCOPE_HOME, and their rows."""
    records = [
        json.loads((SAMPLE / name / "run.json").read_bytes()) for name in ("eager", "default")
    ]
    for record in records:
        record["measurement"]["step_event_ns"] = []  # of no list
    rows = []
    for index in range(n_captures):
        day, number_of_day = divmod(index, _CAPTURES_A_DAY)
        moment = _FIRST_DAY + timedelta(days=day, minutes=30 * number_of_day)
        name = f"{moment:%Y%m%d-%H%M%S}-{index:05}"
        for number in range(n_variants):
            variant = "eager" if number == 0 else f"default-{number}"
            record = dict(records[min(number, 1)])
            record |= {
                "run_id": f"{name}-{number}", "capture_id": name, "variant": variant,
                "created_at": moment.isoformat(), "workload": f"model {index % _WORKLOADS}",
                "baseline_run_id": f"{name}-0" if number else None,
                "spec": {**record["spec"], "name": ""},
            }  # fmt: skip
            folder = home / "runs" / name / variant
            folder.mkdir(parents=True)
            content = json.dumps(record).encode()
            (folder / "run.json").write_bytes(content)
            rows.append(_row(msgspec.json.decode(content, type=RunRecord), folder, index))
    for variant, origin in (("eager", "eager"), ("default-1", "default")):
        trace = SAMPLE / origin / "trace.json.gz"
        shutil.copy(trace, home / "runs" / name / variant / trace.name)
    with database.writing() as connection:
        for start in range(0, len(rows), 1000):
            connection.execute(insert(table), rows[start : start + 1000])
        deeds = [_deed(number, rows[number % len(rows)]["run_id"]) for number in range(n_deeds)]
        for start in range(0, n_deeds, 1000):
            connection.execute(insert(audit), deeds[start : start + 1000])


def _row(record: RunRecord, folder: Path, index: int) -> dict[str, object]:
    key = places.key_of(folder)
    assert key is not None
    moment = (record.created_at or "").replace("+00:00", "Z")
    recorded = recording._described(record, key, moment, "Ada")
    wave = 1 + 0.05 * math.sin(index / 7)
    rounds = recorded.rounds
    step_time_ns = wave * sum(r.wall_ns / r.n_steps for r in rounds) / max(1, len(rounds))
    numbers = HeadlineMetrics(step_time_ns=step_time_ns, n_kernels=float(40 + index % 5))
    values = row_of(recorded)
    values |= {"step_time_ns": numbers.step_time_ns, "n_kernels": numbers.n_kernels}
    return {**values, "metrics_version": recording.METRICS_VERSION}


def _deed(number: int, run_id: str) -> dict[str, object]:
    moment = _FIRST_DAY + timedelta(minutes=number)
    action = ("look", "download", "capture", "sign in", "record")[number % 5]
    person = f"person{number % 20}@example.org"
    return {
        "at": f"{moment:%Y-%m-%dT%H:%M:%SZ}", "person": person, "action": action,
        "subject": run_id, "detail": {},
    }  # fmt: skip


def main() -> None:
    """Make one."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--captures", type=int, default=2000)
    parser.add_argument("--variants", type=int, default=5)
    parser.add_argument("--deeds", type=int, default=20_000)
    arguments = parser.parse_args()
    os.environ["FUSIONSCOPE_HOME"] = str(arguments.folder.resolve())
    make_library(
        arguments.folder.resolve(), arguments.captures, arguments.variants, n_deeds=arguments.deeds
    )


if __name__ == "__main__":
    main()

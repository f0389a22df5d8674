"""`nsys export --type sqlite` -> Trace.

Covers the exports of Nsight Systems from 2020 on, packed or not: kernels, copies, memsets, whole
graph replays, calls of runtime and driver, synchronisations, NVTX ranges and torch's operators
among them. Source of the format: NVIDIA's nsys-exporter, "SQLite Schema Reference"; it differs by
version, so what is read is decided by the tables and columns that are there.

Ignored: samples of CPUs, scheduling, OS calls, graphics, metrics, network, unified memory's page
faults. NVTX marks and payloads are not read either.
"""

import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

from profiler_core.errors import BadInput, NotATrace
from profiler_core.guarded_open import is_shared, open_guarded
from profiler_core.ingest import limits as limits_of
from profiler_core.ingest.file_kind import Progress
from profiler_core.ingest.kineto.tables import Dealer, Rows
from profiler_core.ingest.limits import Limits, Meter
from profiler_core.ingest.nsight_systems import about
from profiler_core.ingest.nsight_systems.choice import AS_IT_IS, Choice
from profiler_core.ingest.nsight_systems.database import Database
from profiler_core.ingest.nsight_systems.device_events import GRAPHS, device_events
from profiler_core.ingest.nsight_systems.host_events import CALLS, calls, other_events
from profiler_core.ingest.nsight_systems.missing import missing
from profiler_core.ingest.nsight_systems.nesting import Ints, Nest
from profiler_core.ingest.nsight_systems.processes import DEVICE_TABLES, choose, gpu_processes
from profiler_core.ingest.nsight_systems.ranges import RANGES, nests, read_ranges
from profiler_core.ingest.nsight_systems.steps import (
    Label,
    Steps,
    find_labels,
    find_steps,
    most_repeated,
)
from profiler_core.ingest.nsight_systems.strings import Strings
from profiler_core.ingest.nsight_systems.wide import wide
from profiler_core.ingest.sniff import Packing, packing_of
from profiler_core.ingest.spool import Spool
from profiler_core.ingest.stream import Stream
from profiler_core.ingest.unloaded import Reading
from profiler_core.model.tally import Tally
from profiler_core.model.trace import RECORDED_BY, RECORDING, TABLE_SCHEMAS, Trace

_PIECE_ROWS = 200_000


def read_nsight_systems(path: Path, choice: Choice = AS_IT_IS) -> Trace:
    """Read one file into memory; for arguments and errors see `reading`."""
    with reading(path, choice=choice) as read:
        return read.load()


@contextmanager
def reading(
    path: Path,
    progress: Progress | None = None,
    *,
    limits: Limits | None = None,
    scratch: Path | None = None,
    choice: Choice = AS_IT_IS,
    name: str | None = None,
) -> Iterator[Reading]:
    """Read one export.

    Args:
        path: .sqlite, or that as .gz, .zst or .zip.
        progress: called with (bytes read, bytes in all); what it raises stops the reading.
        limits: what the file may ask for.
        scratch: folder for temporary files: the unpacked file, and about a quarter of it.
        choice: which process, and which ranges are the steps.
        name: what to call the file in errors; its own name by default.

    Raises:
        NotATrace: it is no SQLite file, not of nsys, or holds nothing that is read here.
        BadInput: it exceeds a limit, or the choice fits nothing in it.
    """
    limits, name = limits or limits_of.configured(), name or path.name
    with (
        _unpacked(path, limits, scratch, name) as (file, damage),
        Database(file, name, meter=Meter(name, limits, "rows")) as database,
        Spool(scratch) as spool,
    ):
        _check_tables(database, name)
        n_bytes = path.stat().st_size
        yield _Import(database, spool, name, n_bytes, progress, choice).reading(damage)


def check_is_export(path: Path) -> None:
    """Look at the names of the tables alone: milliseconds, where the file is not packed.

    Raises:
        NotATrace: nsys did not write it.
        BadInput: it is damaged, or exceeds a limit.
    """
    with (
        _unpacked(path, limits_of.configured(), None, path.name) as (file, _),
        Database(file, path.name) as database,
    ):
        _check_tables(database, path.name)


@contextmanager
def _unpacked(
    path: Path, limits: Limits, scratch: Path | None, name: str
) -> Iterator[tuple[Path, str | None]]:
    """(the file without packing, what is wrong with the packing)."""
    with open_guarded(path) as file:
        packing = packing_of(file.read(8))
    if packing is Packing.NONE and not is_shared(path):  # SQLite opens paths alone
        if path.stat().st_size > limits.max_uncompressed_bytes:
            raise BadInput(
                f"{name} has more than the allowed {limits.max_uncompressed_bytes} bytes.",
                remedy="Record fewer steps, or raise FUSIONSCOPE_MAX_TRACE_BYTES.",
            )
        yield path, None
        return
    stream = Stream(path, limits, name)
    with tempfile.NamedTemporaryFile(
        dir=scratch, prefix=".unpacked.", suffix=".sqlite"
    ) as unpacked:
        for block in stream:
            unpacked.write(block)
        unpacked.flush()
        yield Path(unpacked.name), stream.damage


def _check_tables(database: Database, name: str) -> None:
    readable_tables = {*DEVICE_TABLES, CALLS, RANGES}
    if readable_tables.isdisjoint(database.tables) and "StringIds" not in database.tables:
        raise NotATrace(
            f"{name} is an SQLite file, but not one of Nsight Systems: it has no table StringIds.",
            remedy="Pass what nsys export --type sqlite report.nsys-rep wrote.",
        )


class _Import:
    """Reading one database: device work first, since steps and operators go by its launches."""

    def __init__(
        self,
        database: Database,
        spool: Spool,
        name: str,
        n_bytes: int,
        progress: Progress | None,
        choice: Choice,
    ) -> None:
        self._database, self._spool, self._name = database, spool, name
        self._progress, self._choice = progress, choice
        self._dealer, self._total = Dealer(), Rows()
        self._n_bytes = n_bytes
        self._n_about = sum(database.n_about(t) for t in (*DEVICE_TABLES, CALLS, RANGES)) or 1
        self._strings = Strings(database)
        self._processes = gpu_processes(database)
        self._process = choose(self._processes, choice.process, name)

    def reading(self, damage: str | None) -> Reading:
        """Read all of it.

        Raises:
            NotATrace: no event is in it.
        """
        started = self._deal_device()
        ranges = read_ranges(self._database, self._strings, self._process)
        self._say()
        launches, operators = self._deal_calls(ranges, started)
        labels = find_labels(ranges, launches)
        step_range = self._choice.step_range
        steps = find_steps(labels, ranges, launches, step_range, self._name)
        self._deal_ranges(ranges, steps)
        for frame in other_events(self._database, self._strings, self._process):
            self._deal(frame)
        total = self._total
        if not total.n_events:
            raise NotATrace(
                f"{self._name} holds no kernel, no call and no NVTX range.",
                remedy="Record with nsys profile -t cuda,nvtx, then nsys export --type sqlite.",
            )
        total.repairs += self._database.damage
        if damage:
            total.repairs[damage] += 1
        origin_ns = total.first_ns or 0
        started_ns = about.started_ns(self._database)
        return Reading(
            source=self._name,
            origin_ns=origin_ns + started_ns,
            metadata=self._metadata(ranges, labels, steps),
            tally=Tally(total.n_events, dict(total.skipped), dict(total.repairs)),
            table=lambda name: self._table(name, origin_ns, operators),
        )

    def _deal_device(self) -> pl.Series:
        """Returns the correlations of all device events."""
        correlations = []
        for frame in device_events(self._database, self._strings, self._process):
            self._deal(frame)
            correlations.append(frame["correlation"])
        if not correlations:
            return pl.Series("correlation", [], dtype=pl.Int64)
        return pl.concat(correlations).drop_nulls().unique()

    def _deal_calls(
        self, ranges: pl.DataFrame, started: pl.Series
    ) -> tuple[pl.DataFrame, pl.DataFrame]:
        """Returns (ts_ns and tid of launches; correlation and external_id of calls)."""
        nest = _operators(ranges)
        launches, linked = [], []
        for frame in calls(self._database, self._strings, self._process):
            own_calls = frame.with_columns(external_id=_innermost(nest, frame))
            self._deal(wide(own_calls))
            launching = own_calls.filter(pl.col("correlation").is_in(started.implode()))
            launches.append(launching.select("ts_ns", "tid").drop_nulls())
            linked.append(launching.select("correlation", "external_id").drop_nulls("external_id"))
        schema = {"ts_ns": pl.Int64, "tid": pl.Int64}
        ids = {"correlation": pl.Int64, "external_id": pl.Int64}
        return (
            pl.concat(launches) if launches else pl.DataFrame(schema=schema),
            (pl.concat(linked) if linked else pl.DataFrame(schema=ids)).unique("correlation"),
        )

    def _deal_ranges(self, ranges: pl.DataFrame, steps: Steps | None) -> None:
        names = ranges["name"]
        if steps is not None:
            names = names.scatter(steps.rows, pl.Series(list(steps.names), dtype=pl.String))
        named = ranges.with_row_index("row", offset=1).with_columns(
            name=names,
            cat=pl.when("is_operator")
            .then(pl.lit("cpu_op"))
            .when("is_crossing")
            .then(pl.lit("nvtx_range"))
            .otherwise(pl.lit("user_annotation")),
            external_id=pl.when("is_operator").then(pl.col("row").cast(pl.Int64)),
        )
        for piece in named.iter_slices(_PIECE_ROWS):
            self._deal(wide(piece))

    def _deal(self, frame: pl.DataFrame) -> None:
        rows = self._dealer.deal(frame)
        self._total.add(rows)
        for name, packed in rows.tables.items():
            self._spool.append(name, packed)
        self._say()

    def _say(self) -> None:
        if self._progress is not None:
            share = min(1.0, self._database.n_rows / self._n_about)
            self._progress(int(share * self._n_bytes), self._n_bytes)

    def _table(self, name: str, origin_ns: int, operators: pl.DataFrame) -> pl.DataFrame:
        frame = self._dealer.assemble(name, self._spool.take(name))
        frame = frame.with_columns(pl.col("ts_ns") - origin_ns)
        if name == "device" and operators.height:
            with_operator = frame.drop("external_id").join(
                operators, on="correlation", how="left", maintain_order="left"
            )
            frame = with_operator.select(list(TABLE_SCHEMAS[name]))
        return frame

    def _metadata(
        self, ranges: pl.DataFrame, labels: list[Label], steps: Steps | None
    ) -> dict[str, Any]:
        product, schema = about.versions(self._database)
        other_processes = [
            p for p in self._processes if self._process is not None and p != self._process
        ]
        return {
            "deviceProperties": about.device_properties(self._database, self._process),
            RECORDED_BY: about.TOOL,
            RECORDING: {
                "version": product,
                "schema_version": schema,
                "steps": None if steps is None else steps.label,
                "ranges": most_repeated(labels),
                "process": None if self._process is None else self._process.pid,
                "other_processes": [p.pid for p in other_processes],
                "n_graph_replays": self._database.n_about(GRAPHS),
                "missing": missing(self._database, ranges, steps),
            },
        }


def _operators(ranges: pl.DataFrame) -> dict[int, tuple[Ints, Nest]]:
    """Thread -> (ids of its operators, their nest)."""
    numbered = ranges.with_row_index("id", offset=1).filter("is_operator")
    ids = numbered["id"].to_numpy().astype(np.int64)
    return {tid: (ids[rows], nest) for tid, (rows, nest) in nests(numbered).items()}


def _innermost(operators: dict[int, tuple[Ints, Nest]], frame: pl.DataFrame) -> pl.Series:
    """The id of the innermost operator around each call, null where there is none."""
    external_ids = np.zeros(frame.height, dtype=np.int64)
    if operators and frame["ts_ns"].null_count() == 0:
        moments, threads = frame["ts_ns"].to_numpy(), frame["tid"].fill_null(-1).to_numpy()
        for tid, (ids, nest) in operators.items():
            rows_of_thread = np.flatnonzero(threads == tid)
            operator = nest.innermost(moments[rows_of_thread])
            external_ids[rows_of_thread[operator >= 0]] = ids[operator[operator >= 0]]
    return pl.Series("external_id", external_ids).replace(0, None)

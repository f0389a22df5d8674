"""Wide rows -> the tables of the model, with a count of what could not be used and why."""

from collections import Counter
from dataclasses import dataclass, field

import polars as pl

from profiler_core.ingest.kineto import mend_text
from profiler_core.ingest.spool import pack
from profiler_core.model import trace as model
from profiler_core.model.trace import TABLE_SCHEMAS

# Category -> (table, category in the model). Kineto writes the same names for ROCm and XPU
# devices; up to torch 1.10 it capitalised them. Control-core events are MTIA's kernels
# (kineto: libkineto/include/ActivityType.h).
_PLACES: dict[str, tuple[str, str]] = {
    **{category: ("device", category) for category in model.DEVICE_CATEGORIES},
    **{category: ("runtime", category) for category in model.RUNTIME_CATEGORIES},
    "Kernel": ("device", model.KERNEL),
    "Memcpy": ("device", model.MEMCPY),
    "Memset": ("device", model.MEMSET),
    "mtia_ccp_events": ("device", model.KERNEL),
    "Runtime": ("runtime", "cuda_runtime"),
    "cpu_op": ("ops", "cpu_op"),
    "Operator": ("ops", "cpu_op"),
    "user_annotation": ("annotations", "user_annotation"),
    "gpu_user_annotation": ("gpu_annotations", "gpu_user_annotation"),
    "python_function": ("python", "python_function"),
    "Python": ("python", "python_function"),
}

# Up to torch 1.10 what record_function names had the category of operators; these are the
# names that torch itself gives (torch/profiler, torch/optim, torch/utils/data).
_OLD_OPERATOR = "Operator"
_TORCHS_RANGE = r"^(ProfilerStep#\d|Optimizer\.\w+#|enumerate\(DataLoader\)#)"

# Phases that carry nothing the model needs: names of rows, flow arrows (joins go by id),
# instants. Trace Event Format, Google, 2016.
_QUIET_PHASES = ("M", "s", "t", "f", "i", "I")
_MEMORY_NAME = "[memory]"

# Ids that mean "none": -1 cut to 32 bits. Zero and below are dropped too.
_NO_ID = (1 << 32) - 1

_IDS = ("correlation", "external_id")

NO_NAME = "(no name)"
_UNREAD_PHASE = "phase {!r} is not read"
UNREAD_COUNTERS = _UNREAD_PHASE.format("C")


@dataclass
class Rows:
    """The events of one piece of a file, dealt out."""

    tables: dict[str, bytes] = field(default_factory=dict)  # table -> what `spool.pack` made
    n_events: int = 0
    skipped: Counter[str] = field(default_factory=Counter)
    repairs: Counter[str] = field(default_factory=Counter)
    unread_keys: Counter[str] = field(default_factory=Counter)
    first_ns: int | None = None  # the earliest start on the file's clock, unfilled ones aside
    n_unfilled: int = 0  # records that CUPTI never filled in: start and duration 0 (kineto#109)

    def add(self, other: "Rows") -> None:
        """Add the counts of the piece that follows; its tables stay where they are."""
        self.n_events += other.n_events
        self.skipped += other.skipped
        self.repairs += other.repairs
        self.unread_keys += other.unread_keys
        self.n_unfilled += other.n_unfilled
        starts = [start for start in (self.first_ns, other.first_ns) if start is not None]
        self.first_ns = min(starts, default=None)


class Dealer:
    """Deals wide rows out, from any thread. Names and texts are kept once for the whole trace."""

    def __init__(self) -> None:
        self._names = pl.Categories.random()
        self._texts = pl.Categories.random()
        # polars forgets a list of categories together with the last series that uses it.
        self._kept_alive = [
            pl.Series([""], dtype=pl.Categorical(categories))
            for categories in (self._names, self._texts)
        ]

    def deal(self, wide: pl.DataFrame) -> Rows:
        """Sort the rows into the tables; times stay on the clock of the file."""
        rows = Rows(n_events=wide.height)
        usable = self._usable(wide, rows).with_columns(
            pl.when(pl.col("cat") == _OLD_OPERATOR, pl.col("name").str.contains(_TORCHS_RANGE))
            .then(pl.lit("user_annotation"))
            .otherwise("cat")
            .alias("cat")
        )
        placed = usable.with_columns(
            pl.col("cat").replace_strict(_TABLE_OF, default="other").alias("table"),
            pl.col("cat").replace(_NAME_OF),
            pl.col("name").fill_null(NO_NAME),
        )
        # Filtered one by one: the parts of partition_by share, and so keep, every wide column.
        for name in placed["table"].unique():
            part = placed.filter(pl.col("table") == name)
            rows.tables[name] = pack(self._narrow(part, name))
        calls = usable.filter(
            pl.col("name") == model.COLLECTIVE_NAME, pl.col("collective").is_not_null()
        )
        if calls.height:
            rows.tables["collectives"] = pack(self._narrow(calls, "collectives"))
        memory = wide.filter(pl.col("ph").is_in(("i", "I")), pl.col("name") == _MEMORY_NAME)
        if memory["ts_ns"].null_count():
            rows.skipped += _count_unusable(memory.filter(pl.col("ts_ns").is_null()))
            memory = memory.filter(pl.col("ts_ns").is_not_null())
        unfilled = (pl.col("ts_ns") == 0) & (pl.col("dur_ns") == 0)
        filled = placed.filter(~unfilled)
        rows.n_unfilled = placed.height - filled.height
        starts = (filled["ts_ns"].min(), memory["ts_ns"].min())
        rows.first_ns = min((start for start in starts if isinstance(start, int)), default=None)
        if memory.height:
            named = memory.with_columns(pl.col("memory_bytes").alias("bytes"))
            rows.tables["memory"] = pack(self._narrow(named, "memory"))
        return rows

    def add_counters(self, rows: Rows, counters: pl.DataFrame, n_events: int) -> None:
        """Add samples of counters, which were read of the text and counted as skipped before.

        Args:
            rows: of the same piece.
            counters: the samples, times on the clock of the file.
            n_events: how many events they are of.
        """
        if counters.height:
            rows.tables["counters"] = pack(self._narrow(counters, "counters"))
        rows.skipped -= Counter({UNREAD_COUNTERS: n_events})

    def assemble(self, table: str, frames: list[pl.DataFrame]) -> pl.DataFrame:
        """One table from its pieces: sorted by time, ties in file order, in the model's types.

        Args:
            table: its name.
            frames: the pieces in their order; emptied, so that they are not held twice.
        """
        if not frames:
            return pl.DataFrame(schema=TABLE_SCHEMAS[table])
        pieces = pl.concat(frames, rechunk=False)
        frames.clear()
        order = None
        if not pieces["ts_ns"].is_sorted():
            starts = pieces.select("ts_ns").with_row_index("row")
            order = starts.sort("ts_ns", maintain_order=True)["row"]
        texts = self._texts.to_series()
        names = self._names.to_series().cast(pl.Categorical)
        columns: list[pl.Series] = []
        # Column by column, each piece of the way given back at once: half the memory of sorting
        # the whole table, which is the largest moment of reading a trace.
        for column, dtype in TABLE_SCHEMAS[table].items():
            values = pieces.drop_in_place(column)
            values = values.rechunk() if order is None else values.gather(order)
            if dtype == pl.String():
                # Views into one shared buffer: 16 bytes a row however long the text is.
                values = texts.gather(values).alias(column)
            elif dtype == pl.Categorical():
                values = names.gather(values).alias(column)
            columns.append(values)
        return pl.DataFrame(columns)

    def _usable(self, wide: pl.DataFrame, rows: Rows) -> pl.DataFrame:
        """The ranges (ph X) that have a start and a length."""
        ranges = wide.filter(pl.col("ph") == "X")
        if ranges.height < wide.height:
            unread = wide.filter(
                pl.col("ph").is_null() | ~pl.col("ph").is_in(("X", *_QUIET_PHASES))
            )
            rows.skipped += _count_unread_phases(unread)
        if ranges["ts_ns"].null_count() or ranges["dur_ns"].null_count():
            rows.skipped += _count_unusable(ranges)
            ranges = ranges.filter(pl.col("ts_ns").is_not_null(), pl.col("dur_ns").is_not_null())
        shortest = ranges["dur_ns"].min()
        if isinstance(shortest, int) and shortest < 0:
            # torch marks ranges that never ended with -1 (pytorch#150131).
            rows.repairs["negative duration read as 0"] += int((ranges["dur_ns"] < 0).sum())
            ranges = ranges.with_columns(pl.col("dur_ns").clip(lower_bound=0))
        if nameless := ranges["name"].null_count():
            rows.repairs["event without a name"] += nameless
        odd = ranges.filter(~pl.col("bandwidth").is_finite()).height
        if odd:
            rows.repairs[mend_text.CONSTANT] += odd
        return ranges

    def _narrow(self, part: pl.DataFrame, table: str) -> pl.DataFrame:
        """The columns of one table, names and texts as codes into the shared lists."""
        if table in ("device", "gpu_annotations"):
            # XPU and MTIA leave the arguments out; pid and tid are the device and its queue.
            part = part.with_columns(
                pl.coalesce("device", "pid").alias("device"),
                pl.coalesce("stream", "tid").alias("stream"),
            )
        if table == "device":
            part = part.with_columns(pl.col("name").replace(model.ONE_NAME))
        return part.select(
            self._as(column, dtype) for column, dtype in TABLE_SCHEMAS[table].items()
        )

    def _as(self, column: str, dtype: pl.DataType) -> pl.Expr:
        if column in _IDS:
            value = pl.col(column)
            return pl.when((value > 0) & (value != _NO_ID)).then(value).alias(column)
        if dtype in (pl.String(), pl.Categorical()):
            categories = self._texts if dtype == pl.String() else self._names
            return pl.col(column).cast(pl.Categorical(categories)).to_physical()
        if dtype == pl.Float64():
            return pl.when(pl.col(column).is_finite()).then(pl.col(column)).alias(column)
        return pl.col(column).cast(dtype, strict=False)


_TABLE_OF = {category: table for category, (table, _) in _PLACES.items()}
_NAME_OF = {category: name for category, (_, name) in _PLACES.items() if category != name}


def _count_unread_phases(unread: pl.DataFrame) -> Counter[str]:
    counted: Counter[str] = Counter()
    for row in unread.group_by("ph", pl.col("name").is_null().alias("nameless")).len().rows():
        phase, nameless, n = row
        if phase is None:
            counted["empty event" if nameless else "no phase (ph)"] += n
        else:
            counted[_UNREAD_PHASE.format(str(phase)[:12])] += n
    return counted


def _count_unusable(ranges: pl.DataFrame) -> Counter[str]:
    reason = (
        pl.when(~pl.col("has_ts"))
        .then(pl.lit("no start time"))
        .when(pl.col("ts_ns").is_null())
        .then(pl.lit("the start time is no number"))
        .when(~pl.col("has_dur"))
        .then(pl.lit("no duration"))
        .when(pl.col("dur_ns").is_null())
        .then(pl.lit("the duration is no number"))
    )
    counts = ranges.group_by(reason.alias("reason")).len()
    return Counter({str(name): n for name, n in counts.rows() if name is not None})

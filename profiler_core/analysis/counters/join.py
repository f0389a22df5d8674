"""Counter rows joined with the kernels of a trace, by aligning the two sequences of names.

ncu runs the program anew, kernel by kernel, so that only order and names tell which row belongs to
which kernel; a library may choose another algorithm there, and then that kernel has no row.
"""

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import polars as pl

from profiler_core.analysis.counters.kernel_key import kernel_key, likeness
from profiler_core.analysis.ledger.alignment import align_codes
from profiler_core.model.counters import Counters
from profiler_core.model.trace import KERNEL

# A name that fits counts most, then the launch's grid and block, which tell equal names apart.
_WORTH_OF_NAME = 8
_WORTH_OF_SHAPE = 3

_MOST_SEQUENCES = 6  # steps of different kernels that are tried, the most frequent ones first
_STEPS_ALIGNED = 3  # of several steps in one file; the others are like them
_MOST_ROWS = 20_000  # that are aligned: a second of work, and more than any step has

Signature = tuple[str, str, str]  # name, grid, block


@dataclass(frozen=True)
class Joined:
    """Which row of the counters each device event of the trace has.

    All steps with the sequence of kernels that fits best are joined, each with the same rows.
    """

    counters: Counters
    row_of_event: npt.NDArray[np.int32]  # row of device_work -> row of counters.kernels, or -1
    steps: tuple[int, ...]  # the trace's steps that are joined
    n_counted_steps: int  # steps that the counters hold
    n_kernels: int  # of one such step, in the trace
    kernel_time_ns: int  # of the joined steps, in the trace
    matched_time_ns: int
    first_step_events: tuple[int, ...]  # rows of device_work with a row, of the first joined step

    @property
    def matched_time_share(self) -> float | None:
        """Kernel time of the trace whose kernels have a row; None without kernels."""
        return self.matched_time_ns / self.kernel_time_ns if self.kernel_time_ns else None


def join(counters: Counters, work: pl.DataFrame) -> Joined | None:
    """Join them; None where the trace has no kernels in any step.

    Args:
        counters: of a step of the same program, or of several steps.
        work: of the trace, as `device_work` gives it.
    """
    kernels = _by_step(work)
    fit = _best_fit(counters, kernels)
    if fit is None:
        return None
    positions = np.fromiter(fit.row_of_place.keys(), np.int64, count=len(fit.row_of_place))
    counter_rows = np.fromiter(fit.row_of_place.values(), np.int32, count=len(positions))
    row_of_event = np.full(work.height, -1, dtype=np.int32)
    durations = []
    for step in fit.steps:
        row_of_event[kernels[step]["event"].to_numpy()[positions]] = counter_rows
        durations.append(kernels[step]["dur_ns"].to_numpy())
    events = kernels[fit.steps[0]]["event"].to_numpy()
    return Joined(
        counters=counters,
        row_of_event=row_of_event,
        steps=fit.steps,
        n_counted_steps=fit.repeats,
        n_kernels=len(events),
        kernel_time_ns=sum(int(every.sum()) for every in durations),
        matched_time_ns=sum(int(every[positions].sum()) for every in durations),
        first_step_events=tuple(int(event) for event in events[positions]),
    )


@dataclass(frozen=True)
class _Fit:
    share: float  # of both sequences' kernels that face each other
    steps: tuple[int, ...]
    repeats: int
    row_of_place: dict[int, int]  # place in the step -> row of the first counted step that has it


def _by_step(work: pl.DataFrame) -> dict[int, pl.DataFrame]:
    """The kernels of each step in the order in which they were launched."""
    kernels = (
        work.with_row_index("event")
        .filter(pl.col("cat") == KERNEL, pl.col("step").is_not_null())
        .with_columns(
            pl.col("name").cast(pl.String),
            pl.col("grid", "block").fill_null(""),
            began=pl.col("launch_ts_ns").fill_null(pl.col("ts_ns")),
        )
        .sort("step", "began", "ts_ns", maintain_order=True)
    )
    frames = kernels.partition_by("step", maintain_order=True)
    return {int(frame["step"][0]): frame for frame in frames}


def _best_fit(counters: Counters, kernels: dict[int, pl.DataFrame]) -> _Fit | None:
    """Align the counters with each kind of step; the one that fits best."""
    counter_signatures = [
        (name, grid or "", block or "")
        for name, grid, block in counters.kernels.select("name", "grid", "block").iter_rows()
    ]
    kinds: dict[tuple[Signature, ...], list[int]] = {}
    for step, step_kernels in kernels.items():
        kinds.setdefault(
            tuple(step_kernels.select("name", "grid", "block").iter_rows()), []
        ).append(step)
    fits = []
    for signatures, steps in sorted(kinds.items(), key=lambda kind: -len(kind[1]))[
        :_MOST_SEQUENCES
    ]:
        for repeats in _repeats(len(counter_signatures), len(signatures)):
            laid_out = list(signatures) * min(repeats, _STEPS_ALIGNED)
            rows = counter_signatures[: len(laid_out) if repeats > 1 else _MOST_ROWS]
            pairs = _aligned(laid_out, rows)
            row_of_place: dict[int, int] = {}
            for position, row in pairs:
                row_of_place.setdefault(position % len(signatures), row)
            share = 2 * len(pairs) / (len(laid_out) + len(rows))
            # ncu may miss a kernel in each of them, so by what it saw of one.
            n_counted_steps = (
                round(len(counter_signatures) / max(1, len(row_of_place))) if repeats > 1 else 1
            )
            fits.append(
                _Fit(share, tuple(steps), n_counted_steps, dict(sorted(row_of_place.items())))
            )
    return max(fits, key=lambda fit: fit.share, default=None)


def _repeats(n_measured: int, n_kernels: int) -> tuple[int, ...]:
    """How many steps the counters may hold: one, or as many as fit best."""
    several = round(n_measured / max(1, n_kernels))
    return (1, several) if several > 1 else (1,)


def _aligned(left: list[Signature], right: list[Signature]) -> list[tuple[int, int]]:
    lefts, rights = list(dict.fromkeys(left)), list(dict.fromkeys(right))
    by_function: dict[str, list[int]] = {}
    for number, signature in enumerate(rights):
        by_function.setdefault(kernel_key(signature[0]).function, []).append(number)
    table = np.zeros((len(lefts), len(rights)), dtype=np.int32)
    for i, trace_signature in enumerate(lefts):
        key = kernel_key(trace_signature[0])
        for j in by_function.get(key.function, ()):
            counter_signature = rights[j]
            alike = likeness(key, kernel_key(counter_signature[0]))
            if alike:
                same_shape = (
                    trace_signature[1:] == counter_signature[1:] and trace_signature[1] != ""
                )
                table[i, j] = round(_WORTH_OF_NAME * alike) + _WORTH_OF_SHAPE * same_shape
    number_of = [{signature: n for n, signature in enumerate(every)} for every in (lefts, rights)]
    codes = [
        np.fromiter((number_of[k][s] for s in every), dtype=np.int32, count=len(every))
        for k, every in enumerate((left, right))
    ]
    return align_codes(codes[0], codes[1], table)

"""Operators with the device time that they launched: what stakes are estimated from.

Under a CUDA graph there are no operators, and so no shapes.
"""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from math import prod

import numpy as np
import numpy.typing as npt
import polars as pl

from profiler_core.analysis.categories import COPIES, PRODUCT_CATEGORIES, categorise
from profiler_core.analysis.operator_arguments import (
    has_unsized_list,
    inputs_and_results,
    json_list,
    n_operands,
)
from profiler_core.analysis.sliding_windows import gradients_asked, is_transposed, result_shape
from profiler_core.analysis.window_reads import values_read
from profiler_core.analysis.work import device_work
from profiler_core.model.trace import Trace

PRODUCTS = (
    "aten::mm", "aten::addmm", "aten::bmm", "aten::baddbmm", "aten::_scaled_mm",
    "aten::convolution", "aten::convolution_backward",
)  # fmt: skip
# What a library launches beside a product: workspaces that it clears, layouts that it converts.
BESIDE_PRODUCTS = (*COPIES, "copy")
# Of all that computes no part of a product: a bias that is added, and the sum of its gradient, too.
# What adds up the parts of a product has, inside of its operator, the product's own category.
_BESIDE = (*BESIDE_PRODUCTS, "elementwise", "reduction")
# Which of a thread's calls count, by their starts and ends: outer calls come before inner ones.
_Counted = Callable[[npt.NDArray[np.int64], npt.NDArray[np.int64]], npt.NDArray[np.bool_]]
_HALF = frozenset(("c10::Half", "c10::BFloat16"))


@dataclass(frozen=True)
class OpWork:
    """Calls of an operator on the same arguments. Calls without device work are left out."""

    name: str
    dims: tuple[tuple[int, ...], ...]  # of every argument; () for what is no tensor
    types: tuple[str, ...]
    concrete: tuple[str, ...]
    strides: tuple[tuple[int, ...], ...]  # as `dims`; () where they were not recorded
    kernel: str  # the longest that each call launched
    times_ns: tuple[int, ...]  # of each call: all device events that it launched
    rows: tuple[int, ...] = ()  # of each call: that of `kernel` in `device_work`
    steps: tuple[int, ...] = ()  # of each call: the profiled step that launched it
    # `kernel` of all calls, as `kernel_products` makes them; None: not told apart from the rest
    kernel_ns: int | None = None
    n_equal_parts: int = 1  # that a product is computed in: `flops` are those of one
    arguments: str = ""  # what a call reads, as people write it: "8×128 f32"; "": no tensors
    results: str = ""  # what it is handed for its result, `out=`; "": nothing
    has_unsized_list: bool = False  # of tensors, among the arguments
    # Of each call: its device events without those that compute no part of a product; 0: all are.
    product_times_ns: tuple[int, ...] = ()
    # Of each call: the kernels of products among these, and what finishes them: names and ns.
    parts: tuple[tuple[tuple[str, int], ...], ...] = ()

    @property
    def time_ns(self) -> int:
        """Of all calls."""
        return sum(self.times_ns)

    @property
    def product_ns(self) -> int:
        """Of all calls what computes the product; all of it where kernels do not tell."""
        known = self.product_times_ns
        return sum(known) if known and all(known) else self.time_ns

    def of_calls(self, positions: Sequence[int]) -> "OpWork":
        """Some calls alone."""
        return replace(
            self,
            times_ns=tuple(self.times_ns[position] for position in positions),
            rows=tuple(self.rows[position] for position in positions),
            steps=tuple(self.steps[position] for position in positions),
            product_times_ns=tuple(self.product_times_ns[position] for position in positions),
            parts=tuple(self.parts[position] for position in positions),
        )

    @property
    def in_halves(self) -> bool:
        """Is it computed on fp16 or bf16 tensors?"""
        return any(kind in _HALF for kind in self.types)

    @property
    def matrices(self) -> tuple[tuple[int, ...], ...]:
        """The two factors of a matrix product; what follows them may be its result (`out=`)."""
        first = 1 if self.name in ("aten::addmm", "aten::baddbmm") else 0
        return tuple(dim for dim in self.dims[first : first + 2] if len(dim) >= 2)

    @property
    def is_misaligned(self) -> bool:
        """Has a factor rows that begin off 16 bytes, so that Tensor Cores cannot load it in whole?

        The number of rows alone does not matter: what counts is the leading dimension, by strides
        where they are recorded, else by the inner size of either factor.
        """
        first = 1 if self.name in ("aten::addmm", "aten::baddbmm") else 0
        item = 2 if self.in_halves else 4
        for argument in (first, first + 1):
            if argument >= len(self.dims) or len(self.dims[argument]) < 2:
                return False
            rows = self.strides[argument][-2:] if argument < len(self.strides) else ()
            leading = max(rows) if len(rows) == 2 else self.dims[argument][-1]
            if leading > 1 and leading * item % 16:
                return True
        return False

    @cached_property
    def flops(self) -> int | None:
        """Multiplications and additions of one call; None where the shapes do not say."""
        whole = self._whole_flops()
        return None if whole is None else whole // self.n_equal_parts

    @property
    def n_products(self) -> int:
        """Of one call: a convolution's backward is two, of the same size, where both are asked."""
        if self.name != "aten::convolution_backward":
            return 1
        return sum(gradients_asked(self.name, self.concrete)[:2])

    def _whole_flops(self) -> int | None:
        if not self.name.startswith("aten::convolution"):
            return _matrix_flops(self.matrices)
        if self.name.endswith("_backward"):
            return self._backward_flops()
        out = result_shape(self.name, self.dims, self.concrete)
        return None if out is None else self._products(self.dims[0], self.dims[1], out)

    def _backward_flops(self) -> int | None:
        if len(self.dims) < 3 or min(len(dim) for dim in self.dims[:3]) < 3:
            return None
        gradient, values, weight = self.dims[:3]
        of_input, of_weight, _ = gradients_asked(self.name, self.concrete)
        return (of_input + of_weight) * self._products(values, weight, gradient)

    def _products(
        self, values: tuple[int, ...], weight: tuple[int, ...], out: tuple[int, ...]
    ) -> int:
        """Operations of a convolution: its window once at each place that it slides over."""
        slid_over = values if is_transposed(self.name, self.concrete) else out
        return 2 * prod(slid_over) * prod(weight[1:])

    def least_bytes(self, item: int) -> int:
        """What it reads of its arguments, at `item` bytes a value; the result is not counted."""
        shapes = [dim or None for dim in self.dims]
        read = values_read(self.name, shapes, self.concrete)
        sizes = [prod(dim) for dim in self.dims if dim]
        return sum(read or sizes[: n_operands(self.name, len(sizes))]) * item


def _matrix_flops(matrices: tuple[tuple[int, ...], ...]) -> int | None:
    if len(matrices) < 2 or len(matrices[0]) != len(matrices[1]):
        return None
    left, right = matrices
    return 2 * prod(left) * right[-1]


def op_work(trace: Trace, names: Iterable[str]) -> tuple[OpWork, ...]:
    """Calls of these operators in profiled steps, with what was launched inside of them.

    Under autocast, and where autograd is dispatched, an operator calls itself: the outer call
    counts, with the casts that it launches.
    """
    return _by_arguments(_calls(trace, names, _is_outermost))


def products_of_group(
    products: Iterable[OpWork], group_of: npt.NDArray[np.int32], number: int
) -> tuple[OpWork, ...]:
    """The calls of products that are in one fusion group.

    Args:
        products: of one trace.
        group_of: the ledger's group of each row of its device work.
        number: of the group.
    """
    of_group = []
    for op in products:
        own = [position for position, row in enumerate(op.rows) if group_of[row] == number]
        if own:
            of_group.append(op.of_calls(own))
    return tuple(of_group)


def product_work(trace: Trace) -> tuple[OpWork, ...]:
    """The same of matrix products and convolutions, each once.

    Of calls inside one another the innermost counts: it has the types that are computed in.
    """
    return _by_arguments(_calls(trace, PRODUCTS, _is_innermost))


def _calls(
    trace: Trace,
    names: Iterable[str],
    counted: _Counted,
) -> pl.DataFrame:
    """Calls with the columns of `_with_launches`."""
    launches = (
        categorise(trace)
        .with_row_index("row")
        .filter(pl.col("launch_ts_ns").is_not_null(), pl.col("step").is_not_null())
        .select(
            "launch_pid", "launch_tid", "launch_ts_ns", "dur_ns", pl.col("name").alias("kernel"),
            "row", "step",
            product_ns=pl.col("dur_ns") * pl.col("category").is_in(PRODUCT_CATEGORIES),
            beside_ns=pl.col("dur_ns") * pl.col("category").is_in(_BESIDE),
        )
        .sort("launch_ts_ns")
    )  # fmt: skip
    ops = trace.ops.filter(pl.col("name").cast(pl.String).is_in(list(names)))
    calls = [
        _with_launches(ops.filter(pl.col("pid") == pid, pl.col("tid") == tid), of_thread, counted)
        for (pid, tid), of_thread in launches.group_by(
            "launch_pid", "launch_tid", maintain_order=True
        )
    ]
    return pl.concat(calls) if calls else pl.DataFrame()


def _is_innermost(
    starts: npt.NDArray[np.int64], ends: npt.NDArray[np.int64]
) -> npt.NDArray[np.bool_]:
    """Does no other call lie in it?"""
    return np.append(starts[1:] >= ends[:-1], np.ones(min(1, starts.size), bool))


def _is_outermost(
    starts: npt.NDArray[np.int64], ends: npt.NDArray[np.int64]
) -> npt.NDArray[np.bool_]:
    """Does it lie in no other call?"""
    before = np.maximum.accumulate(ends)
    return np.append(np.ones(min(1, starts.size), bool), starts[1:] >= before[:-1])


def work_on_cpu(trace: Trace, name: str) -> tuple[OpWork, ...]:
    """An operator's calls in profiled steps where operators are the work themselves.

    Those inside of other operators, or of generated kernels, are no work of their own.
    """
    work = (
        device_work(trace)
        .with_row_index("row")
        .filter(pl.col("step").is_not_null(), pl.col("name").cast(pl.String) == name)
        .select(
            "ts_ns",
            "stream",
            "row",
            "step",
            time_ns="dur_ns",
            kernel=pl.lit(name),
            product_time_ns="dur_ns",
            part_names=pl.lit(None, pl.List(pl.String)),
            parts_ns=pl.lit(None, pl.List(pl.Int64)),
        )
    )
    ops = trace.ops.filter(pl.col("name").cast(pl.String) == name).with_columns(stream="tid")
    key = ["ts_ns", "stream"]
    return _by_arguments(ops.unique(key, keep="first", maintain_order=True).join(work, on=key))


def _by_arguments(calls: pl.DataFrame) -> tuple[OpWork, ...]:
    """Operators with the columns of `_with_launches`, by what they are handed."""
    if calls.height == 0:
        return ()
    arguments = ("name", "input_dims", "input_types", "concrete_inputs", "input_strides", "kernel")
    return tuple(
        OpWork(
            str(name), _dims(dims), _texts(types), _texts(concrete), _dims(strides),
            str(kernel), tuple(times), tuple(rows), tuple(steps),
            None, 1, *inputs_and_results(str(name), dims, types), has_unsized_list(dims, types),
            tuple(products),
            tuple(
                tuple(zip(names or (), parts or (), strict=True))
                for names, parts in zip(part_names, parts_ns, strict=True)
            ),
        )
        for name, dims, types, concrete, strides, kernel,
            times, rows, steps, products, part_names, parts_ns in
        calls.group_by(arguments, maintain_order=True)
        .agg("time_ns", "row", "step", "product_time_ns", "part_names", "parts_ns")
        .iter_rows()
    )  # fmt: skip


def _with_launches(ops: pl.DataFrame, launches: pl.DataFrame, counted: _Counted) -> pl.DataFrame:
    """Calls of one thread that launched something, with its `time_ns` and its main `kernel`.

    Of that kernel `row` and `step` too; `product_time_ns` is of the call without what computes no
    part of a product, `part_names` and `parts_ns` are the kernels that do.

    Args:
        ops: calls of one thread.
        launches: of the same thread, in the order of their times.
        counted: which of the calls that launched something count.
    """
    times = launches["launch_ts_ns"].to_numpy()
    ops = ops.sort("ts_ns", "dur_ns", descending=[False, True], maintain_order=True)
    starts = ops["ts_ns"].to_numpy()
    ends = starts + ops["dur_ns"].to_numpy()
    first = np.searchsorted(times, starts, side="left")
    last = np.searchsorted(times, ends, side="right")
    kept = np.flatnonzero(last > first)
    kept = kept[counted(starts[kept], ends[kept])]
    first, last = first[kept], last[kept]
    durations = launches["dur_ns"].to_numpy()
    before = np.concatenate(([0], np.cumsum(durations)))
    products = launches["product_ns"].to_numpy()
    # The longest of each call, of those that compute a product where any do, the first of equals:
    # the one of the highest rank.
    by_length = np.lexsort((-np.arange(durations.size), durations, products > 0))
    ranks = np.empty(durations.size + 1, dtype=np.int64)
    ranks[by_length], ranks[-1] = np.arange(durations.size), -1
    beside = np.concatenate(([0], np.cumsum(launches["beside_ns"].to_numpy())))
    product_times = before[last] - before[first] - (beside[last] - beside[first])
    borders = np.column_stack((first, last)).ravel()
    longest = by_length[np.maximum.reduceat(ranks, borders)[::2]] if borders.size else borders
    return ops[kept].with_columns(
        launches["kernel"].gather(longest).cast(pl.String),
        *(launches[column].gather(longest) for column in ("row", "step")),
        pl.Series("time_ns", before[last] - before[first], dtype=pl.Int64),
        pl.Series("product_time_ns", product_times, dtype=pl.Int64),
        *_parts(launches, first, last),
    )


def _parts(
    launches: pl.DataFrame, first: npt.NDArray[np.int64], last: npt.NDArray[np.int64]
) -> list[pl.Series]:
    """Of each call the kernels of products that it launched, in their order; null: none.

    Args:
        launches: of one thread.
        first: of each call, in order, where its launches begin.
        last: where they end.
    """
    is_part = launches["product_ns"].to_numpy() > 0
    call = np.repeat(np.arange(first.size), last - first)
    row = np.concatenate([np.arange(a, b) for a, b in zip(first, last, strict=True)] or [call])
    of_product = is_part[row]
    parts = (
        launches[row[of_product]]
        .select(
            pl.Series("call", call[of_product], dtype=pl.Int64),
            part_names=pl.col("kernel").cast(pl.String),
            parts_ns="dur_ns",
        )
        .group_by("call", maintain_order=True)
        .agg("part_names", "parts_ns")
    )
    calls = pl.DataFrame({"call": np.arange(first.size)}, schema={"call": pl.Int64})
    return (
        calls.join(parts, on="call", how="left", maintain_order="left").drop("call").get_columns()
    )


def _dims(text: str | None) -> tuple[tuple[int, ...], ...]:
    return tuple(
        tuple(item) if isinstance(item, list) and all(isinstance(n, int) for n in item) else ()
        for item in json_list(text)
    )


def _texts(text: str | None) -> tuple[str, ...]:
    return tuple(str(item) for item in json_list(text))

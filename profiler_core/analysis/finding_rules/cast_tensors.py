"""What kernels that only cast are handed: weights, or values that change from step to step.

By the graph's own arguments where a log names them; else by the shapes that the trace records of
the kernel and of the products in 16 bits: a weight has the shape of a weight, an input or a result
that of a product's other operand.
"""

from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass
from math import prod
from typing import Literal

import polars as pl

from profiler_core.analysis.finding_rules.op_work import OpWork
from profiler_core.analysis.graph_arguments import (
    is_of_module,
    place_of_argument,
    placeholder_of,
)
from profiler_core.analysis.operator_arguments import json_list
from profiler_core.model.inductor import CompiledGraph, InductorLog
from profiler_core.model.trace import Trace

Cast = Literal["weights", "values"]
_Shape = tuple[int, ...]
_WITH_BIAS = 3  # operands of a convolution or addmm


def what_is_cast(
    names: Collection[str], trace: Trace, code: InductorLog | None, products: Iterable[OpWork]
) -> Mapping[str, Cast]:
    """Kernel -> what all its calls cast; left out where that is not sure, or differs.

    Args:
        names: of generated kernels that only cast.
        trace: that they are in.
        code: of the same run; None: no log.
        products: of the same run, with their shapes.
    """
    by_log = _only(_by_arguments(names, code))
    rest = [name for name in names if name not in by_log]
    return {**_only(_by_shapes(rest, trace, products)), **by_log} if rest else by_log


def _only(told: Iterable[tuple[str, Cast | None]]) -> dict[str, Cast]:
    """What all that is told of a name agrees in."""
    kinds: dict[str, set[Cast | None]] = {}
    for name, kind in told:
        kinds.setdefault(name, set()).add(kind)
    return {name: kind for name, (kind, *others) in kinds.items() if kind and not others}


def _by_arguments(
    names: Collection[str], code: InductorLog | None
) -> Iterator[tuple[str, Cast | None]]:
    """What each call in the generated code casts, of graphs that name a module's parameters."""
    for graph in code.graphs if code is not None else ():
        if any(map(is_of_module, graph.placeholders)):
            for call in graph.calls:
                if call.name in names:
                    yield call.name, _of_call(graph, call.arguments)


def _of_call(graph: CompiledGraph, arguments: Iterable[str]) -> Cast | None:
    """What it reads besides the graph's own arguments the step has made before. None: not sure."""
    own = [name for name in arguments if place_of_argument(name) is not None]
    named = [placeholder_of(graph, name) for name in own]
    of_module = {placeholder is not None and is_of_module(placeholder) for placeholder in named}
    if None in named or len(of_module) > 1:
        return None
    return "weights" if of_module == {True} else "values"


def _by_shapes(
    names: Collection[str], trace: Trace, products: Iterable[OpWork]
) -> Iterator[tuple[str, Cast | None]]:
    """What each recorded call casts, by the first tensor that it is handed."""
    calls = trace.ops.filter(pl.col("name").cast(pl.String).is_in(list(names)))
    operands = _Operands.of(products)
    for name, dims in calls.select("name", "input_dims").unique().iter_rows():
        first = next(iter(json_list(dims)), None)
        shape = tuple(first) if isinstance(first, list) else ()
        yield str(name), operands.which(shape)


@dataclass(frozen=True, slots=True)
class _Operands:
    """Shapes that products in 16 bits take."""

    weights: frozenset[_Shape]
    values: frozenset[_Shape]

    @classmethod
    def of(cls, products: Iterable[OpWork]) -> "_Operands":
        """Those of a forward with weights; products of batches of matrices have none."""
        weights: set[_Shape] = set()
        values: set[_Shape] = set()
        for op in products:
            is_matrix = op.name in ("aten::mm", "aten::addmm")
            if not op.in_halves or not (is_matrix or op.name == "aten::convolution"):
                continue
            if is_matrix:
                for matrix in op.matrices[1:2]:  # a linear layer hands its weight over transposed
                    weights |= {matrix, matrix[::-1]}
                values.update(op.matrices[:1])
                biases = op.dims[:1] if op.name == "aten::addmm" else ()
            else:
                weights.update(op.dims[1:2])
                values.update(op.dims[:1])
                biases = op.dims[2:_WITH_BIAS]
            weights.update(bias for bias in biases if len(bias) == 1)
        return cls(frozenset(weights), frozenset(values))

    def which(self, shape: _Shape) -> Cast | None:
        """None: no product takes such a shape, or as either."""
        is_weight, is_value = shape in self.weights, self._is_value(shape)
        if is_weight == is_value:
            return None
        return "weights" if is_weight else "values"

    def _is_value(self, shape: _Shape) -> bool:
        """As it is, or with all axes but the last as one, as a linear layer takes it."""
        flat = (prod(shape[:-1]), shape[-1]) if len(shape) > 1 else shape
        return shape in self.values or flat in self.values

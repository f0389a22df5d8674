"""A call of an operator as a trace records it, and what it reads and writes, by experiment."""

import json
import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

from profiler_core.analysis.ledger.operator_call import OperatorCall
from profiler_core.analysis.ledger.work_units import read_shapes
from profiler_core.analysis.operator_arguments import lists_of_shapes
from tests.lazily import Lazily

torch = Lazily("torch")


@dataclass
class Case:
    function: Callable[..., Any]
    arguments: tuple[Any, ...]
    named: dict[str, Any]
    kind: str


def case(function: Callable[..., Any], *arguments: Any, kind: str = "all", **named: Any) -> Case:
    return Case(function, arguments, named, kind)


def outermost(case: Case, list_item: int = 0) -> tuple[OperatorCall, Any]:
    """The call as a trace records it, and what it gave.

    Args:
        case: the call.
        list_item: bytes of a value in lists, as the name of the kernel says them.
    """
    cpu = torch.profiler.ProfilerActivity.CPU
    with torch.profiler.profile(activities=[cpu], record_shapes=True) as profiled:
        result = case.function(*case.arguments, **case.named)
    event = min(
        profiled.profiler.kineto_results.events(), key=lambda e: (e.start_ns(), -e.end_ns())
    )
    scalars = [_written(value) for value in event.concrete_inputs()]
    dims, kinds = json.dumps(event.structured_input_shapes()), event.dtypes()
    lists = lists_of_shapes(dims, json.dumps(kinds))
    return (
        OperatorCall.recorded(event.name(), read_shapes(dims), kinds, scalars, lists, list_item),
        result,
    )


def _written(value: Any) -> str:
    if isinstance(value, list):
        return f"[{', '.join(map(str, value))}]"
    return "" if value is None else str(value)


def expected(case: Case, result: Any) -> tuple[int, int]:
    """Bytes read and written; of "all" its kind those tensors are read that `are_read`."""
    given = list(tensors([case.arguments, case.named]))
    storages = {tensor.untyped_storage().data_ptr() for tensor in given}
    made = list(tensors(result))
    fresh = [t for t in made if t.untyped_storage().data_ptr() not in storages]
    first, *others = map(n_bytes, given or [torch.empty(0)])
    written = sum(map(n_bytes, fresh or made))
    match case.kind:
        case "lookup":
            return written + sum(others), written
        case "classes":  # of each row of scores the value of its class
            return given[1].numel() * given[0].element_size() + sum(others), written
        case "put values":
            return sum(others), others[-1]
        case "add values":  # they are added to what is there
            return sum(others) + others[-1], others[-1]
        case "lists":
            return first + sum(others), sum(map(n_bytes, case.arguments[0]))
        case "overwrite lists":
            return sum(map(n_bytes, case.arguments[1])), sum(map(n_bytes, case.arguments[0]))
    read = zip(given, are_read(case), strict=True)
    return sum(n_bytes(tensor) for tensor, is_read in read if is_read), written


def are_read(case: Case) -> list[bool]:
    """Of each tensor that the call is handed: does what it makes depend on the values?

    With others in it the result is another one, or what the call writes into.
    """
    leaves, tree = torch.utils._pytree.tree_flatten((case.arguments, case.named))
    places = [n for n, leaf in enumerate(leaves) if isinstance(leaf, torch.Tensor)]

    def made(at: int, values: Any) -> tuple[list[Any], dict[int, Any]]:
        given = [leaf.clone() if n in places else leaf for n, leaf in enumerate(leaves)]
        given[at] = values.clone()
        torch.manual_seed(0)
        arguments, named = torch.utils._pytree.tree_unflatten(given, tree)
        result = case.function(*arguments, **named)
        return list(tensors(result)), {n: given[n] for n in places}

    def depends(at: int) -> bool:
        results, after = made(at, leaves[at])
        written = [n for n in places if not _is_alike(after[n], leaves[n])]
        for other in _others(leaves[at], between_0_and_1=case.kind == "probabilities"):
            other_results, others_after = made(at, other)
            if not all(map(_is_alike, results, other_results)):
                return True
            if not all(_is_alike(after[n], others_after[n]) for n in written):
                return True
        return False

    return [depends(n) for n in places]


def _others(tensor: Any, *, between_0_and_1: bool) -> Iterator[Any]:
    """The tensor with other values: those of indices and the like stay among its own."""
    if tensor.dtype == torch.bool:
        yield ~tensor
        yield torch.ones_like(tensor)
    elif not tensor.is_floating_point():
        yield tensor.roll(1) if tensor.dim() else tensor + 1
    elif not between_0_and_1:
        yield torch.full_like(tensor, math.nan)
    yield torch.zeros_like(tensor)


def _is_alike(left: Any, right: Any) -> bool:
    if left.shape != right.shape:
        return False
    numbers = (torch.view_as_real(t) if t.is_complex() else t.double() for t in (left, right))
    return torch.allclose(*numbers, rtol=0, atol=0, equal_nan=True)


def tensors(values: Any) -> Iterator[Any]:
    leaves = torch.utils._pytree.tree_leaves(values)
    return (leaf for leaf in leaves if isinstance(leaf, torch.Tensor))


def n_bytes(tensor: Any) -> int:
    return tensor.numel() * tensor.element_size()


def named(case: Case) -> str:
    shapes = [tuple(t.shape) for t in tensors(case.arguments)]
    return f"{case.function} {shapes} {[a for a in case.arguments if not tensors_in(a)]}"


def tensors_in(value: Any) -> bool:
    return any(True for _ in tensors(value))

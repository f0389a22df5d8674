"""Where a swept value lies on an axis: numbers and shapes have a size, words only an order."""

import math
import re
from collections.abc import Sequence

Value = int | float | str

_LARGEST = 1e308  # a float; whole numbers of a run.json may be larger
_SHAPE = re.compile(r"\d{1,18}(x\d{1,18}){1,15}")


def positions(values: Sequence[Value]) -> tuple[float, ...] | None:
    """A place on a logarithmic axis for each value; None where they are words.

    A number lies at itself, a shape at its number of elements. Values that are not all above 0,
    or of which two would lie at the same place, are words.
    """
    sizes = [_size(value) for value in values]
    numeric_sizes = [size for size in sizes if size is not None and size > 0]
    if len(numeric_sizes) < len(values) or len(set(numeric_sizes)) < len(numeric_sizes):
        return None
    return tuple(numeric_sizes)


def batch_of(value: Value, name: str) -> int | None:
    """The samples of one step, where the swept option says it."""
    if name == "batch-size" and isinstance(value, int):
        return value
    if name == "shape" and isinstance(value, str) and _SHAPE.fullmatch(value):
        return int(value.split("x")[0])
    return None


def _size(value: Value) -> float | None:
    if isinstance(value, int | float):
        return float(value) if abs(value) <= _LARGEST else None
    if _SHAPE.fullmatch(value):
        return float(math.prod(int(size) for size in value.split("x")))
    return None

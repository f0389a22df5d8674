"""Single events, as Python's own parser gives them, -> wide rows. Slow, tolerant."""

import json
import re
from collections import Counter
from decimal import ROUND_HALF_UP, Decimal, InvalidOperation
from typing import Any

import polars as pl

from profiler_core.ingest.kineto import mend_text
from profiler_core.ingest.kineto.wide import ARGUMENTS, WIDE_SCHEMA, Argument

_INT64 = range(-(1 << 63), 1 << 63)
_UINT64 = range(1 << 64)
_TRAILING_DIGITS = re.compile(r"(?<!\d)(\d+) *$", re.ASCII)

Event = dict[str, Any]


def wide_rows(events: list[Event], repairs: Counter[str]) -> pl.DataFrame:
    """One row of WIDE_SCHEMA for each event; counts in `repairs` the values it had to convert."""
    columns: dict[str, list[Any]] = {column: [] for column in WIDE_SCHEMA}
    for event in events:
        for key in ("ph", "cat", "name"):
            columns[key].append(_text(event.get(key)))
        for key in ("pid", "tid"):
            columns[key].append(_identifier(event.get(key)))
        for key in ("ts", "dur"):
            value = event.get(key)
            if isinstance(value, str):
                repairs[mend_text.QUOTED] += 1
            columns[f"{key}_ns"].append(_nanoseconds(value))
            columns[f"has_{key}"].append(value is not None)
        arguments = event.get("args")
        if not isinstance(arguments, dict):
            if arguments is not None:
                repairs["arguments that are no object"] += 1
            arguments = {}
        for argument in ARGUMENTS:
            columns[argument.column].append(_value(argument, arguments.get(argument.key)))
    return pl.DataFrame(columns, schema=WIDE_SCHEMA)


def _value(argument: Argument, value: Any) -> Any:
    if value is None:
        return None
    match argument.kind:
        case "text":
            return _text(value)
        case "number":
            number = _decimal(value)
            return None if number is None else float(number)
        case "integer":
            return _integer(value, _INT64)
        case "unsigned":
            return _integer(value, _UINT64)


def _text(value: Any) -> str | None:
    if value is None:
        return None
    text = value if isinstance(value, str) else _compact(value)
    # A lone surrogate is legal in JSON's escapes and nowhere else.
    return text if text.isascii() else text.encode(errors="replace").decode()


def _compact(value: Any) -> str:
    return json.dumps(value, separators=(",", ":"), ensure_ascii=False, default=float)


def _decimal(value: Any) -> Decimal | None:
    if isinstance(value, bool) or not isinstance(value, int | Decimal | str):
        return None
    try:
        number = Decimal(value)
    except InvalidOperation:
        return None
    return number if number.is_finite() else None


def _integer(value: Any, allowed: range) -> int | None:
    number = _decimal(value)
    if number is None or abs(number) > 1 << 64:
        return None
    rounded = int(number.to_integral_value(ROUND_HALF_UP))
    return rounded if rounded in allowed else None


def _identifier(value: Any) -> int | None:
    number = _integer(value, _INT64)
    if number is None and isinstance(value, str) and (digits := _TRAILING_DIGITS.search(value)):
        return _integer(digits[1], _INT64)
    return number


def _nanoseconds(value: Any) -> int | None:
    number = _decimal(value)
    if number is None or abs(number) > 1 << 62:
        return None
    scaled = int((number * 1000).to_integral_value(ROUND_HALF_UP))
    return scaled if scaled in _INT64 else None

"""Results as JSON: "schema": 1, ns and bytes as whole numbers, absent data null."""

import json
import sys
from collections.abc import Mapping
from dataclasses import fields, is_dataclass
from enum import Enum
from pathlib import Path
from typing import Any, TextIO

import msgspec

from profiler_core.answers.record import Answer

SCHEMA = 1


def write_json(answer: Answer, stream: TextIO | None = None) -> None:
    """Print one answer with its schema number."""
    json.dump(document(answer), stream or sys.stdout, indent=1, ensure_ascii=False)
    print(file=stream or sys.stdout)


def document(answer: Answer) -> dict[str, Any]:
    """One answer with its schema number, as what json knows."""
    return {"schema": SCHEMA, **plain(answer)}


def plain(value: Any, key: str = "") -> Any:
    """Records, tuples and paths as what json knows.

    Times and sizes are rounded to whole ns and bytes; other floats that are whole (3.0 kernels
    per step) lose their point.
    """
    if is_dataclass(value) and not isinstance(value, type):
        return {f.name: plain(getattr(value, f.name), f.name) for f in fields(value)}
    if isinstance(value, msgspec.Struct):
        names = zip(value.__struct_encode_fields__, value.__struct_fields__, strict=True)
        values = {shown: getattr(value, name) for shown, name in names}
        return {k: plain(v, k) for k, v in values.items() if v is not msgspec.UNSET}
    if isinstance(value, Mapping):
        unit = key if key.endswith(("_ns", "_bytes")) else ""
        return {str(k): plain(v, unit or str(k)) for k, v in value.items()}
    if isinstance(value, list | tuple):
        return [plain(item, key) for item in value]
    if isinstance(value, Enum):
        return value.value
    if isinstance(value, Path):
        return str(value)
    if isinstance(value, float) and (value.is_integer() or key.endswith(("_ns", "_bytes"))):
        return round(value)
    return value

"""The tables in what Nsight Compute printed: where each begins, its units, and its lines.

Before a header and between the rows stand lines of ncu ("==PROF== …") and of the program itself.
A kernel is one line: ncu quotes every field and puts no line break into one.
"""

import csv
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

from profiler_core.errors import BadInput
from profiler_core.ingest.empty import empty_file
from profiler_core.ingest.limits import configured
from profiler_core.ingest.stream import Stream

MOST_BYTES = 128 << 20  # 50 000 kernels with ten metrics, 6 000 with `--set full`
_MOST_HEADER_BYTES = 1 << 20  # `--set full` names some 1 500 columns in 60 KB

_REMEDY = "Record again with `ncu --csv --page raw`, and pass what it printed."


@dataclass
class RawTable:
    """One table: names of its columns, the unit of each ("" has none), its rows as they stand."""

    header: tuple[str, ...]
    header_line: bytes
    units: tuple[str, ...] = ()
    lines: list[bytes] = field(default_factory=list)


def raw_tables(path: Path) -> tuple[list[RawTable], int]:
    """All tables of a file, and how many of its lines after a header belong to none.

    Raises:
        BadInput: there is none, the file is too large, damaged or cannot be read.
    """
    tables: list[RawTable] = []
    n_other = 0
    content = _content(path)
    if not content.strip():
        raise empty_file(path.name, BadInput)
    for line in content.splitlines():
        if b"Kernel Name" in line and "Kernel Name" in (header := _fields(line)):
            tables.append(RawTable(header, line))
            continue
        if not tables or not line.strip():
            continue
        table = tables[-1]
        # Rows begin with a quote; after a spreadsheet, with the digits of the ID, or with a comma.
        if line[:1] not in b'",0123456789' or line.count(b'"') % 2:
            n_other += 1
        elif not table.units and not table.lines and line.startswith((b'"",', b",")):
            table.units = _fields(line)
        else:
            table.lines.append(line)
    if not tables:
        raise BadInput(f"{path.name} has no line with the column Kernel Name.", remedy=_REMEDY)
    if any({"Metric Name", "Metric Value"} <= set(table.header) for table in tables):
        raise BadInput(
            f"{path.name} is another page of Nsight Compute: it has a line for each metric.",
            remedy=_REMEDY,
        )
    return tables, n_other


def _fields(line: bytes) -> tuple[str, ...]:
    if len(line) > _MOST_HEADER_BYTES:
        return ()
    text = line.decode("utf-8", "replace").removeprefix("\ufeff")
    try:
        return tuple(next(csv.reader([text]), ()))
    except csv.Error:
        return ()


def _content(path: Path) -> bytes:
    return b"".join(_blocks(path))


def _blocks(path: Path) -> Iterator[bytes]:
    size = 0
    stream = Stream(path, configured())
    try:
        for block in stream:
            size += len(block)
            if size > MOST_BYTES:
                raise BadInput(
                    f"{path.name} holds more than {MOST_BYTES >> 20} MB of counters.",
                    remedy="Record one step, and only the metrics that docs/columns.md names.",
                )
            yield block
    except OSError as error:
        raise BadInput(
            f"{path} cannot be read: {error.strerror}.",
            remedy="Check the path and its permissions.",
        ) from error
    if stream.damage and not size:
        raise BadInput(
            f"{path.name} cannot be unpacked: {stream.damage}.", remedy="Pass the file again."
        )

"""Writes a report to a file: the ending selects the format, and the file is replaced atomically."""

import os
import tempfile
from collections.abc import Callable, Mapping
from pathlib import Path

from profiler_core.errors import BadInput
from profiler_core.report.contents import Contents
from profiler_core.report.html.document import html_report
from profiler_core.report.markdown import markdown
from profiler_core.report.pdf import pdf
from profiler_core.report.tables import tables, to_csv, to_parquet
from profiler_core.terminal_text import printable

_WRITERS: Mapping[str, Callable[[Contents], bytes]] = {
    # A terminal shows them as well (`cat`, the log of a CI job): names must not steer it.
    ".html": lambda contents: printable(html_report(contents)).encode("utf-8"),
    ".md": lambda contents: printable(markdown(contents)).encode("utf-8"),
    ".pdf": lambda contents: pdf(html_report(contents)),
}
FORMATS = tuple(_WRITERS)
TABLE_FORMATS = ("csv", "parquet")


def check_format(path: Path) -> None:
    """Refuse a path whose ending is not one of FORMATS.

    Raises:
        BadInput: it is not.
    """
    if path.suffix.lower() not in FORMATS:
        raise BadInput(
            f"The ending of {path} is not one that report can write.",
            remedy=f"Use {', '.join(FORMATS)}.",
        )


def write_report(contents: Contents, path: Path) -> None:
    """Write one report.

    Args:
        contents: what to say.
        path: ends in one of FORMATS.

    Raises:
        BadInput: the file cannot be written, or a PDF is asked for and no browser is there.
    """
    _write(path, _WRITERS[path.suffix.lower()](contents))


def write_tables(contents: Contents, folder: Path, form: str) -> tuple[Path, ...]:
    """Write every table that has a row as `<folder>/<name>.<form>`.

    Raises:
        BadInput: the folder cannot be written.
    """
    encode = to_parquet if form == "parquet" else to_csv
    written = []
    for name, frame in tables(contents).items():
        path = folder / f"{name}.{form}"
        _write(path, encode(frame))
        written.append(path)
    return tuple(written)


def _write(path: Path, data: bytes) -> None:
    scratch = None
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        handle, scratch = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.")
        with os.fdopen(handle, "wb") as file:
            file.write(data)
        Path(scratch).chmod(0o644)
        Path(scratch).replace(path)
    except OSError as error:
        if scratch is not None:
            Path(scratch).unlink(missing_ok=True)
        raise BadInput(
            f"{path} cannot be written: {error.strerror}.", remedy="Choose another place."
        ) from error

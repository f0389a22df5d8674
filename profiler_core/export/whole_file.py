"""A file that is whole or not there: written beside its place, and renamed."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from profiler_core.errors import BadInput


@contextmanager
def written_aside(path: Path) -> Iterator[Path]:
    """The path to write to; at the end it becomes `path`, and after an error it is gone.

    Raises:
        BadInput: the file cannot be written.
    """
    aside = path.with_name(f".{path.name}.part")
    try:
        yield aside
        aside.replace(path)
    except OSError as error:
        raise BadInput(
            f"{path} cannot be written: {error.strerror}.",
            remedy="Name a file in a folder of yours.",
        ) from error
    finally:
        aside.unlink(missing_ok=True)
